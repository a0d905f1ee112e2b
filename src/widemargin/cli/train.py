"""``widemargin train``: train a model to a certified accuracy."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from widemargin.cli.fitting import certificate_rows, note_shortfall
from widemargin.cli.options import (
    JOINT_RULES,
    NUMBER,
    TASKS,
    add_bounds,
    add_disk_options,
    add_file_arguments,
    add_penalty,
    add_problem_options,
    add_run_options,
    adder,
)
from widemargin.cli.output import Output, label_text, percent
from widemargin.cli.training import (
    check_problem,
    fit_and_write,
    note_targets,
    penalty_rows,
    read_training_data,
    settings_of,
)

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.estimators.checkpoints import Checkpoints
    from widemargin.estimators.linear import LinearClassifier


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "train",
        help="train a model",
        description="Train a linear classifier to a certified accuracy and write the model.",
    )
    add_file_arguments(parser)
    spelling = "take the options of LIBLINEAR's train instead: -s -c -B -wLABEL -v -C -q"
    parser.add_argument("--liblinear", action="store_true", help=spelling)
    task = "each has options of its own: see widemargin train --task TASK --help"
    adder(parser)("--task", TASKS[0], task, choices=TASKS)
    add = add_problem_options(parser)
    add("-C", 1.0, "weight of the losses in the objective", **NUMBER)
    add_penalty(add)
    add_bounds(add)
    add_run_options(
        parser,
        time_limit="per binary problem, or for all classes if trained jointly",
        jobs="threads; weston_watkins and crammer_singer on data in memory take 1 unless given",
    )
    add_disk_options(parser)
    resume = (
        "go on from MODEL.checkpoint, which holds the weights of the last step of a run on data "
        "larger than memory that was killed"
    )
    parser.add_argument("--resume", action="store_true", help=resume)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, train, write, report."""
    output = Output(options)
    check_problem(options)
    data, path = read_training_data(options)
    note_targets(output, data, options.data)
    estimator = _estimator(options, data)
    checkpoints = _checkpoints(options, data, path)
    estimator._checkpoints = checkpoints
    model, seconds = fit_and_write(output, options, estimator, data, path)
    if checkpoints is not None:
        checkpoints.remove()
    accuracy = float((model.predict(data.X) == data.y).mean())
    _report(output, options, estimator, data, path, seconds, accuracy)
    return 0 if all(status == "converged" for status in estimator.status_) else 1


def _estimator(options: argparse.Namespace, data: Data) -> LinearClassifier:
    from widemargin.data.elsewhere import Elsewhere
    from widemargin.estimators.linear_svc import LinearSVC
    from widemargin.estimators.logistic_regression import LogisticRegression
    from widemargin.estimators.scikit_learn_arguments import l1_ratio_of
    from widemargin.problems.losses import gives_probabilities

    settings = {"C": options.C, **settings_of(options, data)}
    settings |= {"coef_bounds": options.coef_bounds, "positive": options.positive}
    joint_in_memory = options.multi_class in JOINT_RULES and not isinstance(data.X, Elsewhere)
    jobs = -1 if options.jobs is None and not joint_in_memory else options.jobs
    if gives_probabilities(options.loss):
        settings["l1_ratio"] = l1_ratio_of(options.penalty, options.l1_ratio)
        return LogisticRegression(multi_class=options.multi_class, n_jobs=jobs, **settings)
    settings |= {"penalty": options.penalty, "l1_ratio": options.l1_ratio}
    return LinearSVC(options.loss, multi_class=options.multi_class, n_jobs=jobs, **settings)


def _checkpoints(options: argparse.Namespace, data: Data, path: str) -> Checkpoints | None:
    """Return where to write down every step: of runs that may take long, if anywhere."""
    from widemargin.data.disk_data import DiskData
    from widemargin.estimators.checkpoints import Checkpoints

    resume = getattr(options, "resume", False)
    if not (resume or isinstance(data.X, DiskData)):
        return None
    file = f"{path}.checkpoint"
    if resume and not os.path.exists(file):
        raise FileNotFoundError(f"there is no {file} to go on from: run without --resume")
    return Checkpoints(file, resume)


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
    iterations = sum(h["iteration"][-1] if h["iteration"] else 0 for h in estimator.history_)
    output.table(
        ("", ""),
        [
            ("rows", f"{data.X.shape[0]:,}"),
            ("features", f"{data.X.shape[1]:,}"),
            ("classes", f"{len(names)}: {shown}"),
            ("loss", f"{options.loss}, C = {options.C:g}, intercept {options.intercept}"),
            *penalty_rows(options, estimator.coef_),
            *([("multiclass", options.multi_class)] if len(names) > 2 else []),
            ("solver", f"{estimator.solver_}, {iterations} iteration{'s' * (iterations != 1)}"),
            *certificate_rows(whole, options.tol, worst),
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
    else:
        short = (status for status in estimator.status_ if status != "converged")
        note_shortfall(output, next(short, "converged"), worst.relative_gap, options.tol)
    output.result(
        *("data", "format", "loss", "multi_class", "C", "intercept", "tol"),
        model=path,
        rows=data.X.shape[0],
        features=data.X.shape[1],
        classes=classes,
        solver=estimator.solver_,
        iterations=iterations,
        status=estimator.status_,
        primal=whole.primal,
        dual=whole.dual,
        relative_gap=worst.relative_gap,
        problems=[
            {"primal": c.primal, "dual": c.dual, "relative_gap": c.relative_gap}
            for c in estimator.certificates_
        ],
        training_accuracy=accuracy,
        seconds_reading=data.seconds,
        seconds_training=seconds,
    )
