"""Binary problems in a kernel's feature space, where weights are combinations of the examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram
from widemargin.kernels import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import Loss

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """min ½‖w‖² + Σ c_i ℓ(y_i (w·φ(x_i) + b)) with φ the feature map of a kernel.

    A point's ``w`` holds coefficients u over the examples: the weights are Σ u_j φ(x_j), their
    scores K u and their squared norm uᵀK u.
    """

    gram: Gram
    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool
    kind: ClassVar[str] = "kernel problems"

    def watched(self, checkpoint: Callable[[], None]) -> KernelProblem:
        """Return the same problem, calling `checkpoint` between compiled calls."""
        return replace(self, gram=self.gram.watched(checkpoint))

    def cold_point(self) -> Point:
        """Return the zero point."""
        n = self.gram.count
        return Point(np.zeros(n), 0.0, np.zeros(n))

    @property
    def diagonal(self) -> Vector:
        """The diagonal of K."""
        return self.gram.diagonal

    def image(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the coefficients yα of dual variables, and their scores."""
        coefficients = self.y * alpha
        return coefficients, self.gram.multiply(coefficients)

    def largest_curvature(self, seed: int) -> float:
        """Return the largest eigenvalue of K, raised by one percent."""
        return self.gram.largest_curvature(seed)

    def feasible(self, alpha: Vector) -> Vector:
        """Return the dual-feasible point nearest to α."""
        if not self.free_intercept:
            return self.loss.clip(alpha, self.cost)
        feasible = np.array(alpha, dtype=np.float64)
        core.project_box_equality(feasible, self.y, self.loss.upper(self.cost))
        return feasible

    def certify(self, point: Point) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data."""
        alpha = self.feasible(np.asarray(point.alpha, dtype=np.float64))
        coefficients, scores = self.image(alpha)
        dual = self.loss.dual_total(alpha, self.cost) - 0.5 * float(coefficients @ scores)
        w = np.asarray(point.w, dtype=np.float64)
        if not np.array_equal(w, coefficients):
            scores = self.gram.multiply(w)
        norm = max(float(w @ scores), 0.0)
        b = float(point.b) if self.free_intercept else 0.0
        if self.free_intercept:
            best = self.loss.best_intercept(self.y, self.cost, scores, b)
            if self.loss.total(self.y, self.cost, scores, best) < self.loss.total(
                self.y, self.cost, scores, b
            ):
                b = best
        primal = 0.5 * norm + self.loss.total(self.y, self.cost, scores, b)
        if dual > primal + 1e-7 * (abs(primal) + abs(dual)):
            raise ValueError(
                f"dual {dual!r} above primal {primal!r}: the kernel is not positive semidefinite"
            )
        return Point(w, b, alpha), Certificate(primal, min(dual, primal))
