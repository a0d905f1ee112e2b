"""``widemargin train``: from a data file to a model file, with a certificate."""

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
from widemargin.cli.output import Output, add_output_arguments, label_text, percent
from widemargin.cli.progress import following

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.estimators.linear import LinearClassifier

LOSSES = ("hinge", "squared_hinge", "logistic")
MULTI_CLASS = ("ovr", "weston_watkins", "crammer_singer")
INTERCEPTS: dict[str, bool | str] = {"exact": True, "penalised": "penalised", "none": False}


def add_problem_arguments(parser: argparse.ArgumentParser, *, search: bool = False) -> None:
    """Add the options that say what is minimised; a search over C has no C, and one rule."""
    group = parser.add_argument_group("the problem")
    group.add_argument("--loss", choices=LOSSES, default="squared_hinge", help="(%(default)s)")
    if not search:
        group.add_argument("-C", type=positive_number, default=1.0, help="cost of the losses (1)")
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
        help="value of that constant feature (1)",
    )
    group.add_argument(
        "--class-weight",
        nargs="+",
        metavar="LABEL=WEIGHT",
        help="factors on C, a class each; or the word balanced",
    )


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "train",
        help="train a model",
        description="Train a linear classifier to a proven accuracy and write the model.",
    )
    parser.add_argument("data", help="training data: LIBSVM's format, CSV or Parquet")
    parser.add_argument("model", nargs="?", help="model file to write (default: DATA.model here)")
    add_problem_arguments(parser)
    group = parser.add_argument_group("how it is solved")
    group.add_argument(
        "--tol",
        type=positive_number,
        default=1e-4,
        help="relative duality gap to reach: the objective is then within this fraction of the "
        "optimum (%(default)s)",
    )
    group.add_argument("--solver", default="auto", help="as solver= in Python (%(default)s)")
    group.add_argument("--max-iter", type=positive_integer, default=1000, help="(%(default)s)")
    group.add_argument(
        "--time-limit", type=positive_number, metavar="SECONDS", help="for each binary problem"
    )
    group.add_argument(
        "-j", "--jobs", type=job_count, help="threads with --multi-class ovr; -1: all cores (-1)"
    )
    group.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument(
        "--format",
        choices=("own", "liblinear"),
        default="own",
        help="format of the model file (%(default)s)",
    )
    add_data_arguments(parser)
    add_output_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, train, write, report."""
    import numpy as np

    from widemargin.methods.choose import choice_of
    from widemargin.methods.plain_blocks import Shark
    from widemargin.model_io import model_of
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.multiclass import MulticlassProblem

    # What can be refused is refused before the data are read, or before they are trained on.
    output = Output(options)
    path = options.model or default_model_path(options.data)
    check_writable(path)
    together = options.multi_class != "ovr"
    choice_of(options.solver, MulticlassProblem if together else BinaryProblem)
    if together and options.loss != "hinge":
        raise ValueError(f"--multi-class {options.multi_class} needs --loss hinge")
    if together and options.jobs not in (None, 1):
        raise ValueError(f"-j has no meaning with --multi-class {options.multi_class}")
    if together and options.solver == Shark.name:
        reason = Shark.refuses_rule(options.multi_class)
        if reason is not None:
            raise ValueError(reason)
    data = read_data(options.data, options)
    if data.y is None:
        raise ValueError(f"{options.data} has no labels to train on")
    if options.format == "liblinear":
        from widemargin.model_io.liblinear import integer_labels

        labels = integer_labels(np.unique(data.y), path)
        if options.multi_class == "weston_watkins" and len(labels) > 2:
            raise ValueError("LIBLINEAR's format has no model of Weston and Watkins")
    estimator = _estimator(options, data)
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
    accuracy = float((model.predict(data.X) == data.y).mean())
    _report(output, options, estimator, data, path, seconds, accuracy)
    return 0 if all(status == "converged" for status in estimator.status_) else 1


def _estimator(options: argparse.Namespace, data: Data) -> LinearClassifier:
    import numpy as np

    from widemargin.estimators.linear_svc import LinearSVC
    from widemargin.estimators.logistic_regression import LogisticRegression

    settings: dict[str, Any] = {
        "C": options.C,
        "tol": options.tol,
        "fit_intercept": INTERCEPTS[options.intercept],
        "intercept_scaling": options.intercept_scaling,
        "class_weight": parse_class_weight(options.class_weight, np.unique(np.asarray(data.y))),
        "solver": options.solver,
        "max_iter": options.max_iter,
        "time_limit": options.time_limit,
        "random_state": options.seed,
    }
    jobs = -1 if options.multi_class == "ovr" and options.jobs is None else options.jobs
    if options.loss == "logistic":
        return LogisticRegression(n_jobs=jobs, **settings)
    return LinearSVC(options.loss, multi_class=options.multi_class, n_jobs=jobs, **settings)


def _report(
    output: Output,
    options: argparse.Namespace,
    estimator: LinearClassifier,
    data: Data,
    path: str,
    seconds: float,
    accuracy: float,
) -> None:
    whole = estimator.certificate_
    worst = max(estimator.certificates_, key=lambda certificate: certificate.relative_gap)
    classes = estimator.classes_.tolist()
    names = [label_text(label) for label in classes]
    shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    iterations = int(estimator.n_iter_.sum())
    output.table(
        ("", ""),
        [
            ("rows", f"{data.X.shape[0]:,}"),
            ("features", f"{data.X.shape[1]:,}"),
            ("classes", f"{len(names)}: {shown}"),
            ("loss", f"{options.loss}, C = {options.C:g}, intercept {options.intercept}"),
            ("several classes", options.multi_class),
            ("solver", f"{estimator.solver_}, {iterations} iterations"),
            ("primal", f"{whole.primal:.10g}"),
            ("dual", f"{whole.dual:.10g}"),
            ("relative gap", f"{worst.relative_gap:.2e} (tol {options.tol:g})"),
            ("training accuracy", percent(accuracy)),
            ("seconds reading", f"{data.seconds:.3f}"),
            ("seconds training", f"{seconds:.3f}"),
            ("model", f"{path} ({options.format})"),
        ],
        text_columns=2,
    )
    if "interrupted" in estimator.status_:
        output.note(
            f"interrupted: the best point so far was kept and written to {path}; "
            f"gap {worst.relative_gap:.1e}, tol {options.tol:g}"
        )
    elif any(status != "converged" for status in estimator.status_):
        first = next(status for status in estimator.status_ if status != "converged")
        output.note(
            f"the tolerance was not reached ({first.replace('_', ' ')}): "
            f"gap {worst.relative_gap:.1e}, tol {options.tol:g}"
        )
    output.result(
        {
            "command": "train",
            "data": options.data,
            "model": path,
            "format": options.format,
            "rows": data.X.shape[0],
            "features": data.X.shape[1],
            "classes": classes,
            "loss": options.loss,
            "multi_class": options.multi_class,
            "C": options.C,
            "intercept": options.intercept,
            "solver": estimator.solver_,
            "iterations": iterations,
            "status": estimator.status_,
            "tol": options.tol,
            "primal": whole.primal,
            "dual": whole.dual,
            "relative_gap": worst.relative_gap,
            "problems": [
                {"primal": c.primal, "dual": c.dual, "relative_gap": c.relative_gap}
                for c in estimator.certificates_
            ],
            "training_accuracy": accuracy,
            "seconds_reading": data.seconds,
            "seconds_training": seconds,
        }
    )
