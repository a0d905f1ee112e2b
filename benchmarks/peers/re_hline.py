"""ReHLine."""

from __future__ import annotations

from typing import Any

import numpy as np
from rehline import plqERM_Ridge

from .base import HINGE, SQUARED_HINGE, Peer, half_decades

MAX_ITER = 10_000_000
NAMES = {HINGE: "svm", SQUARED_HINGE: "squared SVM"}


def fit(data: Any, loss: str, C: float, level: float) -> np.ndarray:
    """Train `plqERM_Ridge`; its objective is ours and its tolerance a relative gap."""
    model = plqERM_Ridge(loss={"name": NAMES[loss]}, C=C, tol=level, max_iter=MAX_ITER, verbose=0)
    return np.ravel(model.fit(*data).coef_)


def peers() -> list[Peer]:
    """Give the one solver; it has no logistic loss."""
    return [Peer("rehline", (HINGE, SQUARED_HINGE), half_decades(1e-1, 1e-10), fit)]
