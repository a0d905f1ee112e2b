"""Outlier detection on the command line: ``widemargin train --task one-class``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from widemargin.cli.fitting import certificate_rows, note_shortfall, timed
from widemargin.cli.inputs import model_path, read_data, write_model
from widemargin.cli.options import NUMBER, add_file_arguments, add_run_options, adder
from widemargin.cli.output import Output, percent

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data

COMMAND = "train --task one-class"


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        COMMAND,
        description="Train a linear one-class SVM to a certified accuracy and write the model. "
        "Labels of the data are not used.",
    )
    add_file_arguments(parser)
    add = adder(parser.add_argument_group("problem"))
    share = "largest share of examples outside of the half-space, at most 1; -n of LIBLINEAR"
    add("--nu", 0.5, share, metavar="SHARE", **NUMBER)
    add_run_options(parser)
    parser.set_defaults(run=train, command="train")


def train(options: argparse.Namespace) -> int:
    """Read, train, write, report."""
    from widemargin.estimators.linear_one_class_svm import LinearOneClassSVM
    from widemargin.model_io import score_model_of

    output = Output(options)
    estimator = LinearOneClassSVM(
        options.nu,
        tol=options.tol,
        solver=options.solver,
        max_iter=options.max_iter,
        time_limit=options.time_limit,
        random_state=options.seed,
    )
    estimator._check_arguments()
    path = model_path(options)
    data = read_data(options.data, options)
    seconds = timed(output, options, estimator, lambda: estimator.fit(data.X))
    model = score_model_of(estimator)
    if data.feature_names is not None:
        model = replace(model, feature_names=tuple(data.feature_names))
    write_model(model, path, options.format)
    _report(output, options, estimator, data, path, seconds)
    return 0 if model.status == "converged" else 1


def _report(
    output: Output,
    options: argparse.Namespace,
    estimator: Any,
    data: Data,
    path: str,
    seconds: float,
) -> None:
    certificate, status = estimator.certificate_, estimator.status_[0]
    outside = float((estimator.predict(data.X) < 0).mean())
    output.table(
        ("", ""),
        [
            ("rows", f"{data.X.shape[0]:,}"),
            ("features", f"{data.X.shape[1]:,}"),
            ("nu", f"{options.nu:g}"),
            ("solver", estimator.solver_),
            *certificate_rows(certificate, options.tol),
            ("outliers in training", percent(outside)),
            ("seconds reading", f"{data.seconds:.3f}"),
            ("seconds training", f"{seconds:.3f}"),
            ("model", f"{path} ({options.format})"),
        ],
        text_columns=2,
    )
    if not estimator.coef_.any():
        output.note("the origin lies among the examples: all weights are zero")
    note_shortfall(output, status, certificate.relative_gap, options.tol)
    output.result(
        *("data", "format", "nu", "tol"),
        model=path,
        rows=data.X.shape[0],
        features=data.X.shape[1],
        solver=estimator.solver_,
        status=status,
        primal=certificate.primal,
        dual=certificate.dual,
        relative_gap=certificate.relative_gap,
        training_outliers=outside,
        seconds_reading=data.seconds,
        seconds_training=seconds,
    )
