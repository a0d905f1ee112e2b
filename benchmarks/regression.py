"""LinearSVR against LIBLINEAR's -s 11, 12, 13 and scikit-learn's LinearSVR.

``python -m benchmarks.regression`` adds to ``results/regression.csv``, cell by cell; cells that are
there already are kept, ``--again`` measures them anew. CPU seconds of one thread to
a true suboptimality of 1e-3 and 1e-6: every solver is run at falling tolerances until its weights
have an objective that close to a certified optimum. No intercept, so that all minimise the same.
Beside scikit-learn's diabetes, data are generated in the shapes of abalone (4177 x 8), cpusmall
(8192 x 12) and YearPredictionMSD (90 columns; 50,000 of its 463,715 rows).
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from liblinear.liblinear import problem
from liblinear.liblinearutil import train
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVR as Theirs

from benchmarks.targets import Fit, Table, seconds_to
from widemargin import LinearSVR

EPSILON = 0.1
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
RESULTS = Path(__file__).parent / "results" / "regression.csv"


def generated(rows: int, columns: int) -> tuple[Any, Any]:
    """Return correlated columns, a linear target and noise with some outliers."""
    random = np.random.default_rng(rows + columns)
    X = random.normal(size=(rows, columns)) @ random.normal(size=(columns, columns))
    noise = random.standard_t(3, size=rows)
    X = scale(X)
    return X, scale(X @ random.normal(size=columns) + 2.0 * noise)


def data_sets() -> dict[str, tuple[Any, Any]]:
    """Return the data sets by name."""
    X, y = load_diabetes(return_X_y=True)
    return {
        "diabetes": (scale(X), scale(y)),
        "abalone-like": generated(4177, 8),
        "cpusmall-like": generated(8192, 12),
        "year-like": generated(50_000, 90),
    }


def objective(X: Any, y: Any, w: Any, loss: str, C: float) -> float:
    """Return P."""
    slack = np.maximum(np.abs(y - X @ w) - EPSILON, 0.0)
    return 0.5 * float(w @ w) + C * float((slack if loss == LOSSES[0] else slack**2).sum())


def ours(X: Any, y: Any, loss: str, C: float) -> Fit:
    """Return our fit at a tolerance."""

    def fit(tol: float) -> Any:
        model = LinearSVR(epsilon=EPSILON, C=C, loss=loss, fit_intercept=False, tol=tol)
        return model.fit(X, y).coef_

    return fit


def liblinear(solver: int, X: Any, y: Any, loss: str, C: float) -> Fit:
    """Return LIBLINEAR's fit at a tolerance; its copy of the data is not timed."""
    data = problem(y, X)

    def fit(tol: float) -> Any:
        model = train(data, f"-s {solver} -c {C!r} -p {EPSILON} -e {tol!r} -q")
        return np.ctypeslib.as_array(model.w, shape=(X.shape[1],)).copy()

    return fit


def scikit_learn(X: Any, y: Any, loss: str, C: float) -> Fit:
    """Return scikit-learn's fit at a tolerance."""

    def fit(tol: float) -> Any:
        model = Theirs(epsilon=EPSILON, C=C, loss=loss, fit_intercept=False, tol=tol, dual="auto")
        return model.fit(X, y).coef_

    return fit


def solvers(X: Any, y: Any, loss: str, C: float) -> dict[str, Fit]:
    """Return every solver of a problem."""
    numbers = (13,) if loss == LOSSES[0] else (11, 12)
    return {
        "widemargin": ours(X, y, loss, C),
        **{f"liblinear -s {s}": liblinear(s, X, y, loss, C) for s in numbers},
        "scikit-learn": scikit_learn(X, y, loss, C),
    }


def main() -> None:
    """Run the cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", help="names of data sets; all by default")
    parser.add_argument("--C", type=float, nargs="*", default=[0.1, 10.0])
    parser.add_argument("--again", action="store_true", help="measure known cells anew")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Table(RESULTS, ("data", "loss", "C"))
    chosen = {k: v for k, v in data_sets().items() if not options.data or k in options.data}
    if options.again:
        table.rows = [row for row in table.rows if row["data"] not in chosen]
    for name, (X, y) in chosen.items():
        for loss, C in itertools.product(LOSSES, options.C):
            if table.has(data=name, loss=loss, C=C):
                continue
            tight = LinearSVR(epsilon=EPSILON, C=C, loss=loss, fit_intercept=False, tol=1e-8)
            best = float(tight.fit(X, y).dual_[0])
            times = seconds_to(
                solvers(X, y, loss, C),
                lambda w, X=X, y=y, loss=loss, C=C, best=best: (
                    objective(X, y, w, loss, C) / best - 1.0
                ),
            )
            table.add({"data": name, "loss": loss, "C": C}, times)
    print(table.summary())


if __name__ == "__main__":
    main()
