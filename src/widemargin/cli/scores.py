"""Regression on the command line: ``train`` and ``tune --task regression``, and ``predict``.

`predict` writes numbers; 1 or -1 with the model of an outlier detector.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from widemargin.cli.fitting import certificate_rows, note_shortfall, timed
from widemargin.cli.inputs import fit_width, model_path, read_data, write_model
from widemargin.cli.options import (
    COUNT,
    INTERCEPTS,
    NUMBER,
    add_bounds,
    add_file_arguments,
    add_no_model,
    add_run_options,
    adder,
    positive_numbers,
)
from widemargin.cli.output import Output

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.model_io import ScoreModel

TASK = "regression"
COMMANDS = (f"train --task {TASK}", f"tune --task {TASK}")

_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
_NOT_HERE: dict[str, Any] = {
    "proba": False,
    "scores": False,
    "loss": None,
    "multi_class": None,
    "class_weight": None,
}
"""Options of ``predict`` and ``certify`` that are for classifiers, with their defaults."""


def _width(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number from 0 on")
    return value


_width.__name__ = "number"
EPSILON: dict[str, Any] = {"type": _width, "metavar": "WIDTH"}


def add_to(commands: Any) -> None:
    """Add both commands to the parser."""
    for command in COMMANDS:
        tunes = command.startswith("tune")
        how = "Choose C by cross-validation, then train" if tunes else "Train"
        parser = commands.add_parser(
            command,
            description=f"{how} a support vector regression to a certified accuracy and write the "
            "model. The labels of the data are the numbers to predict.",
        )
        add_file_arguments(parser)
        add = adder(parser.add_argument_group("problem"))
        loss = "loss of a residual outside of the tube"
        add("--loss", _LOSSES[0], loss, choices=_LOSSES)
        width = "half-width of the tube, in the units of the labels; -p of LIBLINEAR"
        add("--epsilon", 0.0, width, **EPSILON)
        kinds = "exact: not penalised; penalised: a constant feature, as LIBLINEAR's -B; none"
        add("--intercept", "exact", kinds, choices=tuple(INTERCEPTS))
        constant = "value of the constant feature of --intercept penalised"
        add("--intercept-scaling", 1.0, constant, metavar="VALUE", **NUMBER)
        if tunes:
            values = "values of C, separated by commas (default: ten from 1e-4 to 1e4)"
            add("--Cs", None, values, type=positive_numbers, metavar="C,...")
            add("--folds", 5, "number of folds", **COUNT)
            add("--scoring", "r2", "a scorer of scikit-learn", metavar="NAME")
            add_no_model(add)
        else:
            add("-C", 1.0, "weight of the losses in the objective", **NUMBER)
            add_bounds(add)
        add_run_options(parser, jobs="threads over the folds" if tunes else None)
        parser.set_defaults(run=train, command=command.split()[0], tunes=tunes)


def train(options: argparse.Namespace) -> int:
    """Read, train, write, report."""
    from widemargin.model_io import score_model_of

    output = Output(options)
    if options.intercept_scaling != 1.0 and options.intercept != "penalised":
        raise ValueError("--intercept-scaling needs --intercept penalised")
    estimator = _estimator(options)
    estimator._check_arguments()
    path = model_path(options)
    writes = not getattr(options, "no_model", False)
    data = read_data(options.data, options)
    check_numbers(data, options.data)
    fit = partial(estimator.fit, data.X, data.y)
    seconds = timed(output, options, estimator, fit)
    model = score_model_of(estimator)
    if data.feature_names is not None:
        model = replace(model, feature_names=tuple(data.feature_names))
    if writes:
        write_model(model, path, options.format)
    _report(output, options, estimator, data, path if writes else None, seconds)
    return 0 if model.status == "converged" else 1


def check_numbers(data: Data, path: str) -> None:
    if data.y is None:
        raise ValueError(f"{path} has no labels to train on")
    if data.y.dtype.kind in "UO":
        raise ValueError(f"{path} has text as labels; regression predicts numbers")


def _estimator(options: argparse.Namespace) -> Any:
    from widemargin.estimators.linear_svr import LinearSVR
    from widemargin.estimators.linear_svr_cv import LinearSVRCV

    settings: dict[str, Any] = {
        "loss": options.loss,
        "epsilon": options.epsilon,
        "tol": options.tol,
        "fit_intercept": INTERCEPTS[options.intercept],
        "intercept_scaling": options.intercept_scaling,
        "solver": options.solver,
        "max_iter": options.max_iter,
        "time_limit": options.time_limit,
        "random_state": options.seed,
    }
    if not options.tunes:
        settings |= {"coef_bounds": options.coef_bounds, "positive": options.positive}
        return LinearSVR(C=options.C, **settings)
    jobs = -1 if options.jobs is None else options.jobs
    search = {"Cs": options.Cs or 10, "cv": options.folds, "scoring": options.scoring}
    return LinearSVRCV(n_jobs=jobs, **search, **settings)


def _errors(found: Any, y: Any) -> dict[str, float]:
    """Return the mean squared error and the squared correlation, as LIBLINEAR prints them."""
    import numpy as np

    residual, spread = found - y, (y - y.mean(), found - found.mean())
    product = float(spread[0] @ spread[0]) * float(spread[1] @ spread[1])
    correlation = float(spread[0] @ spread[1]) ** 2 / product if product > 0.0 else np.nan
    return {"mean_squared_error": float(np.mean(residual**2)), "squared_correlation": correlation}


def _report(
    output: Output,
    options: argparse.Namespace,
    estimator: Any,
    data: Data,
    path: str | None,
    seconds: float,
) -> None:
    certificate, status = estimator.certificate_, estimator.status_[0]
    errors = _errors(estimator.predict(data.X), data.y)
    found = {"best_score": estimator.best_score_} if options.tunes else {}
    output.table(
        ("", ""),
        [
            ("rows", f"{data.X.shape[0]:,}"),
            ("features", f"{data.X.shape[1]:,}"),
            ("loss", f"{options.loss}, epsilon = {options.epsilon:g}, C = {estimator.C:g}"),
            ("intercept", options.intercept),
            *((f"{options.scoring}, {options.folds} folds", f"{v:.6g}") for v in found.values()),
            ("solver", estimator.solver_),
            *certificate_rows(certificate, options.tol),
            *((f"training {name.replace('_', ' ')}", f"{v:.6g}") for name, v in errors.items()),
            ("seconds reading", f"{data.seconds:.3f}"),
            ("seconds training", f"{seconds:.3f}"),
            ("model", "none written" if path is None else f"{path} ({options.format})"),
        ],
        text_columns=2,
    )
    note_shortfall(output, status, certificate.relative_gap, options.tol)
    output.result(
        *("data", "format", "loss", "epsilon", "intercept", "tol"),
        model=path,
        C=estimator.C,
        rows=data.X.shape[0],
        features=data.X.shape[1],
        solver=estimator.solver_,
        status=status,
        primal=certificate.primal,
        dual=certificate.dual,
        relative_gap=certificate.relative_gap,
        seconds_reading=data.seconds,
        seconds_training=seconds,
        **found,
        **{f"training_{name}": value for name, value in errors.items()},
    )


def check_options(options: argparse.Namespace) -> None:
    for name, default in _NOT_HERE.items():
        if getattr(options, name, default) != default:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for classifiers, and {options.model} is none")


def _scored(model: ScoreModel, found: Any, y: Any) -> dict[str, float]:
    """Return how good predictions are, if the labels of the file can tell."""
    if y is None or y.dtype.kind not in "biuf":
        return {}
    if model.kind == TASK:
        return _errors(found, y)
    known = set(y.tolist()) <= {1.0, -1.0}
    return {"accuracy": float((found == y).mean())} if known else {}


def predict(options: argparse.Namespace, output: Output, model: ScoreModel) -> int:
    """Write the predicted number of every example, one line each."""
    from widemargin.data.replacing import replacing

    check_options(options)
    data = read_data(options.data, options, model)
    if data.X.shape[1] != model.n_features and not options.pad:
        raise ValueError(
            f"{options.data} has {data.X.shape[1]} features, the model has {model.n_features}; "
            "--pad to take missing ones as zero and to leave out those beyond"
        )
    began = time.perf_counter()
    found = model.predict(fit_width(data.X, model.n_features))
    seconds = time.perf_counter() - began
    # As LIBLINEAR writes numbers.
    lines = (f"{value:.17g}\n" for value in found.tolist())
    if options.output is not None:
        with replacing(options.output, text=True) as file:
            file.writelines(lines)
    elif not options.json:
        sys.stdout.writelines(lines)
    scored = _scored(model, found, data.y)
    output.table(
        ("", ""),
        [
            ("rows", f"{found.size:,}"),
            *((name.replace("_", " "), f"{value:.6g}") for name, value in scored.items()),
            ("seconds reading", f"{data.seconds:.3f}"),
            ("seconds predicting", f"{seconds:.3f}"),
        ],
        text_columns=2,
    )
    printed = {} if options.output is not None else {"predictions": found}
    output.result(
        *("data", "model", "output"),
        rows=found.size,
        seconds_reading=data.seconds,
        seconds_predicting=seconds,
        **scored,
        **printed,
    )
    return 0
