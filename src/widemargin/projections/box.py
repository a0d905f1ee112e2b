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
    with np.errstate(over="ignore", invalid="ignore"):
        refuse_infinite("x", x, float(x.sum()))
    low, lowest = _parameter("lower", lower, x.size)
    high, highest = _parameter("upper", upper, x.size)
    signs, sign = _parameter("coefficients", coefficients, x.size)
    heavy, weight = _parameter("weights", weights, x.size)
    if not np.all((lowest if low is None else low) <= (highest if high is None else high)):
        raise ValueError("lower must nowhere exceed upper")
    if _largest(lowest, low) == np.inf or _smallest(highest, high) == -np.inf:
        raise ValueError("lower must be below infinity and upper above minus infinity")
    reach = max(_largest(sign, signs), -_smallest(sign, signs))
    if not np.isfinite(reach):
        raise ValueError("coefficients must be finite")
    if not _smallest(weight, heavy) > 0.0 or not np.isfinite(_largest(weight, heavy)):
        raise ValueError("weights must be positive and finite")
    level = float(level)
    if not np.isfinite(level):
        raise ValueError(f"level must be a finite number; got {level!r}")
    # Multiples of the equation and of the weights say the same.
    if reach > 0.0 and not 1e-60 < reach < 1e60:
        signs, sign, level = _scaled(signs, reach), sign / reach, level / reach
    else:
        reach = 1.0
    heaviest = _largest(weight, heavy)
    if x.size and not 1e-60 < heaviest < 1e60:
        heavy, weight = _scaled(heavy, heaviest), weight / heaviest
    out = np.empty_like(x)
    middle, found = x, np.inf
    for _ in range(4):
        theta, missing, size = core.project_box(
            middle, heavy, weight, signs, sign, low, lowest, high, highest, level, out
        )
        if abs(missing) <= 1e-12 * (size + abs(level)) or not abs(missing) < found:
            break
        # Where x is far away, θ loses the digits that the equation needs. The answer is the same
        # for x + θ·coefficients/weights, which is near.
        found = abs(missing)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = (sign if signs is None else signs) / (weight if heavy is None else heavy)
            moved = np.ascontiguousarray(middle + theta * slope)
        if not np.isfinite(moved).all():
            break
        middle = moved
    if not abs(missing) <= 1e-9 * (size + abs(level)):
        raise ValueError(
            f"no point of the box satisfies the equation: its left side comes no nearer to the "
            f"level {reach * level:g} than {reach * (level - missing):g}"
        )
    return out


def _largest(number: float, array: Vector | None) -> float:
    """Return the largest of them; of no entries, a number that offends nobody."""
    if array is None:
        return number
    return float(array.max()) if array.size else 0.0


def _smallest(number: float, array: Vector | None) -> float:
    if array is None:
        return number
    return float(array.min()) if array.size else 1.0


def _scaled(array: Vector | None, size: float) -> Vector | None:
    return None if array is None else array / size


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
