"""The losses of regression: free within a tube around the targets, linear or squared outside."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.data.quick_init import quick_init
from widemargin.instruction_sets import core
from widemargin.problems.losses import DualSums, Line, Loss, LossSums

Vector = NDArray[np.float64]

SQUARED = {"epsilon_insensitive": False, "squared_epsilon_insensitive": True}
"""The names, and whether the loss is squared."""


@quick_init
@dataclass(frozen=True)
class TubeLoss(Loss):
    """ℓ_i(s) = max(0, |t_i − s| − ε), or its square, of a score s; it knows the targets.

    The dual variables β_i have either sign, with the dual term t β − ε|β| (− β²/(4c) if squared),
    and |β| ≤ c if it is not squared. Signs ``y`` are all one; no method looks at them here.
    """

    target: Vector = field(repr=False)
    epsilon: float
    tube: core.Tube = field(repr=False)

    compiled = True
    of_margins = False

    @classmethod
    def named(cls, name: str, target: Vector, epsilon: float) -> TubeLoss:
        """Return the loss of that name around these targets."""
        squared = SQUARED[name]
        return cls(
            name,
            bounded=not squared,
            smooth=squared,
            sparse=True,
            dual_quadratic=0.5 if squared else 0.0,
            curvature_level=2.0 if squared else None,
            slope_at_zero=1.0,
            stiffness=2.0 if squared else 1.0,
            visit_cost=30,
            target=target,
            epsilon=epsilon,
            tube=core.Tube(target, epsilon, squared),
        )

    def take(self, subset: NDArray[np.int64]) -> TubeLoss:
        """Return the loss of some of the examples."""
        return TubeLoss.named(self.name, self.target[subset], self.epsilon)

    @property
    def unit(self) -> float:
        """The size of a residual where all scores are zero: the mean distance from the tube."""
        return float(np.abs(self.target).mean()) or 1.0

    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ_i(scores_i + b)."""
        return self.tube.total(cost, scores, b)

    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ t_i β_i − ε|β_i|, and what the square adds."""
        return self.tube.dual_total(cost, alpha)

    def sums(
        self, y: Vector, cost: Vector, scores: Vector, b: float, reach: float = 0.0
    ) -> LossSums:
        """Return the total loss, and how fast it can grow within `reach` of the scores."""
        return LossSums(*self.tube.sums(cost, scores, b, reach))

    def dual_sums(self, y: Vector, cost: Vector, alpha: Vector) -> DualSums:
        """Return the dual terms' sum and what bounds its rounding; `linear` is Σ|β_i|."""
        return DualSums(*self.tube.dual_sums(cost, alpha))

    def intercept_reach(self, up: float, down: float) -> float:
        """Bound optimal intercepts where all scores are zero: none lies beyond the targets."""
        return float(self.tube.unit)

    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the dual variables and the curvatures that belong to the scores."""
        beta, curvature = np.empty_like(scores), np.empty_like(scores)
        self.tube.terms(cost, scores, b, beta, curvature)
        return beta, curvature

    def duals(self, y: Vector, cost: Vector, scores: Vector, b: float) -> Vector:
        """Return the dual variables that belong to the scores."""
        return self.terms(y, cost, scores, b)[0]

    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b that minimises the total for these scores, searching from b."""
        return self.tube.best_intercept(cost, scores, b)

    def derivatives_along(self, line: Line, t: float) -> tuple[float, float]:
        """Return both derivatives of the total along a line."""
        return self.tube.derivatives_along(*line[1:], t)

    def linearised_move(self, line: Line, step: float) -> None:
        """Move the scores, and turn the slopes into dual variables."""
        self.tube.linearised_move(*line[1:], step)

    def clip(self, alpha: Vector, cost: Vector) -> Vector:
        """Return the nearest point of the dual variables' ranges, as a new array."""
        clipped = np.empty_like(cost)
        self.tube.clip(cost, alpha, clipped)
        return clipped

    def edges(self, beta: Vector, rows: NDArray[np.int64]) -> Vector:
        """Return the edges of the tube that rows with β ≠ 0 lie on where D is largest."""
        return self.target[rows] - np.copysign(self.epsilon, beta[rows])

    def middle(self, cost: Vector) -> Vector:
        """Return the middle of the dual variables' ranges."""
        return np.zeros_like(cost)

    def best_scale(self, alpha: Vector, cost: Vector, sums: DualSums, squared: float) -> float:
        """Return argmax over t of Σ φ(tβ) − ½ t² squared."""
        bend = 0.0 if self.bounded else self.tube.bend(cost, alpha)
        linear, quadratic = sums.value + 0.5 * bend, squared + bend
        if not (linear > 0.0 and quadratic > 0.0):
            return 1.0
        scale = linear / quadratic
        if 0.5 * (scale - 1.0) ** 2 * quadratic <= 1e-13 * linear:
            return 1.0
        if self.bounded and scale > 1.0:
            scale = min(scale, 1.0 / self.largest_share(alpha, cost))
        return scale
