"""Multinomial logistic regression: all classes at once, its dual and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.margins import Bound
from widemargin.problems.multinomial_bounds import (
    DualParts,
    compensated_dual,
    compensated_losses,
    plain_dual,
    simplex_error,
)
from widemargin.problems.rounding import ACCURACY, half_square_error, worth_repeating
from widemargin.problems.softmax import SoftmaxProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultinomialProblem(SoftmaxProblem):
    """Minimise ½‖W‖² + Σ c_i (log Σ_j exp(s_ij) − s_iy), s_ij = w_j·x_i + b_j, y the class of i.

    The dual is D(A) = −Σ A_ij log(A_ij / c_i) − ½‖W(A)‖².
    """

    kind: ClassVar[str] = "multinomial problems"

    @classmethod
    def of(cls, data: TrainingSet) -> MultinomialProblem:
        """State the problem of all classes at once."""
        label, k = data.codes.astype(np.int32), int(data.classes.size)
        return cls(data.rows, label, data.cost, k, data.free_intercept)

    def primal_at(self, w: Matrix, b: Vector) -> float:
        """Return P at any weights and intercepts, from above, rounding included."""
        b = np.asarray(b, dtype=np.float64) if self.free_intercept else np.zeros(self.classes)
        loss = compensated_losses(self.rows, self.label, self.cost, w, b)
        squared = float(np.vdot(w, w))
        return Bound(
            0.5 * squared + loss.value, loss.allowance + half_square_error(squared, w.size)
        ).upper

    def gradient_at(self, w: Matrix, b: Vector) -> tuple[Matrix, Vector]:
        """Return the gradient of the objective, to W and to b."""
        combination, residual = self.combine(self.padded(self.point_at(w, b).alpha))
        k = self.classes
        slope = -residual[:k] if self.free_intercept else np.zeros(k)
        return w - combination[:, :k].T, slope

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        A is brought onto the simplex of each example and, where intercepts are free, rid of its
        residual; what rounding leaves of that is priced. One pass over the data, and one per class
        in compensated sums where rounding would cost more than `accuracy`.
        """
        k = self.classes
        duals = self.feasible(point.alpha)
        b, loss, combination, residual, entropy = self._passed(point, duals)
        own, squared = float(np.vdot(point.w, point.w)), float(np.vdot(combination, combination))
        # Both values, and what rounding can be worth.
        size = self.scale
        theta, left = simplex_error(duals[:, :k], self.cost), float(np.abs(residual).sum())
        parts = plain_dual(size, self.cost, entropy, squared, theta, left)
        proof = self._proof(own, loss, parts)
        allowed = accuracy * abs(proof.primal)
        if worth_repeating(proof.rounding, proof.gap - proof.rounding, allowed):
            coefficients = self.coefficients(duals[:, :k])
            loss = compensated_losses(self.rows, self.label, self.cost, point.w, b)
            parts = compensated_dual(self.rows, size, coefficients, self.cost, entropy, theta)
            proof = min(proof, self._proof(own, loss, parts), key=lambda known: known.gap)
        return Point(point.w, b, duals[:, :k]), proof

    def _proof(self, squared: float, loss: Bound, dual: DualParts) -> Certificate:
        """Return the certificate of these parts, the residual of free intercepts priced."""
        primal = 0.5 * squared + loss.value
        above = loss.allowance + half_square_error(squared, self.rows.weights * self.classes)
        below = dual.entropy.allowance + dual.quadratic.allowance
        if self.free_intercept:
            # ‖w_j − w_l‖² ≤ 2‖W‖² ≤ 4P, with room for twice the P: rounding the weights to float32
            # may raise it that far.
            below += self._price(dual.residual, 2.0 * float(np.sqrt(2.0 * (primal + above))))
        return Certificate.bounds(primal, above, dual.entropy.value - dual.quadratic.value, below)
