"""The three binary losses, by name; their formulas are in core/losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """A loss of the margin m = y (w·x + b), with the dual term φ that goes with it.

    Attributes
    ----------
    name : str
    bounded : bool
        Whether the dual variables are at most c.
    smooth : bool
        Whether the loss has a (generalised) second derivative, as Newton's method needs.
    """

    name: str
    bounded: bool
    smooth: bool

    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ(y_i (scores_i + b))."""
        return core.loss_sum(self.name, y, cost, scores, b)

    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ φ_i(α_i)."""
        return core.dual_sum(self.name, alpha, cost)

    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the dual variables and the curvatures that belong to the scores."""
        alpha, curvature = np.empty_like(scores), np.empty_like(scores)
        core.loss_terms(self.name, y, cost, scores, b, alpha, curvature)
        return alpha, curvature

    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b that minimises the total for these scores, searching from b."""
        return core.best_intercept(self.name, y, cost, scores, b)

    def upper(self, cost: Vector) -> Vector | None:
        """Return the upper bounds of the dual variables, or None if there are none.

        Without cost a dual variable is zero, whatever the loss.
        """
        if self.bounded:
            return cost
        return None if (cost > 0.0).all() else np.where(cost > 0.0, np.inf, 0.0)

    def clip(self, alpha: Vector, cost: Vector) -> Vector:
        """Return the point of the dual variables' ranges that is nearest to α, as a new array."""
        clipped = np.maximum(alpha, 0.0)
        upper = self.upper(cost)
        return clipped if upper is None else np.minimum(clipped, upper, out=clipped)


HINGE = Loss("hinge", bounded=True, smooth=False)
SQUARED_HINGE = Loss("squared_hinge", bounded=False, smooth=True)
LOGISTIC = Loss("logistic", bounded=True, smooth=True)

LOSSES = {loss.name: loss for loss in (HINGE, SQUARED_HINGE, LOGISTIC)}
