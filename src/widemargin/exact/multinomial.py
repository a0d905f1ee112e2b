"""Multinomial logistic regression in ball arithmetic.

Its dual variables A lie on a simplex for each example, Σ_j A_ij = c_i. Those of the rivals are β of
the joint problems with Crammer and Singer's range; that of the own class is what they leave of c_i.
Both stand for the same weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.balls import Balls
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import Scaled, dyadic
from widemargin.exact.joint import ExactJoint
from widemargin.exact.sparse_weights import elastic_net, excess_over, scaled_down


class ExactMultinomial(ExactJoint):
    """min ½‖W‖² + Σ c_i log Σ_j exp(s_ij − s_iy)."""

    def _losses(self, excess: Scaled) -> Bounds:
        with Balls() as balls:
            total = balls.number(0, 0)
            for row, c in zip(excess.values, self.cost.values, strict=True):
                # The own class is among them, with 0: the largest is never below that.
                largest = max(map(int, row))
                parts = (balls.number(int(v) - largest, excess.exponent).exp() for v in row)
                loss = sum(parts, balls.number(0, 0)).log()
                loss += balls.number(largest, excess.exponent)
                total += loss * balls.number(int(c), self.cost.exponent)
            return balls.bounds(total)

    def _gain(self, beta: Scaled) -> Bounds:
        """Return Σ A_ij log(c_i / A_ij)."""
        cost = self.cost.at(beta.exponent)
        with Balls() as balls:
            total = balls.number(0, 0)
            for row, c in zip(beta.values, cost, strict=True):
                for part in (*map(int, row), int(c) - int(row.sum())):
                    total += balls.entropy(part, int(c), beta.exponent)
            return balls.bounds(total)

    def _largest_spread(self, reach: Fraction) -> Fraction:
        """Return R + log(largest mass / smallest mass).

        At the optimum the probabilities of a class sum to its mass, by cost; those of a class j are
        at least e^(b_j − b_l − R) times those of a class l.
        """
        masses = [int(self.cost.values[self.label == j].sum()) for j in range(self.classes)]
        with Balls() as balls:
            ratio = balls.number(max(masses), 0) / balls.number(min(masses), 0)
            return reach + balls.bounds(ratio.log()).upper

    def _gain_slopes(self, beta: Scaled) -> NDArray[Any]:
        floats = beta.floats().reshape(beta.values.shape)
        own = self.cost.floats() - floats.sum(axis=1)
        with np.errstate(all="ignore"):
            return np.nan_to_num(np.log(own[:, None] / floats))


@dataclass(frozen=True, eq=False)
class ExactSparseMultinomial(ExactMultinomial):
    """min ρ‖W‖₁ + ½(1 − ρ)‖W‖² + Σ c_i log Σ_j exp(s_ij − s_iy).

    Attributes
    ----------
    l1_ratio : float
        ρ, above 0 and at most 1.
    """

    l1_ratio: float = 1.0

    def _penalty(self, w: NDArray[Any], b: NDArray[Any]) -> Fraction:
        return elastic_net(Fraction(self.l1_ratio), w, b, self.scaling)

    def _spread_above(self, primal: Fraction) -> Fraction:
        """‖w_j − w_l‖ ≤ ‖W‖₁ ≤ P/ρ, and its square is at most 2‖W‖² ≤ 4P/(1 − ρ)."""
        rho = Fraction(self.l1_ratio)
        bound = (primal / rho) ** 2
        return bound if rho == 1 else min(bound, 4 * primal / (1 - rho))

    def _value(self, beta: Scaled, middle: Scaled | None = None) -> Bounds:
        """Return D(β); for ρ = 1 scaled down to |V_jl| ≤ 1."""
        rho, parts = Fraction(self.l1_ratio), list(self._weights(beta, middle))
        if rho == 1:
            largest = Fraction(0)
            for v, last in parts:
                top = int(np.abs(v.values).max()) if v.values.size else 0
                largest = max(largest, dyadic(top, v.exponent), abs(last))
            return self._gain(scaled_down(beta, largest))
        over = sum((excess_over(rho, v, last) for v, last in parts), Fraction(0))
        return self._gain(beta) - Bounds.exactly(over / (2 * (1 - rho)))
