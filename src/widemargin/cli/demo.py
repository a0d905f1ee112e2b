"""``widemargin demo``: a short tour on data sets that come with scikit-learn."""

from __future__ import annotations

import argparse
import time
import warnings
from typing import TYPE_CHECKING, Any

from widemargin.cli.options import add_output_options
from widemargin.cli.output import Output, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.estimators.linear import LinearClassifier

DATA = {"breast_cancer": "breast cancer", "digits": "handwritten digits"}
_TOL = 1e-6
_FOLDS = 3
_COSTS = tuple(2.0**power for power in range(-12, 5, 2))


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="a tour of a few seconds, compared with scikit-learn",
        description="On data sets that come with scikit-learn: choose C by cross-validation with "
        "warm starts, train, and compare certificate, accuracy and time with scikit-learn's "
        "classes. All objectives are computed by widemargin, on the same training data.",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        choices=tuple(DATA),
        default=list(DATA),
        help="data sets (default: all)",
    )
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show each data set in turn."""
    output = Output(options)
    results = {name: _show(name, output) for name in options.data}
    proven = max(
        row["relative_gap"]
        for result in results.values()
        for row in result["comparison"]
        if row["library"] == "widemargin"
    )
    output.text(
        f"Every widemargin model above is certified to be within {100 * proven:.1g} % of the "
        "optimal objective. For your own data, use widemargin tune DATA, which chooses C, or "
        "widemargin train DATA."
    )
    output.result(tol=_TOL, data=results)
    return 0 if proven <= _TOL else 1


def _show(name: str, output: Output) -> dict[str, Any]:
    import numpy as np
    import sklearn
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    title = (
        f"{DATA[name]}: {X.shape[0]} training rows, {X_test.shape[0]} test rows, "
        f"{X.shape[1]} features, {np.unique(y).size} classes"
    )
    output.text(f"\n{title}")

    path, C = _path(X, y)
    output.table(
        ("C", "accuracy", "gap", "passes", "seconds", ""),
        [
            (
                f"{row['C']:g}",
                percent(row["accuracy"]),
                f"{row['relative_gap']:.1e}",
                f"{row['passes']:.0f}",
                f"{row['seconds']:.3f}",
                "<- chosen" if row["C"] == C else "",
            )
            for row in path
        ],
        title=f"Choosing C: {_FOLDS}-fold cross-validation, warm-started from C to C",
        bars=True,
    )
    comparison = _compare(X, y, X_test, y_test, C)
    output.table(
        ("problem", "library", "objective", "above the bound", "test accuracy", "seconds"),
        [
            (
                row["problem"],
                row["library"],
                f"{row['objective']:.8g}",
                f"{row['relative_gap']:.1e}",
                percent(row["test_accuracy"]),
                f"{row['seconds']:.4f}",
            )
            for row in comparison
        ],
        title=f"Compared with scikit-learn {sklearn.__version__}, C = {C:g}",
        text_columns=2,
    )
    rows, features = X.shape
    return {"rows": rows, "features": features, "path": path, "C": C, "comparison": comparison}


def _path(X: NDArray[Any], y: NDArray[Any]) -> tuple[list[dict[str, Any]], float]:
    """Return what the search found at each C, and the C it chose."""
    from sklearn.model_selection import StratifiedKFold

    from widemargin.estimators.linear_svc_cv import LinearSVCCV

    cv = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    search = LinearSVCCV(Cs=_COSTS, cv=cv).fit(X, y)
    names = {"C": "C", "accuracy": "mean_score", "passes": "passes", "seconds": "seconds"}
    rows = [
        {name: float(search.path_[column][place]) for name, column in names.items()}
        | {"relative_gap": certificate.relative_gap}
        for place, certificate in enumerate(search.certificates_)
    ]
    return rows, search.C_


def _compare(
    X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any], C: float
) -> list[dict[str, Any]]:
    """Train each problem with both libraries; compute both objectives here."""
    from sklearn.linear_model import LogisticRegression as TheirLogistic
    from sklearn.svm import LinearSVC as TheirSVC

    from widemargin.estimators.linear_svc import LinearSVC
    from widemargin.estimators.logistic_regression import LogisticRegression

    # scikit-learn's LinearSVC penalises the intercept, its LogisticRegression does not.
    penalised: dict[str, Any] = {"C": C, "tol": _TOL, "fit_intercept": "penalised"}
    pairs: list[tuple[str, LinearClassifier, Any]] = [
        ("hinge", LinearSVC("hinge", **penalised), TheirSVC(loss="hinge", C=C, random_state=0)),
        ("squared hinge", LinearSVC(**penalised), TheirSVC(C=C, random_state=0)),
        ("logistic", LogisticRegression(C=C, tol=_TOL), TheirLogistic(C=C)),
    ]
    rows: list[dict[str, Any]] = []
    for problem, ours, theirs in pairs:
        seconds, their_seconds = _timed_fit(ours, X, y), _timed_fit(theirs, X, y)
        bound = ours.certificate_.dual
        for library, fitted, taken, objective in (
            ("widemargin", ours, seconds, ours.certificate_.primal),
            ("scikit-learn", theirs, their_seconds, _objective(theirs, ours, X, y)),
        ):
            rows.append(
                {
                    "problem": problem,
                    "library": library,
                    "objective": objective,
                    "relative_gap": max(objective - bound, 0.0) / objective,
                    "test_accuracy": float((fitted.predict(X_test) == y_test).mean()),
                    "seconds": taken,
                }
            )
    return rows


def _timed_fit(estimator: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the fastest of three fits, so that first-call costs do not count for either."""
    best = float("inf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the objective shows how well it converged
        for _ in range(3):
            began = time.perf_counter()
            estimator.fit(X, y)
            best = min(best, time.perf_counter() - began)
    return best


def _objective(theirs: Any, ours: LinearClassifier, X: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the objective of our problem at their weights."""
    from dataclasses import replace

    import numpy as np

    from widemargin.cli.certify import problems_of, training_set_of
    from widemargin.model_io import model_of

    model = replace(model_of(ours), coef=theirs.coef_, intercept=np.atleast_1d(theirs.intercept_))
    data = training_set_of(model, X, y)
    return sum(problem.primal_at(w, b) for problem, w, b in problems_of(model, data))
