"""widemargin as a person would call it: ``solver="auto"``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from widemargin import LinearSVC, LogisticRegression

from .base import LOGISTIC, LOSSES, Peer


def estimator(loss: str, **options: Any) -> LinearSVC | LogisticRegression:
    """Make the estimator of a loss, without an intercept."""
    options |= {"fit_intercept": False, "random_state": 0}
    return LogisticRegression(**options) if loss == LOGISTIC else LinearSVC(loss=loss, **options)


def fit(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train to a certified relative gap of `level`."""
    return estimator(loss, C=C, tol=level).fit(*data).coef_.ravel()


def certify(
    X: csr_matrix, y: np.ndarray, loss: str, C: float, tol: float, time_limit: float
) -> tuple[float, float]:
    """Give the certified primal and dual values at a tight tolerance."""
    model = estimator(loss, C=C, tol=tol, time_limit=time_limit).fit(X, y)
    return float(model.certificate_.primal), float(model.certificate_.dual)


def peers() -> list[Peer]:
    """Give the default solver; its level is the target itself."""
    return [Peer("widemargin", LOSSES, (1e-3, 1e-6), fit)]
