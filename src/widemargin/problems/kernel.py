"""Binary problems in a kernel's feature space, where weights are combinations of the examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.gram import Gram
from widemargin.data.training_set import TrainingSet
from widemargin.linalg.power_iteration import largest_eigenvalue
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.kernel_products import KernelProducts
from widemargin.problems.losses import Loss
from widemargin.problems.margins import Bound, OfMargins
from widemargin.problems.problem import OnKernel
from widemargin.problems.rounding import ACCURACY, Magnitudes, upper_norm, worth_repeating

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelProblem(OfMargins, OnKernel):
    """min ½‖w‖² + Σ c_i ℓ(y_i (w·φ(x_i) + b)) with φ the feature map of a kernel.

    A point's ``w`` holds coefficients u over the examples: the weights are Σ u_j φ(x_j), their
    scores K u and their squared norm uᵀK u.
    """

    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool
    kind: ClassVar[str] = "kernel problems"

    @classmethod
    def of(cls, data: TrainingSet, gram: Gram, positive: int, loss: Loss) -> KernelProblem:
        """State the problem of one class against the rest."""
        return cls(gram, data.signs(positive), data.cost, loss, data.free_intercept)

    def cold_point(self) -> Point:
        """Return the zero point."""
        n = self.gram.count
        return Point(np.zeros(n), 0.0, np.zeros(n))

    def image(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the coefficients yα of dual variables, and their scores."""
        coefficients = self.y * alpha
        return coefficients, self.gram.multiply(coefficients)

    def largest_curvature(self, seed: int) -> float:
        """Return the largest eigenvalue of K, raised by one percent."""
        return 1.01 * largest_eigenvalue(self.gram.multiply, self.gram.count, seed)

    @cached_property
    def scale(self) -> Magnitudes:
        """Magnitudes of the examples in feature space."""
        sizes, n = self.gram.sizes, self.gram.count
        return Magnitudes(upper_norm(float(sizes @ sizes), n), 2.0 * n, n, n)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the kernel matrix.

        The matrix is taken as it is; where rounding would cost more than `accuracy`, products with
        it are computed again in extended precision, if the machine has it.
        """
        alpha = self.feasible(np.asarray(point.alpha, dtype=np.float64))
        w = np.asarray(point.w, dtype=np.float64)
        if np.array_equal(w, self.y * point.alpha):
            w = self.y * alpha  # weights of dual variables stay so, and share one product
        b, proof = self._judged(w, float(point.b), alpha, KernelProducts(self.gram))
        allowed = accuracy * abs(proof.primal)
        if worth_repeating(proof.rounding, proof.gap - proof.rounding, allowed):
            exact = KernelProducts(self.gram, extended=True)
            b, better = self._judged(w, b, alpha, exact)
            proof = better if better.gap < proof.gap else proof
        return Point(w, b, alpha), proof

    def _judged(
        self, w: Vector, b: float, alpha: Vector, products: KernelProducts
    ) -> tuple[float, Certificate]:
        """Return the best intercept and the certificate, from one kind of products."""
        coefficients = self.y * alpha
        scores = products.times(coefficients)
        dual_quadratic = products.quadratic(coefficients, scores)
        sums = self.loss.dual_sums(self.y, self.cost, alpha)
        if np.array_equal(w, coefficients):
            quadratic = dual_quadratic
        else:
            scores = products.times(w)
            quadratic = products.quadratic(w, scores)
        # 1) the primal value, at the best intercept
        length = (1.0 + 1e-6) * float(np.abs(w) @ self.gram.sizes)
        best, loss = 0.0, Bound(np.inf, 0.0)
        for candidate in self.best_intercept(scores, b):
            about = products.error(self.scale, length, candidate)
            reach = about.reach(self.scale)
            at = self.loss_bound(
                self.loss.sums(self.y, self.cost, scores, candidate, reach), self.scale, about
            )
            if at.value < loss.value:
                best, loss = candidate, at
        half = 0.5 * max(quadratic.value, 0.0)
        upper = half + loss.value + 0.5 * quadratic.allowance + loss.allowance
        # 2) the dual value
        terms = self.dual_term_bound(sums)
        norm, longest = float(np.sqrt(2.0 * upper)), float(self.gram.sizes.max())
        price = (1.0 + 1e-6) * self.price_of(self.residual_of(sums), norm, longest)
        return best, Certificate.of_kernel(
            half + loss.value,
            0.5 * quadratic.allowance + loss.allowance,
            terms.value - 0.5 * dual_quadratic.value,
            terms.allowance + 0.5 * dual_quadratic.allowance + price,
        )
