"""Bounds on the weights in exact arithmetic: the penalty's part of the dual."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from widemargin.exact.integers import Scaled, dyadic

BoundsOfWeights: TypeAlias = tuple[Any, Any] | None
"""Lower and upper bounds of the features' weights, or None."""


def half_square(v: Scaled, bounds: BoundsOfWeights) -> Fraction:
    """Return Σ v k − ½k² with k the entry of v put between its bounds: ½‖v‖² without any."""
    if bounds is None:
        return v.squared_length() / 2
    total = Fraction(0)
    for value, low, high in zip(v.values, *(side.tolist() for side in bounds), strict=True):
        number = dyadic(int(value), v.exponent)
        k = max(number, Fraction(low)) if low > -np.inf else number
        k = min(k, Fraction(high)) if high < np.inf else k
        total += k * (number - k / 2)
    return total


def check_within(w: Any, bounds: BoundsOfWeights) -> None:
    """Raise an error for weights outside of their bounds."""
    if bounds is not None and not ((w >= bounds[0]) & (w <= bounds[1])).all():
        raise ValueError("a coefficient is outside of coef_bounds: no certificate is about it")
