"""scikit-learn: `LinearSVC` and each solver of `LogisticRegression`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from .base import HINGE, LOGISTIC, SQUARED_HINGE, NotServedError, Peer, half_decades

# The tolerance decides, never this.
MAX_ITER = 1_000_000
# The Hessian of newton-cholesky is d x d; 10,000 is 800 MB.
LARGEST_HESSIAN = 10_000


def fit_svc(dual: bool, data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train `LinearSVC`; its objective is ours."""
    model = LinearSVC(
        loss=loss,
        dual=dual,
        C=C,
        tol=level,
        fit_intercept=False,
        max_iter=MAX_ITER,
        random_state=0,
    )
    return model.fit(*data).coef_.ravel()


def fit_logistic(
    options: dict[str, Any], data: Any, loss: str, C: float, level: float
) -> np.ndarray:
    """Train `LogisticRegression`; its objective is ours up to a constant factor."""
    if options["solver"] == "newton-cholesky" and data[0].shape[1] > LARGEST_HESSIAN:
        raise NotServedError(f"newton-cholesky needs a dense Hessian of {data[0].shape[1]}^2")
    model = LogisticRegression(
        C=C, tol=level, fit_intercept=False, max_iter=MAX_ITER, random_state=0, **options
    )
    return model.fit(*data).coef_.ravel()


def peers() -> list[Peer]:
    """Give `LinearSVC` dual and primal and the six solvers of `LogisticRegression`."""
    dual, primal = half_decades(1.0, 1e-9), half_decades(1e-1, 1e-10)
    found = [
        Peer("sklearn LinearSVC dual", (HINGE, SQUARED_HINGE), dual, partial(fit_svc, True)),
        Peer("sklearn LinearSVC primal", (SQUARED_HINGE,), primal, partial(fit_svc, False)),
    ]
    for solver in ("newton-cholesky", "lbfgs", "newton-cg", "liblinear", "sag", "saga"):
        ladder = half_decades(1e-1, 1e-9) if solver.startswith("sag") else primal
        fit = partial(fit_logistic, {"solver": solver})
        found.append(Peer(f"sklearn {solver}", (LOGISTIC,), ladder, fit))
    fit = partial(fit_logistic, {"solver": "liblinear", "dual": True})
    found.append(Peer("sklearn liblinear dual", (LOGISTIC,), dual, fit))
    return found
