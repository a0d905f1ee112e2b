"""The objective, computed by the harness itself in float64."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from .peers.base import HINGE, SQUARED_HINGE


def primal(X: csr_matrix, y: np.ndarray, loss: str, C: float, w: np.ndarray) -> float:
    """Evaluate ``1/2 ||w||^2 + C sum_i loss(y_i w.x_i)``."""
    w = np.asarray(w, dtype=np.float64)
    margins = y * (X @ w)
    if loss == HINGE:
        losses = np.maximum(0.0, 1.0 - margins)
    elif loss == SQUARED_HINGE:
        losses = np.maximum(0.0, 1.0 - margins) ** 2
    else:
        losses = np.logaddexp(0.0, -margins)
    return float(0.5 * (w @ w) + C * losses.sum())
