"""Multiclass problems in a kernel's feature space: Crammer-Singer and Weston-Watkins.

    P = ½‖W‖² + Σ c_i max(0, 1 + max_{j≠y}(w_j − w_y)·φ(x_i))      Crammer-Singer
    P = ½‖W‖² + Σ c_i Σ_{j≠y} max(0, 1 − (w_y − w_j)·φ(x_i))       Weston-Watkins

Both duals maximise Σ β_ij − ½‖W(β)‖², with Σ_j β_ij ≤ c_i or each β_ij ≤ c_i, β ≥ 0, β_{i,y} = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.joint_dual import JointDual

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelMulticlassProblem(JointDual):
    """One joint problem over k classes, without intercepts.

    A point's ``w`` is the matrix of coefficients A (n x k): w_j = Σ_i A_ij φ(x_i). Its ``alpha`` is
    β (n x k); A(β) has −β off the own class and the row's sum at it.
    """

    gram: Gram
    labels: NDArray[np.int64]
    cost: Vector
    classes: int
    rule: str
    kind: ClassVar[str] = "multiclass kernel problems"

    def watched(self, checkpoint: Callable[[], None]) -> KernelMulticlassProblem:
        """Return the same problem, calling `checkpoint` between compiled calls."""
        return replace(self, gram=self.gram.watched(checkpoint))

    def cold_point(self) -> Point:
        """Return the zero point."""
        shape = (self.gram.count, self.classes)
        return Point(np.zeros(shape), 0.0, np.zeros(shape))

    @property
    def diagonal(self) -> Vector:
        """The diagonal of K."""
        return self.gram.diagonal

    def point(self, coefficients: Matrix, beta: Matrix) -> Point:
        """Return the point of a matrix A and dual variables."""
        return Point(coefficients, 0.0, beta)

    def scores_of(self, coefficients: Matrix) -> Matrix:
        """Return K A: the scores of all examples in all classes."""
        return self.gram.multiply(coefficients)

    def certify(self, point: Point) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data."""
        beta = self.feasible(np.asarray(point.alpha, dtype=np.float64))
        own = self.coefficients(beta)
        scores = self.scores_of(own)
        quadratic = float(np.vdot(own, scores))
        dual = float(beta.sum()) - 0.5 * quadratic
        w = np.asarray(point.w, dtype=np.float64)
        if not np.array_equal(w, own):
            scores = self.scores_of(w)
            quadratic = float(np.vdot(w, scores))
        primal = 0.5 * max(quadratic, 0.0) + self.loss(scores)
        if dual > primal + 1e-7 * (abs(primal) + abs(dual)):
            raise ValueError(
                f"dual {dual!r} above primal {primal!r}: the kernel is not positive semidefinite"
            )
        return Point(w, 0.0, beta), Certificate(primal, min(dual, primal))
