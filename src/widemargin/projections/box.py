"""The nearest point of a box that satisfies one linear equation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core
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
    low, high = _Values.of("lower", lower, x.size), _Values.of("upper", upper, x.size)
    signs = _Values.of("coefficients", coefficients, x.size)
    heavy = _Values.of("weights", weights, x.size)
    level = float(level)
    _check(low, high, signs, heavy, level)
    # Multiples of the equation and of the weights say the same.
    reach = max(signs.largest, -signs.smallest)
    reach = reach if reach > 0.0 and not 1e-60 < reach < 1e60 else 1.0
    if reach != 1.0:
        signs, level = signs.over(reach), level / reach
    if x.size and not 1e-60 < heavy.largest < 1e60:
        heavy = heavy.over(heavy.largest)
    out = np.empty_like(x)
    middle, found = x, np.inf
    for _ in range(4):
        theta, missing, size = core.project_box(
            middle, heavy.values, signs.values, low.values, high.values, level, out
        )
        if abs(missing) <= 1e-12 * (size + abs(level)) or not abs(missing) < found:
            break
        # Where x is far away, θ loses the digits that the equation needs. The answer is the same
        # for x + θ·coefficients/weights, which is near.
        found = abs(missing)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.ascontiguousarray(middle + theta * (signs.values / heavy.values))
        if not np.isfinite(moved).all():
            break
        middle = moved
    if not abs(missing) <= 1e-9 * (size + abs(level)):
        raise ValueError(
            f"no point of the box satisfies the equation: its left side comes no nearer to the "
            f"level {reach * level:g} than {reach * (level - missing):g}"
        )
    return out


class _Values(NamedTuple):
    """An array, or a number for all entries; their smallest and largest."""

    values: Vector | float
    smallest: float
    largest: float

    @classmethod
    def of(cls, name: str, value: Any, count: int) -> _Values:
        """Read an argument of `project_box`."""
        if np.ndim(value) == 0:
            number = float(value)
            if np.isnan(number):
                raise ValueError(f"{name} must be a number; got nan")
            return cls(number, number, number)
        array = np.ascontiguousarray(value, dtype=np.float64)
        if array.shape != (count,):
            raise ValueError(f"{name} must be a number or have shape ({count},); got {array.shape}")
        if not count:
            return cls(array, 1.0, 0.0)  # passes every check
        if np.isnan(array.min()):
            raise ValueError(f"{name} must not contain nan")
        return cls(array, float(array.min()), float(array.max()))

    def over(self, size: float) -> _Values:
        """Divide all of them."""
        return _Values(self.values / size, self.smallest / size, self.largest / size)


def _check(low: _Values, high: _Values, signs: _Values, heavy: _Values, level: float) -> None:
    if not np.all(low.values <= high.values):
        raise ValueError("lower must nowhere exceed upper")
    if low.largest == np.inf or high.smallest == -np.inf:
        raise ValueError("lower must be below infinity and upper above minus infinity")
    if not np.isfinite(max(signs.largest, -signs.smallest)):
        raise ValueError("coefficients must be finite")
    if not heavy.smallest > 0.0 or not np.isfinite(heavy.largest):
        raise ValueError("weights must be positive and finite")
    if not np.isfinite(level):
        raise ValueError(f"level must be a finite number; got {level!r}")
