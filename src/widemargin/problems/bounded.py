"""Weights between bounds: min ½‖w‖² + Σ c_i ℓ_i(w·x_i + b) over l ≤ w ≤ u, its certificate.

With v = Σ α_i y_i x_i the penalty's part of the dual is −Σ_j h(v_j), h(v) = v k − ½k² where k is v
clipped to [l_j, u_j]: that k is the best weight for v. Without bounds it is ½v².
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import DualSums
from widemargin.problems.margins import Bound
from widemargin.problems.regression import RegressionProblem
from widemargin.problems.rounding import (
    ACCURACY,
    UNDERFLOW,
    combination_error,
    growth,
    upper_norm,
)

Vector = NDArray[np.float64]


class Bounded:
    """What bounds change in a problem of losses of scores.

    Attributes
    ----------
    lower, upper : ndarray of shape (d,)
        May be infinite; a constant feature has no bounds.
    """

    kind: ClassVar[str] = "problems with bounds on the coefficients"
    alone: ClassVar[bool] = True
    """Methods for the same problems without bounds do not apply."""

    lower: Vector
    upper: Vector

    def inside(self, w: Vector) -> Vector:
        """Return the nearest weights within the bounds."""
        return np.minimum(np.maximum(w, self.lower), self.upper)

    def conjugate(self, v: Vector) -> float:
        """Return Σ h(v_j)."""
        k = self.inside(v)
        return float(k @ (v - 0.5 * k))

    def mismatch_of(self, w: Vector, v: Vector) -> float:
        """Return ½‖w‖² + Σ h(v_j) − w·v ≥ 0: zero where w is the best for v."""
        beyond = v - self.inside(v)
        return 0.5 * float((w - v) @ (w - v)) - 0.5 * float(beyond @ beyond)

    def cold_point(self: Any) -> Point:
        """Return the weights nearest to zero, b = 0, α = 0."""
        count, weights = self.rows.count, self.rows.weights
        return Point(self.inside(np.zeros(weights)), 0.0, np.zeros(count))

    def dual(self: Any, alpha: Vector, combination: Vector) -> float:
        """Return D for feasible α whose combination Σ α_i y_i x_i is known."""
        return float(self.loss.dual_total(alpha, self.cost)) - self.conjugate(combination)

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and intercept, from above; infinite outside of the bounds."""
        if not np.array_equal(w, self.inside(w)):
            return np.inf
        return float(super().primal_at(w, b))  # type: ignore[misc]

    def primal_below(self, w: Vector, b: float, enough: float) -> Bound:
        """Bound P there, from ordinary sums where they tell whether it is at most `enough`."""
        if not np.array_equal(w, self.inside(w)):
            return Bound(np.inf, 0.0)
        bound: Bound = super().primal_below(w, b, enough)  # type: ignore[misc]
        return bound

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data."""
        point = Point(self.inside(np.nan_to_num(point.w)), point.b, point.alpha)
        found: tuple[Point, Certificate] = super().certify(point, accuracy)  # type: ignore[misc]
        return found

    def _scaled(self: Any, alpha: Vector, v: Vector) -> tuple[Vector, Vector, DualSums]:
        """Return α as it is: the best multiple has no closed form here."""
        return alpha, v, self.loss.dual_sums(self.y, self.cost, alpha)

    def _weight_scale(
        self: Any, w: Vector, b: float, scores: Vector, values: tuple[float, float], wanted: float
    ) -> float:
        """Return one: a multiple can leave the bounds."""
        return 1.0

    def _dual_bound(self: Any, sums: DualSums, v: Vector, compensated: bool) -> Bound:
        """Return D, but for the residual of a free intercept; h has the slope k and curvature 1."""
        size, k = self.scale, self.inside(v)
        own, slope = (upper_norm(float(x @ x), x.size) for x in (v, k))
        off = combination_error(size, upper_norm(sums.squares, size.count), compensated, own)
        value, allowance = self.dual_term_bound(sums)
        terms = float(np.abs(k) @ (np.abs(v) + np.abs(k))) + size.width * UNDERFLOW
        lost = (slope + off) * off * (1.0 + 1e-6) + growth(size.width + 8.0) * terms
        return Bound(value - self.conjugate(v), allowance + lost)


@dataclass(frozen=True, eq=False)
class BoundedBinary(Bounded, BinaryProblem):
    """A loss over labelled, weighted rows, with bounds on the weights."""

    kind: ClassVar[str] = Bounded.kind
    alone: ClassVar[bool] = True

    lower: Vector
    upper: Vector


@dataclass(frozen=True, eq=False)
class BoundedRegression(Bounded, RegressionProblem):
    """A tube around targets, with bounds on the weights."""

    kind: ClassVar[str] = Bounded.kind
    alone: ClassVar[bool] = True

    lower: Vector
    upper: Vector

    @cached_property
    def _fitting_constant(self) -> float | None:
        """As without bounds, if zero is between them."""
        if self.inside(np.zeros(self.lower.size)).any():
            return None
        return super()._fitting_constant


def bounded(problem: Any, bounds: tuple[Vector, Vector]) -> Any:
    """Return a problem with bounds (l, u) on its features' weights."""
    kind = BoundedBinary if isinstance(problem, BinaryProblem) else BoundedRegression
    more = problem.rows.weights - bounds[0].size
    lower = np.append(bounds[0], np.full(more, -np.inf))
    upper = np.append(bounds[1], np.full(more, np.inf))
    given = {field.name: getattr(problem, field.name) for field in fields(problem)}
    return kind(**given, lower=lower, upper=upper)
