"""sklearn-contrib-lightning.

Its `FistaClassifier` is absent: the l2 penalty its documentation names raises a KeyError (0.6.2).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from lightning.classification import (
    CDClassifier,
    LinearSVC,
    SAGAClassifier,
    SAGClassifier,
    SDCAClassifier,
    SVRGClassifier,
)
from scipy.sparse import csr_matrix

from .base import HINGE, LOGISTIC, SQUARED_HINGE, Peer, counts, half_decades

MAX_ITER = 1_000_000
NAMES = {HINGE: "hinge", SQUARED_HINGE: "squared_hinge", LOGISTIC: "log"}


def fit_sum(estimator: Any, data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train an estimator whose objective is the sum form, to the tolerance `level`."""
    model = estimator(loss=NAMES[loss], C=C, tol=level, max_iter=MAX_ITER, random_state=0)
    return model.fit(*data).coef_.ravel()


def fit_mean(
    estimator: Any, data: Any, loss: str, C: float, level: float, **options: float
) -> np.ndarray:
    """Train on the mean loss plus ``alpha/2 ||w||^2`` for `level` epochs.

    Epochs, since the tolerances of these solvers are not monotone and SDCA's never ends on the
    squared hinge.
    """
    model = estimator(
        loss=NAMES[loss],
        alpha=1 / (C * data[0].shape[0]),
        tol=0,
        max_iter=int(level),
        random_state=0,
        **options,
    )
    return model.fit(*data).coef_.ravel()


def prepare_svrg(X: csr_matrix, y: np.ndarray) -> tuple[csr_matrix, np.ndarray, float]:
    """Find the largest squared row, on which the step of SVRG depends (its default diverges)."""
    return X, y, float(X.multiply(X).sum(axis=1).max())


def fit_svrg(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train SVRG with the step 1 / (4 L)."""
    X, y, largest = data
    curvature = (2.0 if loss == SQUARED_HINGE else 0.25) * largest + 1 / (C * X.shape[0])
    return fit_mean(SVRGClassifier, (X, y), loss, C, level, eta=0.25 / curvature)


def peers() -> list[Peer]:
    """Give the solvers that serve one of our three losses with an l2 penalty."""
    ladder, epochs = half_decades(1e-1, 1e-9), counts(4, 20_000)
    both, smooth = (HINGE, SQUARED_HINGE), (SQUARED_HINGE, LOGISTIC)
    return [
        Peer("lightning LinearSVC", both, ladder, partial(fit_sum, LinearSVC)),
        Peer("lightning CD", smooth, ladder, partial(fit_sum, CDClassifier)),
        Peer("lightning SDCA", both, epochs, partial(fit_mean, SDCAClassifier)),
        Peer("lightning SAG", smooth, epochs, partial(fit_mean, SAGClassifier)),
        Peer("lightning SAGA", smooth, epochs, partial(fit_mean, SAGAClassifier)),
        Peer("lightning SVRG", smooth, epochs, fit_svrg, prepare_svrg),
    ]
