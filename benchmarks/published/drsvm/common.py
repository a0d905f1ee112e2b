"""What the programs of this folder share: data, the paper's setting, generic solvers, results."""

from __future__ import annotations

import csv
import os
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin import RobustSVC, load_svmlight

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("WIDEMARGIN_DATA", ROOT.parent / "shared" / "data"))
REFERENCE = DATA.parent / "reference"
RESULTS = Path(__file__).parent / "results"
RADIUS, LABEL_COST = 0.1, 1.0
NORMS = {"1": 1.0, "2": 2.0, "inf": np.inf}
CELLS = ("a4a", "a5a", "a8a", "a9a", "ijcnn1", "w8a")
RIVALS = ("ECOS", "CLARABEL", "HIGHS")


def load(name: str) -> tuple[Any, Any] | None:
    """Return a data set, or None if it is not there."""
    path = DATA / f"{name}.xz"
    return load_svmlight(path) if path.is_file() else None


def fit(X: Any, y: Any, norm: float, l2: float, **arguments: Any) -> tuple[RobustSVC, float]:
    """Fit in the paper's setting; return the model and the CPU seconds of the whole fit."""
    model = RobustSVC(
        RADIUS, label_cost=LABEL_COST, norm=norm, l2=l2, fit_intercept=False, **arguments
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X, y)
        return model, time.process_time() - began


def generic(
    solver: str, X: Any, y: Any, norm: float, l2: float, limit: float
) -> tuple[float, float] | None:
    """Return objective and CPU seconds of the solver alone, or None if it fails.

    Clarabel and HiGHS stop at the limit by themselves; the value is then not a number.
    """
    import cvxpy as cp

    n, d = X.shape
    Z = sp.diags_array(y) @ X
    w, price, loss = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    margins = Z @ w
    objective = RADIUS * price + cp.sum(loss) / n + 0.5 * l2 * cp.sum_squares(w)
    problem = cp.Problem(
        cp.Minimize(objective),
        [
            loss >= 1.0 - margins,
            loss >= 1.0 + margins - LABEL_COST * price,
            cp.norm(w, norm) <= price,
        ],
    )
    options = {} if solver == "ECOS" else {"time_limit": limit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
        began = time.process_time()
        try:
            raw = chain.solve_via_data(problem, data, solver_opts=options)
        except cp.SolverError:
            return None
        seconds = time.process_time() - began
        problem.unpack_results(raw, chain, inverse)
    if problem.status == "user_limit":
        return np.nan, seconds
    if problem.status not in ("optimal", "optimal_inaccurate"):
        return None
    return float(problem.value), seconds


def write(name: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as CSV into the results."""
    rows = list(rows)
    if not rows:
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(name: str) -> list[dict[str, str]]:
    """Read earlier results, or nothing."""
    path = RESULTS / name
    if not path.is_file():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))
