"""``widemargin demo``: a short tour on data sets that come with scikit-learn."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import check_writable
from widemargin.cli.options import add_output_options, adder
from widemargin.cli.output import Output, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOL = 1e-6
_C = 1000.0
_FOLDS = 3
_COSTS = (2.0**-12, 2.0**-8, 2.0**-4, 1.0, 2.0**4)
_ITERATIONS = (1_000, 1_000_000)
"""scikit-learn's default, and what brings it near the optimum."""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="a tour of some ten seconds, compared with scikit-learn",
        description="On data sets that come with scikit-learn: a fit that scikit-learn does not "
        "finish, a search over C, and a report as an HTML page. All objectives are computed by "
        "widemargin on the same data; both libraries use one thread.",
    )
    add = adder(parser)
    add("-o --output", "widemargin-report.html", "the page to write", metavar="FILE")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show a hard fit, a search and a report."""
    output = Output(options)
    check_writable(options.output)
    hard = _hard_fit(output)
    search = _search(output, options.output)
    output.text(
        f"\nThe report of that model: {options.output}\n"
        f"Open it in a browser: {Path(options.output).resolve().as_uri()}\n"
        "A report on your own table: widemargin report DATA.csv"
    )
    output.result("output", tol=_TOL, hard_fit=hard, search=search)
    return 0 if hard[0]["above_optimum"] <= _TOL else 1


def _hard_fit(output: Output) -> list[dict[str, Any]]:
    """Compare a fit at a large C with scikit-learn's, at its default and with many iterations."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import scale
    from sklearn.svm import LinearSVC as TheirSVC

    from widemargin.estimators.linear_svc import LinearSVC

    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    output.text(f"\n1. A fit to the end: breast cancer, 569 x 30, hinge loss, C = {_C:g}")
    ours = LinearSVC("hinge", C=_C, tol=_TOL, fit_intercept="penalised")
    rows: list[dict[str, Any]] = [
        {"library": "widemargin, certified", "seconds": _timed_fit(ours, X, y)}
    ]
    bound = ours.certificate_.dual
    rows[0]["above_optimum"] = (ours.certificate_.primal - bound) / bound
    for count in _ITERATIONS:
        theirs = TheirSVC(loss="hinge", C=_C, max_iter=count, tol=1e-8, random_state=0)
        spent = _timed_fit(theirs, X, y, 1)
        gap = (_objective(theirs, X, y) - bound) / bound
        name = f"scikit-learn, max_iter={count:,}"
        rows.append({"library": name, "seconds": spent, "above_optimum": gap})
    output.table(
        ("", "seconds", "objective above the optimum, at most"),
        [
            (row["library"], f"{row['seconds']:.4f}", f"{100 * row['above_optimum']:.3g} %")
            for row in rows
        ],
    )
    ratio = rows[-1]["seconds"] / rows[0]["seconds"]
    output.text(
        f"widemargin proves its own answer and that scikit-learn's default is "
        f"{100 * rows[1]['above_optimum']:.0f} % off; it is {ratio:.0f}x faster than the longer "
        "run."
    )
    return rows


def _search(output: Output, path: str) -> dict[str, Any]:
    """Choose C for the digits with both libraries, and write the report."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC as TheirSVC

    from widemargin.estimators.linear_svc_cv import LinearSVCCV
    from widemargin.report import report

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    fits = _FOLDS * len(_COSTS) * 10
    output.text(
        f"\n2. Choosing C: digits, {X.shape[0]} x {X.shape[1]}, 10 classes, {len(_COSTS)} values "
        "of C, "
        f"{_FOLDS} folds: {fits} fits"
    )
    cv = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    ours = make_pipeline(StandardScaler(), LinearSVCCV(Cs=_COSTS, cv=cv))
    spent = _timed_fit(ours, X, y, 1)
    grid = GridSearchCV(TheirSVC(random_state=0), {"C": list(_COSTS)}, cv=cv)
    theirs = make_pipeline(StandardScaler(), grid)
    their_time = _timed_fit(theirs, X, y, 1)
    rows = [
        ("widemargin", spent, float(ours[-1].C_), float(ours.score(X_test, y_test))),
        ("scikit-learn", their_time, grid.best_params_["C"], float(theirs.score(X_test, y_test))),
    ]
    output.table(
        ("LinearSVC, squared hinge", "seconds", "C", "test accuracy"),
        [(name, f"{s:.2f}", f"{C:g}", percent(a)) for name, s, C, a in rows],
    )
    output.text(f"{their_time / spent:.1f}x faster, every fold certified.")
    names = [f"pixel {row + 1},{column + 1}" for row in range(8) for column in range(8)]
    page = report(
        ours, X, y, X_test, y_test, feature_names=names, title="widemargin demo: handwritten digits"
    )
    page.save(path)
    keys = ("library", "seconds", "C", "test_accuracy")
    return {"fits": fits, "rows": [dict(zip(keys, row, strict=True)) for row in rows]}


def _timed_fit(estimator: Any, X: NDArray[Any], y: NDArray[Any], repeats: int = 3) -> float:
    """Return the fastest of some fits."""
    best = float("inf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the objective shows how well it converged
        for _ in range(repeats):
            began = time.perf_counter()
            estimator.fit(X, y)
            best = min(best, time.perf_counter() - began)
    return best


def _objective(theirs: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the objective at scikit-learn's weights, its intercept penalised as it does."""
    import numpy as np

    w, b = theirs.coef_[0], float(theirs.intercept_[0])
    margins = np.where(y == 1, 1.0, -1.0) * (X @ w + b)
    return float(0.5 * (w @ w + b * b) + _C * np.maximum(1.0 - margins, 0.0).sum())
