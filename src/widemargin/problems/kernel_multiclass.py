"""Multiclass problems in a kernel's feature space: Crammer-Singer and Weston-Watkins.

    P = ½‖W‖² + Σ c_i max(0, 1 + max_{j≠y}(w_j − w_y)·φ(x_i))      Crammer-Singer
    P = ½‖W‖² + Σ c_i Σ_{j≠y} max(0, 1 − (w_y − w_j)·φ(x_i))       Weston-Watkins

Both duals maximise Σ β_ij − ½‖W(β)‖², with Σ_j β_ij ≤ c_i or each β_ij ≤ c_i, β ≥ 0, β_{i,y} = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram
from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.joint_dual import JointDual
from widemargin.problems.kernel_products import KernelProducts
from widemargin.problems.problem import OnKernel
from widemargin.problems.rounding import ACCURACY, growth, worth_repeating

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelMulticlassProblem(JointDual, OnKernel):
    """One joint problem over k classes, without intercepts.

    A point's ``w`` is the matrix of coefficients A (n x k): w_j = Σ_i A_ij φ(x_i). Its ``alpha`` is
    β (n x k); A(β) has −β off the own class and the row's sum at it.
    """

    labels: NDArray[np.int64]
    cost: Vector
    classes: int
    rule: str
    kind: ClassVar[str] = "multiclass kernel problems"

    @classmethod
    def of(cls, data: TrainingSet, gram: Gram, rule: str) -> KernelMulticlassProblem:
        """State the problem of all classes at once."""
        return cls(gram, data.codes.astype(np.int64), data.cost, int(data.classes.size), rule)

    def cold_point(self) -> Point:
        """Return the zero point."""
        shape = (self.gram.count, self.classes)
        return Point(np.zeros(shape), 0.0, np.zeros(shape))

    def point(self, coefficients: Matrix, beta: Matrix) -> Point:
        """Return the point of a matrix A and dual variables."""
        return Point(coefficients, 0.0, beta)

    def scores_of(self, coefficients: Matrix) -> Matrix:
        """Return K A: the scores of all examples in all classes."""
        return self.gram.multiply(coefficients)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the kernel matrix.

        The matrix is taken as it is; where rounding would cost more than `accuracy`, products with
        it are computed again in extended precision, if the machine has it.
        """
        beta = self.feasible(np.asarray(point.alpha, dtype=np.float64))
        w = np.asarray(point.w, dtype=np.float64)
        proof = self._judged(w, beta, KernelProducts(self.gram))
        allowed = accuracy * abs(proof.primal)
        if worth_repeating(proof.rounding, proof.gap - proof.rounding, allowed):
            better = self._judged(w, beta, KernelProducts(self.gram, extended=True))
            proof = better if better.gap < proof.gap else proof
        return Point(w, 0.0, beta), proof

    def _judged(self, w: Matrix, beta: Matrix, products: KernelProducts) -> Certificate:
        """Return the certificate from one kind of products."""
        own = self.coefficients(beta)
        scores = products.times(own)
        lower = products.quadratic(own, scores)
        upper = lower
        if not np.array_equal(w, own):
            scores = products.times(w)
            upper = products.quadratic(w, scores)
        sizes = self.gram.sizes
        lengths = lengths_of(w, sizes)
        # What a difference of two scores can be off by.
        reach = 2.0 * products.share(2.0 * self.gram.count + 8.0) * float(lengths.max(initial=0.0))
        reach += growth(8.0)
        spread = np.abs(scores).max(axis=1) if scores.size else np.zeros(0)
        errors = ((1.0 + 1e-6) * reach * sizes + reach + growth(8.0) * spread)[:, None]
        plain, most = self.loss(scores), self.loss(scores, errors)
        count = beta.size + 16.0
        above = (most - plain) * (1.0 + 1e-6) + growth(count) * most + 0.5 * upper.allowance
        # A row's sum at its own class is rounded, as are its terms.
        own_rounding = growth(4.0 * self.classes + 8.0) * float(np.sum(lengths_of(own, sizes) ** 2))
        linear = float(beta.sum())
        below = growth(count) * linear + 0.5 * lower.allowance + own_rounding
        half = 0.5 * max(upper.value, 0.0)
        return Certificate.of_kernel(half + plain, above, linear - 0.5 * lower.value, below)


def lengths_of(coefficients: Matrix, sizes: Vector) -> Vector:
    """Return Σ_i |A_ij| √K_ii of each class, from above."""
    return (1.0 + 1e-6) * np.sum(np.abs(coefficients) * sizes[:, None], axis=0)
