"""Options that the commands share, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from widemargin.cli.parser import Items, items

if TYPE_CHECKING:
    from numpy.typing import NDArray

Group = argparse.ArgumentParser | argparse._ArgumentGroup
Adder = Callable[..., None]
DATA_FORMATS = ("svm", "csv", "parquet")
TASKS = ("classification", "sequence", "regression", "one-class")
MODEL_FORMATS = ("own", "liblinear")
MODELS_TO_WRITE = (*MODEL_FORMATS, "onnx")
LOSSES = ("hinge", "squared_hinge", "logistic")
MULTI_CLASS = ("ovr", "weston_watkins", "crammer_singer", "multinomial")
JOINT_RULES = ("weston_watkins", "crammer_singer")
"""Rules that train all classes at once even if there are two."""
CALIBRATIONS = ("sigmoid", "isotonic")
INTERCEPTS: dict[str, bool | str] = {"exact": True, "penalised": "penalised", "none": False}


def positive_number(text: str) -> float:
    """Parse an argument that must be a positive finite number."""
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive finite number")
    return value


def positive_integer(text: str) -> int:
    """Parse an argument that must be a positive integer."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return value


def positive_numbers(text: str) -> list[float]:
    """Parse a list of positive finite numbers, separated by commas."""
    return [positive_number(item) for item in items(text)]


def job_count(text: str) -> int:
    """Parse a number of threads; -1 means all cores."""
    value = int(text)
    if value == 0 or value < -1:
        raise argparse.ArgumentTypeError(f"{text} is neither a number of threads nor -1")
    return value


positive_number.__name__ = "number"
positive_numbers.__name__ = "list of numbers separated by commas"
positive_integer.__name__ = job_count.__name__ = "integer"
NUMBER = {"type": positive_number}
COUNT = {"type": positive_integer, "metavar": "COUNT"}
SECONDS = {"type": positive_number, "metavar": "SECONDS"}


def adder(group: Group) -> Adder:
    """Return a function that adds an option, given its names, default, help and the rest."""

    def add(names: str, default: Any, help: str, **settings: Any) -> None:
        text = help if default is None else f"{help} (default: %(default)s)"
        group.add_argument(*names.split(), default=default, help=text, **settings)

    return add


def add_problem_options(parser: argparse.ArgumentParser) -> Adder:
    """Add the options of the problem, except C; return the function that adds more to them."""
    add = adder(parser.add_argument_group("problem"))
    loss = "loss function: hinge, squared_hinge or logistic"
    add("--loss", "squared_hinge", loss, choices=LOSSES)
    rule = (
        "multiclass rule: one-vs-rest (ovr), or a joint one; multinomial needs --loss logistic, "
        "the others --loss hinge (default: multinomial with --loss logistic, else ovr)"
    )
    add("--multi-class", None, rule, choices=MULTI_CLASS)
    kinds = "exact: not penalised; penalised: a constant feature, as LIBLINEAR's -B; none"
    add("--intercept", "exact", kinds, choices=tuple(INTERCEPTS))
    constant = "value of the constant feature of --intercept penalised"
    add("--intercept-scaling", 1.0, constant, metavar="VALUE", **NUMBER)
    weights = "factors on C per class, separated by commas, or the word balanced"
    add("--class-weight", None, weights, type=items, action=Items, metavar="LABEL=WEIGHT")
    return add


def pair_of_bounds(text: str) -> tuple[float, float]:
    """Parse two numbers, the lower one first; -inf and inf mean no bound."""
    low, high = (float(item) for item in items(text))
    if not low <= high:
        raise argparse.ArgumentTypeError(f"the bounds {text} are not in order")
    return low, high


pair_of_bounds.__name__ = "pair of numbers separated by a comma"


def add_penalty(add: Adder) -> None:
    """Add the options of the penalty of the weights."""
    penalty = "penalty of the weights: l1 and elasticnet make many of them zero"
    add("--penalty", "l2", penalty, choices=("l2", "l1", "elasticnet"))
    ratio = "share of the 1-norm in --penalty elasticnet, between 0 and 1"
    add("--l1-ratio", None, ratio, **NUMBER)


def add_bounds(add: Adder) -> None:
    """Add the options of bounds on the coefficients."""
    pair = "bounds on every coefficient, as --coef-bounds=-1,1; inf for none on a side"
    add("--coef-bounds", None, pair, type=pair_of_bounds, metavar="LOW,HIGH")
    add("--positive", False, "no negative coefficients", action="store_true")


def add_stopping_options(
    add: Adder, tol: float, tol_help: str, limit: float | None, limit_help: str
) -> None:
    """Add tolerance and limits, with these defaults and help texts."""
    add("--tol", tol, tol_help, metavar="GAP", **NUMBER)
    add("--max-iter", 1000, "maximum number of sweeps or steps", **COUNT)
    add("--time-limit", limit, f"time limit {limit_help}", **SECONDS)


_GAP = "relative duality gap to reach: the objective is then within this fraction of the optimum"
_SEED = "seed of the order in which examples are visited"


def add_file_arguments(
    parser: argparse.ArgumentParser, data: str = "training data: LIBSVM format, CSV or Parquet"
) -> None:
    """Add the data to train on and the model to write."""
    parser.add_argument("data", help=data)
    model = "model file to write (default: DATA.model in the working directory)"
    parser.add_argument("model", nargs="?", help=model)


def add_solver_options(
    parser: argparse.ArgumentParser,
    default: float = 1e-4,
    *,
    tol: str = _GAP,
    time_limit: str = "for a fit",
    jobs: str | None = None,
    seed: str = _SEED,
) -> None:
    """Add the options of the solver; `jobs` says what threads are for, if there can be any."""
    add = adder(parser.add_argument_group("solver"))
    add_stopping_options(add, default, tol, None, time_limit)
    add("--solver", "auto", "as solver= in Python", metavar="NAME")
    if jobs is not None:
        add("-j --jobs", None, f"{jobs} (default: all cores)", type=job_count, metavar="COUNT")
    add("--seed", 0, seed, type=int, metavar="NUMBER")


def add_run_options(parser: argparse.ArgumentParser, **texts: Any) -> None:
    """Add the options of solver, model file and output, with these help texts."""
    add_solver_options(parser, **texts)
    adder(parser)("--format", "own", "format of the model file", choices=MODEL_FORMATS)
    add_data_options(parser)
    add_output_options(parser, checks=True)


def add_no_model(add: Adder) -> None:
    """Add the option of a search that only looks."""
    add("--no-model", False, "only show what the search finds", action="store_true")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a data file."""
    add = adder(parser.add_argument_group("reading data"))
    formats = (
        "auto: .csv and .tsv are CSV, .parquet and .pq are Parquet, other files are in LIBSVM "
        "format; text files may be compressed (.gz, .bz2, .xz)"
    )
    add("--data-format", "auto", formats, choices=("auto", *DATA_FORMATS))
    label = (
        "label column of CSV and Parquet files: its name, or its number counted from 1, or from "
        "the end if negative (default: the last column)"
    )
    add("--label", None, label, metavar="NAME_OR_NUMBER")
    header = "whether a CSV file starts with column names (auto: if none of them is a number)"
    add("--header", "auto", header, choices=("auto", "yes", "no"))
    base = "index of the first feature in a LIBSVM file (auto: 0 if an index 0 occurs, else 1)"
    add("--index-base", "auto", base, choices=("auto", "0", "1"))


def add_disk_options(parser: argparse.ArgumentParser) -> None:
    """Add the option for data larger than memory."""
    text = (
        "read LIBSVM or Parquet data from disk, block by block, and keep the whole process below "
        "this, as 400MB or 8GB (default: from disk if the file is larger than half of the memory)"
    )
    adder(parser.add_argument_group("data larger than memory"))(
        "--memory-limit", None, text, metavar="SIZE"
    )


def add_output_options(parser: argparse.ArgumentParser, *, checks: bool = False) -> None:
    """Add what all commands have, and ``--verbose`` for those that check certificates."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    debug = "show the traceback of an error instead of one line"
    parser.add_argument("--debug", action="store_true", help=debug)
    loud = parser.add_mutually_exclusive_group()
    loud.add_argument("-q", "--quiet", action="store_true", help="print only errors")
    if checks:
        verbose = "print a line per check of the certificate"
        loud.add_argument("-v", "--verbose", action="store_true", help=verbose)


def parse_class_weight(pairs: list[str] | None, classes: NDArray[Any]) -> Any:
    """Turn ``LABEL=WEIGHT`` arguments, or ``balanced``, into the estimators' class_weight."""
    if not pairs:
        return None
    if pairs == ["balanced"]:
        return "balanced"
    weights: dict[Any, float] = {}
    for pair in pairs:
        text, equals, number = pair.rpartition("=")
        try:
            weight = positive_number(number)
        except (ValueError, argparse.ArgumentTypeError):
            equals = ""
        if not equals:
            raise ValueError(
                f"--class-weight takes LABEL=WEIGHT with a positive weight, or balanced; got {pair}"
            )
        label = _label_called(text, classes)
        if label in weights:
            raise ValueError(f"--class-weight names the class {text} twice")
        weights[label] = weight
    return weights


def _label_called(text: str, classes: NDArray[Any]) -> Any:
    for label in classes.tolist():
        try:
            if text == label if isinstance(label, str) else float(text) == float(label):
                return label
        except ValueError:
            break
    raise ValueError(f"--class-weight names the class {text}, which is not in the data")
