"""Sparse weights in exact arithmetic: P of any weights, and a proved bound from any α."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.binary import ExactBinary
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import Integers, Scaled, dyadic

_SCALE_BITS = 120
"""Of the factor that brings dual variables into |v_j| ≤ 1: far finer than they are."""


def elastic_net(rho: Fraction, w: NDArray[Any], b: Any, scaling: float) -> Fraction:
    """Return ρ‖w‖₁ + ½(1 − ρ)‖w‖², with intercepts b that are penalised if there is a scaling."""
    weights = Scaled.of(w)
    length = dyadic(int(np.abs(weights.values).sum()), weights.exponent) if w.size else Fraction(0)
    square = weights.squared_length()
    if scaling:
        for intercept in b:
            last = Fraction(float(intercept)) / Fraction(scaling)
            length, square = length + abs(last), square + last**2
    return rho * length + (1 - rho) * square / 2


def excess_over(rho: Fraction, v: Scaled, last: Fraction) -> Fraction:
    """Return Σ max(0, |v_j| − ρ)², `last` one of them."""
    return sum(
        (max(dyadic(int(size), v.exponent) - rho, Fraction(0)) ** 2 for size in np.abs(v.values)),
        max(abs(last) - rho, Fraction(0)) ** 2,
    )


def scaled_down(alpha: Scaled, largest: Fraction) -> Scaled:
    """Return dual variables whose combination is at most one, where its largest entry is known."""
    if largest <= 1:
        return alpha
    factor = int(Fraction(1 << _SCALE_BITS) / largest)
    return Scaled(alpha.values * factor, alpha.exponent - _SCALE_BITS)


@dataclass(frozen=True, eq=False)
class ExactSparse(ExactBinary):
    """min ρ‖w‖₁ + ½(1 − ρ)‖w‖² + Σ c_i ℓ(y_i (w·x_i + b)), every number the rational that it is.

    Attributes
    ----------
    l1_ratio : float
        ρ, above 0 and at most 1.
    """

    l1_ratio: float = 1.0

    def _penalty(self, w: NDArray[Any], b: float) -> Fraction:
        return elastic_net(Fraction(self.l1_ratio), w, [b], self.scaling)

    def _value(self, alpha: Scaled) -> Bounds:
        """Return D(α) for α in the range; for ρ = 1 scaled down to |v_j| ≤ 1."""
        coefficients = Scaled(alpha.values * self.y, alpha.exponent)
        v = self.rows.combine(coefficients)
        sizes: Integers = np.abs(v.values)
        last = abs(Fraction(self.scaling) * coefficients.total()) if self.scaling else Fraction(0)
        rho = Fraction(self.l1_ratio)
        if rho == 1:
            largest = dyadic(int(sizes.max()), v.exponent) if sizes.size else Fraction(0)
            return self.loss.dual_total(scaled_down(alpha, max(largest, last)), self.cost)
        over = excess_over(rho, v, last)
        return self.loss.dual_total(alpha, self.cost) - Bounds.exactly(over / (2 * (1 - rho)))

    def _norm_above(self, primal: Fraction) -> Fraction:
        """Return a bound on the Euclidean norm of the optimal weights: P bounds ρ‖w‖₁."""
        return primal / Fraction(self.l1_ratio)
