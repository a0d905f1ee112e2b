"""What ``train`` and ``tune`` share: options of a problem and of its runs, and the fit itself."""

from __future__ import annotations

import argparse
import time
import warnings
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import (
    add_data_arguments,
    check_writable,
    default_model_path,
    job_count,
    parse_class_weight,
    positive_integer,
    positive_number,
    read_data,
    write_model,
)
from widemargin.cli.output import Output, add_output_arguments
from widemargin.cli.progress import following

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.estimators.linear import LinearClassifier
    from widemargin.model_io import LinearModel

LOSSES = ("hinge", "squared_hinge", "logistic")
MULTI_CLASS = ("ovr", "weston_watkins", "crammer_singer")
INTERCEPTS: dict[str, bool | str] = {"exact": True, "penalised": "penalised", "none": False}


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data to train on and the model to write."""
    parser.add_argument("data", help="training data: LIBSVM's format, CSV or Parquet")
    parser.add_argument("model", nargs="?", help="model file to write (default: DATA.model here)")


def add_problem_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that say what is minimised, but for C; return their group."""
    group = parser.add_argument_group("the problem")
    group.add_argument(
        "--loss", choices=LOSSES, default="squared_hinge", help="of an example (%(default)s)"
    )
    group.add_argument(
        "--multi-class",
        choices=MULTI_CLASS,
        default="ovr",
        help="several classes one against the rest (ovr), or all at once; the latter with "
        "--loss hinge (%(default)s)",
    )
    group.add_argument(
        "--intercept",
        choices=tuple(INTERCEPTS),
        default="exact",
        help="exact: not penalised; penalised: a constant feature, as LIBLINEAR's -B (%(default)s)",
    )
    group.add_argument(
        "--intercept-scaling",
        type=positive_number,
        default=1.0,
        metavar="VALUE",
        help="value of that constant feature; with --intercept penalised (1)",
    )
    group.add_argument(
        "--class-weight",
        nargs="+",
        metavar="LABEL=WEIGHT",
        help="factors on C, a class each; or the word balanced",
    )
    return group


def add_run_arguments(
    parser: argparse.ArgumentParser, *, tol: str, time_limit: str, jobs: str, seed: str
) -> None:
    """Add the options that say how it is solved, written and reported, with these help texts."""
    group = parser.add_argument_group("how it is solved")
    group.add_argument(
        "--tol", type=positive_number, default=1e-4, metavar="GAP", help=f"{tol} (%(default)s)"
    )
    group.add_argument(
        "--solver", default="auto", metavar="NAME", help="as solver= in Python (%(default)s)"
    )
    group.add_argument(
        "--max-iter",
        type=positive_integer,
        default=1000,
        metavar="COUNT",
        help="sweeps or steps at most (%(default)s)",
    )
    group.add_argument(
        "--time-limit",
        type=positive_number,
        metavar="SECONDS",
        help=f"seconds at most {time_limit}",
    )
    group.add_argument(
        "-j", "--jobs", type=job_count, metavar="COUNT", help=f"{jobs}; -1: all cores (-1)"
    )
    group.add_argument(
        "--seed", type=int, default=0, metavar="NUMBER", help=f"{seed} (%(default)s)"
    )
    parser.add_argument(
        "--format",
        choices=("own", "liblinear"),
        default="own",
        help="format of the model file (%(default)s)",
    )
    add_data_arguments(parser)
    add_output_arguments(parser, checks=True)


def check_problem(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before any data are read."""
    from widemargin.methods.choose import choice_of
    from widemargin.methods.plain_blocks import Shark
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.multiclass import MulticlassProblem

    together = options.multi_class != "ovr"
    choice_of(options.solver, MulticlassProblem if together else BinaryProblem)
    if together and options.loss != "hinge":
        raise ValueError(f"--multi-class {options.multi_class} needs --loss hinge")
    if options.intercept_scaling != 1.0 and options.intercept != "penalised":
        raise ValueError("--intercept-scaling needs --intercept penalised")
    if together and options.solver == Shark.name:
        reason = Shark.refuses_rule(options.multi_class)
        if reason is not None:
            raise ValueError(reason)


def read_training_data(options: argparse.Namespace) -> tuple[Data, str]:
    """Return the data and where the model goes; refuse what could not be written in the end."""
    import numpy as np

    path = options.model or default_model_path(options.data)
    check_writable(path)
    data = read_data(options.data, options)
    if data.y is None:
        raise ValueError(f"{options.data} has no labels to train on")
    if options.format == "liblinear":
        from widemargin.model_io.liblinear import integer_labels

        labels = integer_labels(np.unique(data.y), path)
        if options.multi_class == "weston_watkins" and len(labels) > 2:
            raise ValueError("LIBLINEAR's format has no model of Weston and Watkins")
    return data, path


def settings_of(options: argparse.Namespace, data: Data) -> dict[str, Any]:
    """Return the options that the estimators with and without a search take alike."""
    import numpy as np

    return {
        "tol": options.tol,
        "fit_intercept": INTERCEPTS[options.intercept],
        "intercept_scaling": options.intercept_scaling,
        "class_weight": parse_class_weight(options.class_weight, np.unique(np.asarray(data.y))),
        "solver": options.solver,
        "max_iter": options.max_iter,
        "time_limit": options.time_limit,
        "random_state": options.seed,
    }


def fit_and_write(
    output: Output, options: argparse.Namespace, estimator: LinearClassifier, data: Data, path: str
) -> tuple[LinearModel, float]:
    """Train, write the model; return it and the seconds that training took."""
    import numpy as np

    from widemargin.model_io import model_of

    began = time.perf_counter()
    with following(output, options.tol) as callback, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how it ended is part of the report
        estimator.callback = callback
        estimator.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    estimator.callback = None
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    model = model_of(estimator)
    write_model(model, path, options.format)
    return model, seconds
