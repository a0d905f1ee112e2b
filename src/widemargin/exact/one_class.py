"""One class in exact arithmetic: P of any weights and ρ, and a proved bound from any α."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.binary import DualBound, moved_by
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import ExactRows, Scaled, dyadic


@dataclass(frozen=True, eq=False)
class ExactOneClass:
    """min ½‖w‖² + Σ c_i max(0, ρ − w·x_i) − ν Σ c_i ρ, every number the rational that it is.

    Attributes
    ----------
    rows : ExactRows
    cost : Scaled
    nu : float
    """

    rows: ExactRows
    cost: Scaled
    nu: float

    @property
    def mass(self) -> Fraction:
        """ν Σ c_i."""
        return Fraction(self.nu) * self.cost.total()

    def primal(self, w: NDArray[Any], rho: float) -> Bounds:
        """Return P."""
        weights = Scaled.of(w)
        scores = self.rows.scores(weights)
        below = Scaled(-scores.values, scores.exponent).plus(Scaled.of([rho]))
        slack = Scaled(np.maximum(below.values, 0), below.exponent)
        losses = slack.times(self.cost).total()
        return Bounds.exactly(weights.squared_length() / 2 + losses - self.mass * Fraction(rho))

    def dual(self, alpha: NDArray[Any]) -> DualBound:
        """Return the dual value that these dual variables prove.

        They are clipped to their ranges; Σ α_i = ν Σ c_i is then made true by moving those first
        that lower ‖Σ α_i x_i‖ most, or raise it least.
        """
        given, mass = Scaled.of(alpha), Scaled.of_fraction(self.mass)
        exponent = min(given.exponent, self.cost.exponent, mass.exponent)
        values, cost = given.at(exponent), self.cost.at(exponent)
        within = np.minimum(np.maximum(values, 0), cost)
        in_range = bool((within == values).all())
        total = int(within.sum()) - int(mass.at(exponent)[0])
        if total:
            sign = -1 if total > 0 else 1
            room = within if sign < 0 else cost - within
            v = self.rows.matrix.T @ Scaled(within, exponent).floats()
            order = np.argsort(sign * np.nan_to_num(self.rows.matrix @ v), kind="stable")
            moved = moved_by(within, order, sign, room, abs(total))
            assert moved is not None  # ν is at most one
            within = moved
        square = self.rows.combine(Scaled(within, exponent)).squared_length()
        return DualBound(Bounds.exactly(-square / 2), abs(dyadic(total, exponent)), in_range)
