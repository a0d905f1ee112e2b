"""What problems of labelled, weighted margins share: the dual's feasible set, and their bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.problems.losses import DualSums, Loss, LossSums
from widemargin.problems.rounding import (
    UNDERFLOW,
    Magnitudes,
    ScoreError,
    growth,
    of_examples,
)

Vector = NDArray[np.float64]


class Bound(NamedTuple):
    """A computed value, and how far the true one can be beyond it."""

    value: float
    allowance: float

    @property
    def upper(self) -> float:
        """The value and what it allows for, rounded upwards."""
        return float(np.nextafter(self.value + self.allowance, np.inf))


class OfMargins:
    """A loss of margins y_i (s_i + b), with dual variables α in their ranges."""

    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool

    def feasible(self, alpha: Vector) -> Vector:
        """Return the dual-feasible point nearest to α; what is left of Σ α_i y_i is priced."""
        if not self.free_intercept:
            return self.loss.clip(alpha, self.cost)
        return self.loss.balance(alpha, self.y, self.cost)

    @cached_property
    def class_costs(self) -> tuple[float, float]:
        """The costs of the positive and of the negative examples."""
        total, signed = float(self.cost.sum()), float(self.cost @ self.y)
        if abs(signed) > 0.5 * total:
            # Not as a difference, which would lose the digits of the lighter class.
            return float(self.cost[self.y > 0.0].sum()), float(self.cost[self.y < 0.0].sum())
        return 0.5 * (total + signed), 0.5 * (total - signed)

    @property
    def _sum_error(self) -> float:
        """The relative error of a sum over the examples."""
        count = self.y.size
        return of_examples(count) if self.loss.compiled else growth(count + 64.0)

    def loss_bound(
        self, sums: LossSums, size: Magnitudes, error: ScoreError, scores_norm: float = 0.0
    ) -> Bound:
        """Return Σ c_i ℓ_i with what the rounding of scores and sums can add to it."""
        allowance = error.allowance(size, sums.slopes, sums.squares, scores_norm)
        return Bound(sums.total, allowance + self._sum_error * abs(sums.total))

    def dual_term_bound(self, sums: DualSums) -> Bound:
        """Return Σ φ_i(α_i) with what rounding can have added to it."""
        return Bound(sums.value, self._sum_error * sums.size + self.y.size * UNDERFLOW)

    def residual_of(self, sums: DualSums) -> float:
        """Return a bound on |Σ α_i y_i|, which a free intercept wants to be zero."""
        if not self.free_intercept:
            return 0.0
        error = 4.0 * growth(self.y.size + 8.0) ** 2 * sums.linear
        return abs(sums.residual) * (1.0 + 1e-6) + error

    def farthest_intercept(self, score: float) -> float:
        """Bound some optimal intercept, where `score` is above every optimal score."""
        up, down = self.class_costs
        if not (up > 0.0 and down > 0.0):
            return np.inf
        return (1.0 + 1e-6) * (self.loss.intercept_reach(up, down) + score) + 1e-6

    def price_of(self, residual: float, norm: float, longest: float) -> float:
        """Return what a residual can be worth: D(α) minus it is a lower bound still.

        `norm` is above the norm of the optimal weights, `longest` above that of every row.
        """
        if residual == 0.0:
            return 0.0
        return residual * self.farthest_intercept(norm * longest)

    def best_intercept(self, scores: Vector, b: float) -> list[float]:
        """Return the intercepts worth judging: the given one and the best for the scores."""
        # Without a free intercept there is none, whatever a point brings along.
        if not self.free_intercept:
            return [0.0]
        b = float(b) if math.isfinite(b) else 0.0
        best = self.loss.best_intercept(self.y, self.cost, scores, b)
        return [b] if best == b or not math.isfinite(best) else [best, b]
