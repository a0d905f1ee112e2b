"""The nearest point of a box that satisfies one linear equation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.projections.arguments import refuse_infinite, vector

Vector = NDArray[np.float64]


def project_box(
    x: Any,
    *,
    lower: Any = 0.0,
    upper: Any = np.inf,
    coefficients: Any = 1.0,
    level: float = 0.0,
    weights: Any = 1.0,
) -> Vector:
    """Project onto a box intersected with a hyperplane.

    Minimises ``½ Σ weights_i (a_i − x_i)²`` subject to ``lower_i ≤ a_i ≤ upper_i`` and
    ``Σ coefficients_i a_i = level``. The multiplier of the equation is the root of a monotone,
    piecewise linear function: a sample brackets it, one pass verifies the bracket, and the kinks
    inside are searched. Expected time O(n), no sort.

    Parameters
    ----------
    x : array-like of shape (n,)
    lower, upper : float or array-like of shape (n,), default=0 and infinity
        Bounds; they may be infinite.
    coefficients : float or array-like of shape (n,), default=1
        Of the equation; the labels ±1 give the feasible set of a support vector machine's dual.
    level : float, default=0
    weights : float or array-like of shape (n,), default=1
        Positive.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from widemargin.projections import project_box
    >>> project_box([1.0, 0.0], upper=1.0, coefficients=[1.0, -1.0])
    array([0.5, 0.5])
    >>> project_box([0.9, 0.5, -2.0], upper=1.0, level=1.0)
    array([0.7, 0.3, 0. ])
    """
    x = vector("x", x)
    low, lowest = _parameter("lower", lower, x.size)
    high, highest = _parameter("upper", upper, x.size)
    signs, sign = _parameter("coefficients", coefficients, x.size)
    heavy, weight = _parameter("weights", weights, x.size)
    if not np.all((lowest if low is None else low) <= (highest if high is None else high)):
        raise ValueError("lower must nowhere exceed upper")
    if lowest == np.inf or highest == -np.inf:
        raise ValueError("lower must be below infinity and upper above minus infinity")
    if not np.isfinite(sign if signs is None else signs @ signs):
        raise ValueError("coefficients must be finite")
    if not np.min(weight if heavy is None else heavy) > 0.0:
        raise ValueError("weights must be positive")
    level = float(level)
    out = np.empty_like(x)
    _, missing, size = core.project_box(
        x, heavy, weight, signs, sign, low, lowest, high, highest, level, out
    )
    refuse_infinite("x", x, missing)
    if not abs(missing) <= 1e-9 * (size + abs(level)):
        raise ValueError(
            f"no point of the box satisfies the equation: its left side comes no nearer to the "
            f"level {level:g} than {level - missing:g}"
        )
    return out


def _parameter(name: str, value: Any, count: int) -> tuple[Vector | None, float]:
    """Return an array and no number, or no array and a number."""
    if np.ndim(value) == 0:
        number = float(value)
        if np.isnan(number):
            raise ValueError(f"{name} must be a number; got nan")
        return None, number
    array = np.ascontiguousarray(value, dtype=np.float64)
    if array.shape != (count,):
        raise ValueError(f"{name} must be a number or have shape ({count},); got {array.shape}")
    if count and np.isnan(array.min()):
        raise ValueError(f"{name} must not contain nan")
    return array, 0.0
