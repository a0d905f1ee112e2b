"""The losses and their dual terms, in exact arithmetic; docs/theory/losses.md has the formulas.

The two hinges are rational. The logistic loss is enclosed by balls of 192 bits (python-flint).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.balls import Balls
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import Scaled, dyadic

_MORE_BITS = 400
"""Of a quotient, beyond those of its numerator: far more than any range of costs can use up."""


class ExactLoss(Protocol):
    """What a judge needs of a loss of the margin."""

    bounded: bool
    """Whether a dual variable is at most its cost."""
    hinges: bool
    """Whether the loss is 0 from margin 1 on: some best intercept is then at most 1 + max |w·x|."""

    def total(self, margins: Scaled, cost: Scaled) -> Bounds:
        """Return Σ c_i ℓ(m_i)."""

    def dual_total(self, alpha: Scaled, cost: Scaled) -> Bounds:
        """Return Σ φ_i(α_i) for α within their ranges."""

    def dual_slope(self, alpha: NDArray[Any], cost: NDArray[Any]) -> NDArray[Any]:
        """Return φ′(α) in floating point: it guides a choice and proves nothing."""


def slack(margins: Scaled) -> Scaled:
    """Return max(0, 1 − m)."""
    exponent = min(margins.exponent, 0)
    values = (1 << -exponent) - margins.at(exponent)
    return Scaled(np.maximum(values, 0), exponent)


class Hinge:
    """max(0, 1 − m)."""

    bounded = True
    hinges = True

    def total(self, margins: Scaled, cost: Scaled) -> Bounds:
        """Return Σ c_i max(0, 1 − m_i)."""
        return Bounds.exactly(slack(margins).times(cost).total())

    def dual_total(self, alpha: Scaled, cost: Scaled) -> Bounds:
        """Return Σ α_i."""
        return Bounds.exactly(alpha.total())

    def dual_slope(self, alpha: NDArray[Any], cost: NDArray[Any]) -> NDArray[Any]:
        """Return 1."""
        return np.ones_like(alpha)


class SquaredHinge:
    """max(0, 1 − m)²."""

    bounded = False
    hinges = True

    def total(self, margins: Scaled, cost: Scaled) -> Bounds:
        """Return Σ c_i max(0, 1 − m_i)²."""
        slacks = slack(margins)
        return Bounds.exactly(slacks.times(slacks).times(cost).total())

    def dual_total(self, alpha: Scaled, cost: Scaled) -> Bounds:
        """Return Σ α_i − α_i² / (4 c_i); the quotients are rounded up and down."""
        used = alpha.values != 0
        squares = (alpha.values[used] * alpha.values[used]) << _MORE_BITS
        floors = squares // (4 * cost.values[used])
        exponent = 2 * alpha.exponent - cost.exponent - _MORE_BITS
        low = int(floors.sum()) if floors.size else 0
        inexact = int(np.count_nonzero(floors * (4 * cost.values[used]) != squares))
        linear = alpha.total()
        return Bounds(linear - dyadic(low + inexact, exponent), linear - dyadic(low, exponent))

    def dual_slope(self, alpha: NDArray[Any], cost: NDArray[Any]) -> NDArray[Any]:
        """Return 1 − α/(2c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1.0 - np.where(cost > 0.0, alpha / (2.0 * cost), 0.0)


class Logistic:
    """log(1 + exp(−m))."""

    bounded = True
    hinges = False

    def total(self, margins: Scaled, cost: Scaled) -> Bounds:
        """Return bounds of Σ c_i log(1 + exp(−m_i))."""
        with Balls() as balls:
            total = balls.number(0, 0)
            for m, c in zip(margins.values, cost.values, strict=True):
                margin = balls.number(int(m), margins.exponent)
                loss = (-abs(margin)).exp().log1p()
                loss = loss - margin if m < 0 else loss
                total += loss * balls.number(int(c), cost.exponent)
            return balls.bounds(total)

    def dual_total(self, alpha: Scaled, cost: Scaled) -> Bounds:
        """Return bounds of Σ c log c − α log α − (c − α) log(c − α)."""
        exponent = min(alpha.exponent, cost.exponent)
        with Balls() as balls:
            total = balls.number(0, 0)
            for a, c in zip(alpha.at(exponent), cost.at(exponent), strict=True):
                for part in (int(a), int(c) - int(a)):
                    total += balls.entropy(part, int(c), exponent)
            return balls.bounds(total)

    def dual_slope(self, alpha: NDArray[Any], cost: NDArray[Any]) -> NDArray[Any]:
        """Return log((c − α)/α)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.log((cost - alpha) / alpha))


EXACT_LOSSES: dict[str, ExactLoss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
}
"""By the names of `widemargin.problems.losses`."""
