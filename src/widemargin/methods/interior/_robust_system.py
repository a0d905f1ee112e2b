"""The linear system of the robust interior point: one matrix in (w, b, λ), two ways to solve it.

`FactorisedSystem` forms the matrix and factorises it. With more weights than that allows for,
`IterativeSystem` multiplies by it and takes conjugate gradients, preconditioned by the constraint's
own block with the diagonal of the examples' part: a few dozen passes per solution.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.cholesky import cholesky
from widemargin.linalg.conjugate_gradients import conjugate_gradients, relative_to_start
from widemargin.methods.interior._norm_cones import NormCone, RoundCone
from widemargin.methods.interior._robust_preconditioner import HeaviestRows
from widemargin.problems.robust import RobustProblem

Vector = NDArray[np.float64]

_COARSEST, _FINEST = 1e-3, 1e-6
"""Accuracies of a solution by conjugate gradients: its residual, measured by the preconditioner."""

_MOST_PRODUCTS = 1000


class RobustSystem(Protocol):
    """What the interior point asks for."""

    solvable: bool

    def solve(self, right: Vector) -> Vector:
        """Return the step in (w, b, λ), with zeros for what is not part of the problem."""


class FactorisedSystem:
    """The matrix scaled to a unit diagonal, factorised, with refined solutions."""

    def __init__(
        self,
        problem: RobustProblem,
        curvature: Vector,
        mixed: Vector,
        corner: float,
        cone: NormCone | None,
    ) -> None:
        rows, free = problem.rows, problem.free_intercept
        d = rows.weights
        self.used = np.ones(d + 2, dtype=bool)
        self.used[d], self.used[d + 1] = free, cone is not None
        place = d + int(free)
        side = place + int(cone is not None)
        matrix = rows.gram(curvature, free)
        np.einsum("ii->i", matrix)[:d] += problem.l2
        if cone is not None:
            bordered = np.zeros((side, side))
            bordered[:place, :place] = matrix
            matrix = bordered
            if problem.flips:
                border = rows.combine(mixed, problem.y)
                matrix[:d, place] = matrix[place, :d] = border
                if free:
                    matrix[d, place] = matrix[place, d] = float(mixed @ problem.y)
                matrix[place, place] = corner
            cone.add_to(matrix, place)
        diagonal = np.einsum("ii->i", matrix)
        # A weight that nothing holds (an empty column without penalty) stays where it is.
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        matrix *= self.scale
        matrix *= self.scale[:, None]
        self.matrix = matrix
        self.factor = cholesky(matrix.copy())
        self.solvable = self.factor is not None

    def solve(self, right: Vector) -> Vector:
        """Solve by the factor, and refine twice."""
        assert self.factor is not None
        scaled = right[self.used] * self.scale
        solution = self.factor.solve(scaled)
        for _ in range(2):
            solution += self.factor.solve(scaled - self.matrix @ solution)
        step = np.zeros(right.size)
        step[self.used] = solution * self.scale
        return step


class IterativeSystem:
    """Products with the matrix, and conjugate gradients, a tenth as exact as the gap is small."""

    solvable = True

    def __init__(
        self,
        problem: RobustProblem,
        curvature: Vector,
        mixed: Vector,
        corner: float,
        cone: NormCone | None,
        gap: float,
        hard: bool = False,
    ) -> None:
        self.problem, self.curvature, self.cone = problem, curvature, cone
        self.accuracy = min(max(0.1 * gap, _FINEST), _COARSEST)
        rows, y = problem.rows, problem.y
        self.corner = corner if cone is not None and problem.flips else 0.0
        self.border = np.zeros(rows.weights)
        self.border_b = 0.0
        if cone is not None and problem.flips:
            self.border = rows.combine(mixed, y)
            self.border_b = float(mixed @ y) if problem.free_intercept else 0.0
        self.diagonal = rows.curvature_diagonal(curvature) + problem.l2
        self.diagonal[self.diagonal <= 0.0] = 1e-300 if cone is not None else 1.0
        self.diagonal_b = max(float(curvature.sum()), 1e-300)
        self.products = 0
        self.heaviest: HeaviestRows | None = None
        if hard and isinstance(cone, RoundCone):
            heaviest = HeaviestRows(problem, curvature, self.corner, cone)
            self.heaviest = heaviest if heaviest.usable else None

    def _times(self, x: Vector) -> Vector:
        problem, d = self.problem, self.border.size
        shift = float(x[d]) if problem.free_intercept else 0.0
        price = float(x[d + 1])
        out = np.zeros_like(x)
        out[:d], total = problem.rows.curvature_product(self.curvature, x[:d], shift)
        out[:d] += problem.l2 * x[:d] + self.border * price
        if problem.free_intercept:
            out[d] = total + self.border_b * price
        if self.cone is not None:
            block_w, block_price = self.cone.product(x[:d], price)
            out[:d] += block_w
            out[d + 1] = float(self.border @ x[:d]) + self.border_b * shift
            out[d + 1] += self.corner * price + block_price
        return out

    def _nearly_solved(self, right: Vector) -> Vector:
        if self.heaviest is not None:
            return self.heaviest.solve(right)
        d = self.border.size
        out = np.zeros_like(right)
        if self.problem.free_intercept:
            out[d] = right[d] / self.diagonal_b
        if self.cone is None:
            out[:d] = right[:d] / self.diagonal
        else:
            out[:d], out[d + 1] = self.cone.solve_with(
                self.diagonal, self.corner, right[:d], float(right[d + 1])
            )
        return out

    def solve(self, right: Vector) -> Vector:
        """Take conjugate gradients from zero."""
        right = right.copy()
        if not self.problem.free_intercept:
            right[-2] = 0.0
        if self.cone is None:
            right[-1] = 0.0
        enough = relative_to_start(self.accuracy)
        x, _, products = conjugate_gradients(
            self._times, right, self._nearly_solved, enough, _MOST_PRODUCTS
        )
        self.products += products
        return x
