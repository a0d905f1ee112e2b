"""``widemargin report``: one HTML page about a model, about data, or about a comparison."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import (
    check_writable,
    fit_width,
    model_format,
    naming,
    read_data,
    read_model,
)
from widemargin.cli.options import (
    LOSSES,
    NUMBER,
    add_data_options,
    add_output_options,
    adder,
    job_count,
)
from widemargin.cli.output import Output, percent

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.report import Report

DEFAULT = "widemargin-report.html"


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="write an HTML page about a model",
        description="Write one self-contained HTML page. With a data file alone: hold out a part "
        "of the rows, choose C by cross-validation on the rest, train, and report on the rows held "
        "out. With a model and the data it was trained on: report on that model. With the CSV file "
        "of widemargin bench: compare the solvers.",
    )
    parser.add_argument("file", help="data, a model, or the bench.csv of widemargin bench")
    parser.add_argument("data", nargs="?", help="with a model: the data it was trained on")
    add = adder(parser)
    add("--test", None, "file of held-out data", metavar="FILE")
    add("-o --output", DEFAULT, "the page to write", metavar="FILE")
    add("--title", None, "heading of the page", metavar="TEXT")
    add = adder(parser.add_argument_group("training, with a data file alone"))
    add("--loss", "logistic", "loss function: hinge, squared_hinge or logistic", choices=LOSSES)
    add("-C", None, "weight of the losses (default: chosen by cross-validation)", **NUMBER)
    add("--hold-out", 0.25, "share of the rows to hold out, without --test", **NUMBER)
    add("--tol", 1e-4, "relative duality gap to reach", metavar="GAP", **NUMBER)
    add("-j --jobs", None, "threads (default: all cores)", type=job_count, metavar="COUNT")
    add("--seed", 0, "seed of the split", type=int, metavar="NUMBER")
    raw = "do not scale the features of dense data to unit variance"
    parser.add_argument("--no-scaling", action="store_true", help=raw)
    add_data_options(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Find out what the files are, make the page, write it."""
    output = Output(options)
    check_writable(options.output)
    began = time.perf_counter()
    if not 0.0 < options.hold_out < 1.0:
        raise ValueError("--hold-out must be between 0 and 1")
    if not os.path.isfile(options.file):
        raise FileNotFoundError(f"there is no file {options.file}")
    told: dict[str, Any] = {}
    if _is_comparison(options.file):
        page = _of_comparison(options)
    elif model_format(options.file) is not None:
        page, told = _of_model(options)
    else:
        page, told = _of_data(options)
    page.save(options.output)
    seconds, size = time.perf_counter() - began, len(page.html.encode())
    for line in told.pop("lines", ()):
        output.text(line)
    address = Path(options.output).resolve().as_uri()
    output.text(f"{options.output} written ({size / 1e3:.0f} kB, {seconds:.1f} s): open {address}")
    output.result("file", "output", bytes=size, seconds=seconds, **told)
    return int(told.get("code", 0))


def _is_comparison(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(64).startswith(b"data,method,round,seconds")


def _of_comparison(options: argparse.Namespace) -> Report:
    from widemargin.benchmark.compare import Comparison
    from widemargin.report import report

    _refuse_data(options)
    return report(Comparison.read_csv(options.file), title=options.title)


def _refuse_data(options: argparse.Namespace) -> None:
    if options.data is not None or options.test is not None:
        raise ValueError("a comparison is reported alone, without data files")


def _of_model(options: argparse.Namespace) -> tuple[Report, dict[str, Any]]:
    from widemargin.report import report

    if options.data is None:
        raise ValueError("a report on a model needs its data: widemargin report MODEL DATA")
    model = read_model(options.file)
    train = _labelled(options.data, options, model)
    test = None if options.test is None else _labelled(options.test, options, model)
    width = model.n_features
    page = report(
        model,
        fit_width(train.X, width),
        train.y,
        None if test is None else fit_width(test.X, width),
        None if test is None else test.y,
        title=options.title or f"{os.path.basename(options.file)} on {options.data}",
    )
    return page, {"model": options.file}


def _labelled(path: str, options: argparse.Namespace, model: Any = None) -> Data:
    data = read_data(path, options, model)
    if data.y is None:
        raise ValueError(f"{path} has no labels")
    return data


def _of_data(options: argparse.Namespace) -> tuple[Report, dict[str, Any]]:
    """Hold out a part, choose C on the rest, train and report."""
    import scipy.sparse as sp
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from widemargin.report import report

    if options.data is not None:
        raise ValueError(f"{options.file} is not a model; held-out data are given by --test")
    with naming(options.file):
        X, y, X_test, y_test, names = _split(options)
    model = _estimator(options)
    if not sp.issparse(X) and not options.no_scaling:
        model = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page says whether it converged
        with naming(options.file):
            model.fit(X, y)
    accuracy = float((model.predict(X_test) == y_test).mean())
    last = model[-1] if hasattr(model, "steps") else model
    gap = last.certificate_.relative_gap
    title = options.title or f"Report on {os.path.basename(options.file)}"
    page = report(model, X, y, X_test, y_test, feature_names=names, title=title)
    lines = [
        f"{X.shape[0]:,} rows for training, {X_test.shape[0]:,} held out: accuracy "
        f"{percent(accuracy)} at C = {last.C:.4g}, certified to a relative gap of {gap:.1e}"
    ]
    code = 0 if all(status == "converged" for status in last.status_) else 1
    told = {"C": last.C, "accuracy": accuracy, "relative_gap": gap, "code": code}
    return page, {**told, "lines": lines}


def _split(options: argparse.Namespace) -> tuple[Any, Any, Any, Any, Any]:
    """Return training and held-out data, and the names of the features."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    data = _labelled(options.file, options)
    if options.test is not None:
        test = _labelled(options.test, options)
        width = max(data.X.shape[1], test.X.shape[1])
        X, X_test = fit_width(data.X, width), fit_width(test.X, width)
        return X, data.y, X_test, test.y, data.feature_names
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    if len(labels) > 0.5 * len(np.asarray(data.y)) and len(labels) > 20:
        raise ValueError(
            f"the labels of {options.file} have {len(labels)} different values: choose the column "
            "of the classes by --label"
        )
    if counts.min() < 2:
        rare = labels[counts.argmin()]
        raise ValueError(f"class {rare} has one row: it cannot be both trained on and held out")
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=options.hold_out, stratify=data.y, random_state=options.seed
    )
    return X, y, X_test, y_test, data.feature_names


def _estimator(options: argparse.Namespace) -> Any:
    from widemargin.estimators.linear_svc import LinearSVC
    from widemargin.estimators.linear_svc_cv import LinearSVCCV
    from widemargin.estimators.logistic_regression import LogisticRegression
    from widemargin.estimators.logistic_regression_cv import LogisticRegressionCV
    from widemargin.problems.losses import gives_probabilities

    jobs = -1 if options.jobs is None else options.jobs
    settings: dict[str, Any] = {"tol": options.tol, "n_jobs": jobs}
    smooth = gives_probabilities(options.loss)
    if options.C is not None:
        settings["C"] = options.C
        return LogisticRegression(**settings) if smooth else LinearSVC(options.loss, **settings)
    if smooth:
        settings |= {"l1_ratios": (0,), "scoring": "accuracy", "use_legacy_attributes": False}
        return LogisticRegressionCV(**settings)
    return LinearSVCCV(options.loss, **settings)
