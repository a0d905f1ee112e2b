"""skglm."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix
from skglm import LinearSVC
from skglm.datafits import Logistic
from skglm.penalties import L2
from skglm.solvers import LBFGS
from skglm.utils.jit_compilation import compiled_clone

from .base import HINGE, LOGISTIC, Peer, half_decades

MAX_ITER = 100_000


def prepare(X: csr_matrix, y: np.ndarray) -> tuple[csc_matrix, np.ndarray]:
    """Turn the rows into columns and compile both solvers on the first rows of the data."""
    # Rows of both classes are needed for a fit that compiles everything.
    rows = np.concatenate([np.flatnonzero(y == label)[:5] for label in (-1, 1)])
    for fit in (fit_hinge, fit_logistic):
        fit((X[rows].tocsc(), y[rows]), "", 1.0, 0.1)
    return X.tocsc(), y


def fit_hinge(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train `LinearSVC`, coordinate descent with Anderson acceleration on the dual."""
    X, y = data
    model = LinearSVC(C=C, tol=level, max_iter=MAX_ITER, fit_intercept=False).fit(X, y)
    # `coef_` holds the dual of the problem solved, not the weights.
    return np.asarray(X.T @ (y * np.ravel(model.dual_coef_)))


def fit_logistic(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Minimise the mean logistic loss plus ``alpha/2 ||w||^2`` by L-BFGS."""
    X, y = data
    penalty = compiled_clone(L2(1 / (C * X.shape[0])))
    solver = LBFGS(max_iter=MAX_ITER, tol=level)
    return solver.solve(X, y, compiled_clone(Logistic()), penalty)[0]


def peers() -> list[Peer]:
    """Give the two solvers; skglm has no squared hinge."""
    return [
        Peer("skglm LinearSVC", (HINGE,), half_decades(1.0, 1e-9), fit_hinge, prepare),
        Peer("skglm LBFGS", (LOGISTIC,), half_decades(1e-1, 1e-12), fit_logistic, prepare),
    ]
