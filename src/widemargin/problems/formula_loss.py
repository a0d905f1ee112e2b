"""Losses written as numpy formulas: no compiler, and none of the compiled loops."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from scipy.optimize import brentq

from widemargin.problems.losses import DualSums, Line, Loss, LossSums, Vector

_FARTHEST = 2.0**60
"""An intercept beyond this is one that nothing holds: every example is of one class."""


class FormulaLoss(Loss):
    """A loss whose formulas take vectors of margins and costs.

    Smooth if it has `curvature_at`. Newton's method and the bundle methods support it; where φ is a
    parabola, so do ``dual_of_dual`` and the kernels.

    Parameters
    ----------
    name : str
    bounded, sparse, dual_quadratic, curvature_level
        As in `Loss`.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.problems.formula_loss import FormulaLoss
    >>> class HalfSquaredHinge(FormulaLoss):
    ...     def value(self, m):
    ...         return 0.5 * np.maximum(1.0 - m, 0.0) ** 2
    ...
    ...     def dual_term(self, alpha, cost):
    ...         return alpha - 0.5 * alpha**2 / cost
    ...
    ...     def alpha_at(self, m, cost):
    ...         return cost * np.maximum(1.0 - m, 0.0)
    >>> loss = HalfSquaredHinge("half_squared_hinge", bounded=False, dual_quadratic=1.0)
    >>> loss.total(np.array([1.0, -1.0]), np.ones(2), np.array([0.5, 0.5]), 0.0)
    1.25
    """

    compiled = False

    def __init__(
        self,
        name: str,
        *,
        bounded: bool,
        sparse: bool = False,
        dual_quadratic: float | None = None,
        curvature_level: float | None = None,
    ) -> None:
        super().__init__(
            name,
            bounded=bounded,
            smooth=type(self).curvature_at is not FormulaLoss.curvature_at,
            sparse=sparse,
            dual_quadratic=dual_quadratic,
            curvature_level=curvature_level,
            slope_at_zero=float(self.alpha_at(np.zeros(1), np.ones(1))[0]),
            stiffness=curvature_level or 1.0,
            visit_cost=0,
        )

    @abstractmethod
    def value(self, m: Vector) -> Vector:
        """Return ℓ(m)."""

    @abstractmethod
    def dual_term(self, alpha: Vector, cost: Vector) -> Vector:
        """Return φ(α), for costs above zero."""

    @abstractmethod
    def alpha_at(self, m: Vector, cost: Vector) -> Vector:
        """Return −c ℓ′(m); of a corner, any subgradient."""

    def curvature_at(self, m: Vector, cost: Vector) -> Vector:
        """Return c ℓ″(m), if there is one."""
        return np.zeros_like(m)

    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ(y_i (scores_i + b))."""
        return float(cost @ self.value(y * (scores + b)))

    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ φ_i(α_i); an example without cost has none."""
        used = cost > 0.0
        return float(self.dual_term(alpha[used], cost[used]).sum())

    def sums(
        self, y: Vector, cost: Vector, scores: Vector, b: float, reach: float = 0.0
    ) -> LossSums:
        """Return the total loss, and how fast it can grow within `reach` of the margins."""
        margins = y * (scores + b)
        steep = np.maximum(
            np.abs(self.alpha_at(margins - reach, cost)),
            np.abs(self.alpha_at(margins + reach, cost)),
        )
        total = float(cost @ self.value(margins))
        return LossSums(total, float(steep.sum()), float(steep @ steep))

    def dual_sums(self, y: Vector, cost: Vector, alpha: Vector) -> DualSums:
        """Return Σ φ_i(α_i) and the sums that bound its rounding."""
        value, linear = self.dual_total(alpha, cost), float(alpha.sum())
        squares, residual = float(alpha @ alpha), math.fsum(y * alpha)
        return DualSums(value, 2.0 * linear + abs(linear - value), linear, squares, residual)

    def intercept_reach(self, up: float, down: float) -> float:
        """Bound optimal intercepts: beyond them one class pulls harder, whatever its scores."""
        ratio = np.array([max(up, down), min(up, down)])
        reach = 1.0
        while reach < _FARTHEST:
            pulls = np.abs(self.alpha_at(np.array([reach, -reach]), ratio))
            if pulls[0] <= pulls[1]:
                return reach
            reach *= 2.0
        return np.inf

    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the dual variables and the curvatures that belong to the scores."""
        margins = y * (scores + b)
        return self.alpha_at(margins, cost), self.curvature_at(margins, cost)

    def duals(self, y: Vector, cost: Vector, scores: Vector, b: float) -> Vector:
        """Return the dual variables that belong to the scores."""
        return self.alpha_at(y * (scores + b), cost)

    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b at which the slope of the total changes its sign."""

        def slope(at: float) -> float:
            return -float(self.duals(y, cost, scores, at) @ y)

        here = slope(b)
        if here == 0.0:
            return b
        reach, other = 1.0, b
        while slope(other) * here > 0.0:
            if reach > _FARTHEST:
                return b
            other, reach = b - np.sign(here) * reach, 2.0 * reach
        return float(brentq(slope, min(b, other), max(b, other)))

    def derivatives_along(self, line: Line, t: float) -> tuple[float, float]:
        """Return both derivatives of the total along a line."""
        change = line.slopes + line.slope_b
        alpha, curvature = self.terms(line.y, line.cost, line.scores + t * change, line.b)
        return -float((alpha * line.y) @ change), float(curvature @ change**2)

    def linearised_move(self, line: Line, step: float) -> None:
        """Move the scores, and turn the slopes into dual variables."""
        alpha, curvature = self.terms(line.y, line.cost, line.scores, line.b)
        change = curvature * line.y * (line.slopes + line.slope_b)
        np.add(line.scores, step * line.slopes, out=line.scores)
        line.slopes[:] = alpha - change
