"""Binary problems: min ½‖w‖² + Σ c_i ℓ(y_i (w·x_i + b)), their dual, their certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows, largest_curvature
from widemargin.kernels import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import Loss

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinaryProblem:
    """A loss over labelled, weighted rows.

    Attributes
    ----------
    rows : Rows
        With a constant feature if the intercept is penalised.
    y : ndarray of shape (n,)
        Labels, −1 or +1.
    cost : ndarray of shape (n,)
        c_i = C · sample weight · class weight.
    loss : Loss
    free_intercept : bool
        Whether an unpenalised b is part of the problem; the dual then has Σ α_i y_i = 0.
    """

    kind: ClassVar[str] = "binary problems"

    rows: Rows
    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool

    def watched(self, checkpoint: Callable[[], None]) -> BinaryProblem:
        """Return the same problem, calling `checkpoint` between compiled calls."""
        return replace(self, rows=replace(self.rows, checkpoint=checkpoint))

    def cold_point(self) -> Point:
        """Return w = 0, b = 0, α = 0."""
        return Point(np.zeros(self.rows.weights), 0.0, np.zeros(self.rows.count))

    def rescaled(self, factor: float) -> BinaryProblem:
        """Return the problem with all costs multiplied: another C."""
        return replace(self, cost=factor * self.cost)

    def subproblem(self, subset: NDArray[np.int64]) -> BinaryProblem:
        """Return the problem on some examples, their costs raised to stand for all of them."""
        cost = self.cost[subset]
        cost *= self.cost.sum() / cost.sum()
        return replace(self, rows=self.rows.take(subset), y=self.y[subset], cost=cost)

    def primal(self, w: Vector, b: float, scores: Vector) -> float:
        """Return P for weights whose scores are known."""
        return 0.5 * float(w @ w) + self.loss.total(self.y, self.cost, scores, b)

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and intercept, from one pass over the data."""
        return self.primal(w, b, self.rows.scores(w))

    def dual(self, alpha: Vector, combination: Vector) -> float:
        """Return D for feasible α whose combination Σ α_i y_i x_i is known."""
        return self.loss.dual_total(alpha, self.cost) - 0.5 * float(combination @ combination)

    def point_at(self, w: Vector, b: float) -> Point:
        """Return the point with these weights and the dual variables that belong to them."""
        scores = self.rows.scores(w)
        b = b if self.free_intercept else 0.0
        if self.loss.smooth:
            return Point(w, b, self.loss.terms(self.y, self.cost, scores, b)[0])
        return Point(w, b, np.where(self.y * (scores + b) < 1.0, self.cost, 0.0))

    @property
    def diagonal(self) -> Vector:
        """The squared norms of the rows: the diagonal of X Xᵀ."""
        return self.rows.norms

    def image(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the weights Xᵀ(yα) of dual variables, and their scores."""
        w = self.rows.combine(alpha, self.y)
        return w, self.rows.scores(w)

    def largest_curvature(self, seed: int) -> float:
        """Return σ₁(X)², raised by one percent."""
        return largest_curvature(self.rows, seed)

    def feasible(self, alpha: Vector) -> Vector:
        """Return the dual-feasible point nearest to α."""
        if not self.free_intercept:
            return self.loss.clip(alpha, self.cost)
        feasible = alpha.copy()
        core.project_box_equality(feasible, self.y, self.loss.upper(self.cost))
        return feasible

    def certify(self, point: Point) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        α is projected onto the dual's feasible set and scaled by the factor that raises D most;
        b becomes the best intercept for w. One pass over the data.
        """
        # 1) a feasible dual point, and everything the data have to say about (w, α)
        alpha = self.feasible(point.alpha)
        scores, combination = self.rows.scores_and_combination(point.w, alpha, self.y)
        # 2) primal value, at the best intercept
        # Without a free intercept there is none, whatever the point brings along.
        b = point.b if self.free_intercept else 0.0
        if self.free_intercept:
            best = self.loss.best_intercept(self.y, self.cost, scores, b)
            if self.loss.total(self.y, self.cost, scores, best) < self.loss.total(
                self.y, self.cost, scores, b
            ):
                b = best
        primal = self.primal(point.w, b, scores)
        del scores
        # 3) dual value, at the best multiple of α
        dual = self.dual(alpha, combination)
        scale = self._best_scale(alpha, combination)
        if scale != 1.0:
            alpha *= scale
            value = self.dual(alpha, scale * combination)
            if value > dual:
                alpha, dual = self.loss.clip(alpha, self.cost), value
            else:
                alpha = self.feasible(point.alpha)
        if dual > primal + 1e-9 * (abs(primal) + abs(dual)):
            raise RuntimeError(
                f"inconsistent certificate: dual {dual!r} above primal {primal!r}; please report it"
            )
        return Point(point.w, b, alpha), Certificate(primal, dual)

    def _best_scale(self, alpha: Vector, combination: Vector) -> float:
        """Return argmax over t of D(tα): closed form for both hinges, one for the logistic loss."""
        linear = float(alpha.sum())
        quadratic = float(combination @ combination)
        if self.loss.name == "logistic" or linear <= 0.0:
            return 1.0
        if self.loss.name == "squared_hinge":
            # dual_total is Σ α − Σ α²/(4c)
            quadratic += 2.0 * (linear - self.loss.dual_total(alpha, self.cost))
        if quadratic <= 0.0:
            return 1.0
        scale = linear / quadratic
        if self.loss.bounded and scale > 1.0:
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = min(scale, 1.0 / float(np.nanmax(alpha / self.cost)))
        return scale
