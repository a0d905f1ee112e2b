"""IBM Snap ML."""

from __future__ import annotations

from typing import Any

import numpy as np
from snapml import LogisticRegression, SupportVectorMachine

from .base import HINGE, LOGISTIC, SQUARED_HINGE, Peer, half_decades

MAX_ITER = 1_000_000


def fit_svm(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train `SupportVectorMachine`, which minimises ``regularizer/2 ||w||^2 + sum loss``."""
    model = SupportVectorMachine(
        loss=loss, regularizer=1 / C, tol=level, max_iter=MAX_ITER, n_jobs=1, random_state=0
    )
    return np.ravel(model.fit(*data).coef_)


def fit_logistic(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train `LogisticRegression` in the dual."""
    model = LogisticRegression(
        regularizer=1 / C, tol=level, max_iter=MAX_ITER, n_jobs=1, dual=True, random_state=0
    )
    return np.ravel(model.fit(*data).coef_)


def fit_logistic_primal(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train `LogisticRegression` in the primal."""
    model = LogisticRegression(
        regularizer=1 / C, tol=level, max_iter=MAX_ITER, n_jobs=1, dual=False, random_state=0
    )
    return np.ravel(model.fit(*data).coef_)


def peers() -> list[Peer]:
    """Give the dual solver of each loss and the primal one of the logistic loss."""
    ladder = half_decades(1.0, 1e-10)
    return [
        Peer("snapml SVM", (HINGE, SQUARED_HINGE), ladder, fit_svm),
        Peer("snapml logistic dual", (LOGISTIC,), ladder, fit_logistic),
        Peer("snapml logistic primal", (LOGISTIC,), ladder, fit_logistic_primal),
    ]
