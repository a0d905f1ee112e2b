"""An exact line search along a Newton direction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def line_search(
    derivatives: Callable[[float], tuple[float, float]],
    penalty: tuple[float, float],
    at_zero: float,
) -> float:
    """Return a step at which the slope is at most a tenth of what it was, trying 1 first.

    Parameters
    ----------
    derivatives : callable
        Gives first and second derivative of the loss along the direction p at a step.
    penalty : tuple of two floats
        w·p and ‖p‖², which the derivatives of ½‖w‖² are made of.
    at_zero : float
        The slope of the objective at step zero, negative.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(40):
        first, second = derivatives(t)
        first, second = first + penalty[0] + t * penalty[1], second + penalty[1]
        if abs(first) <= 0.1 * abs(at_zero):
            return t
        if first > 0.0:
            high = t
        else:
            low = t
        t = t - first / second if second > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return t
