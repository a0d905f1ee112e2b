"""Newton's equations of the multinomial loss, by preconditioned conjugate gradients.

The matrix is I + Σ_i (diag(A_i) − A_i A_iᵀ / c_i) ⊗ x_i x_iᵀ over the weights of all classes. One
product with it costs two passes over the data. There are three preconditioners:

shared    one matrix I + Σ_i h_i x_i x_iᵀ for every class, with h_i the mean curvature of example i.
          It is exact at W = 0, where all classes have the same probability.
coupled   the matrix itself, from a sample of the examples drawn by their curvature, where the
          weights of all classes together are few.

diagonal  the diagonal of the shared one, where features are too many for a matrix.

The shared one comes first. Conjugate gradients that cost more than the coupled one would have cost
are the reason to form it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.data.rows import Rows
from widemargin.linalg.cholesky import Factor, cholesky
from widemargin.linalg.conjugate_gradients import NewtonAccuracy, conjugate_gradients
from widemargin.linalg.preconditioners import Diagonal
from widemargin.problems.multinomial import MultinomialProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_FAR = 1.0
"""A promised decrease of so many times the accuracy is far from the solution."""

_LOWEST = 0.01
"""Curvatures below this share of their mean are left out of the coupled matrix."""


@dataclass(eq=False)
class _Shared:
    factor: Factor

    def solve(self, right: Matrix) -> Matrix:
        return self.factor.solve(right)


@dataclass(eq=False)
class _Coupled:
    factor: Factor
    classes: int

    def solve(self, right: Matrix) -> Matrix:
        """Solve for all classes at once; they are the outer index of the matrix."""
        k = self.classes
        flat = np.ascontiguousarray(right[:, :k].T).reshape(-1)
        out = np.zeros_like(right)
        out[:, :k] = self.factor.solve(flat).reshape(k, -1).T
        return out


@dataclass(eq=False)
class MultinomialSystem:
    """Solves for Newton directions; keeps its preconditioner from step to step."""

    seed: int
    kept: _Shared | _Coupled | Diagonal | None = None
    products: int = 0
    """Of the last direction."""
    fresh: bool = False
    """Whether the preconditioner was made for the last direction."""
    wanted: str = "shared"

    def direction(
        self, problem: MultinomialProblem, duals: Matrix, gradient: Matrix, accuracy: float
    ) -> Matrix:
        """Return p with H p = −gradient, until ½‖residual‖² ≤ accuracy.

        The intercepts, if free, are the last row.
        """
        self.fresh = self.kept is None or self.products > MACHINE.stale_products
        if self.fresh:
            self._renew(problem, duals)
        kept = self.kept
        if kept is None:
            return -gradient
        d, shape = problem.rows.weights, gradient.shape
        add = problem.passes.products(duals)
        nothing, unread = np.zeros(problem.stride), np.zeros(problem.stride)

        def product(flat: Vector) -> Vector:
            matrix = flat.reshape(shape)
            image = matrix.copy()
            image[d:] = 0.0
            start, share = (matrix[d], image[d]) if problem.free_intercept else (nothing, unread)
            add(matrix[:d], start, image[:d], share)
            problem.meter.add(problem.rows.size.class_product(problem.stride, 2.0))
            return image.reshape(-1)

        right = -gradient.reshape(-1)
        solution, _, self.products = conjugate_gradients(
            product,
            right,
            lambda r: kept.solve(r.reshape(shape)).reshape(-1),
            NewtonAccuracy(right, accuracy, _FAR),
            MACHINE.multinomial_products,
        )
        spent = self.products * problem.rows.size.class_product(problem.stride, 2.0)
        if self.wanted == "shared" and spent > coupled_work(problem):
            self.wanted, self.kept = "coupled", None
        return solution.reshape(shape)

    def _renew(self, problem: MultinomialProblem, duals: Matrix) -> None:
        k, count = problem.classes, problem.rows.count
        cost = problem.cost
        inverse = np.divide(1.0, cost, out=np.zeros_like(cost), where=cost > 0.0)
        curvature = np.maximum(cost - np.einsum("ij,ij->i", duals, duals) * inverse, 0.0) / (k - 1)
        coupled = self.wanted == "coupled"
        rows, weight = np.arange(count), None
        size = sample_size(problem, coupled)
        if 2 * size < count:
            rows, weight = _by_curvature(curvature, size, self.seed)
        taken = problem.rows if weight is None else problem.rows.take(rows)
        if problem.rows.weights > MACHINE.largest_factorised:
            self.kept = _diagonal(problem, curvature)
            return
        if not coupled:
            h = curvature if weight is None else curvature[rows] * weight
            self.kept = _shared(problem, taken.gram(h, problem.free_intercept))
            return
        a, scale = duals[rows, :k], inverse[rows] * (1.0 if weight is None else weight)
        self.kept = _coupled(problem, taken, a, scale)


def sample_size(problem: MultinomialProblem, coupled: bool) -> int:
    """Return how many rows stand for all in a preconditioner."""
    side = problem.rows.weights + problem.free_intercept
    return MACHINE.sample_rows * side * problem.classes if coupled else MACHINE.factor_rows * side


def coupled_work(problem: MultinomialProblem) -> float:
    """Price the coupled matrix; infinite where it is too large."""
    k, size = problem.classes, problem.rows.size
    side = (problem.rows.weights + problem.free_intercept) * k
    if side > MACHINE.largest_multiclass:
        return np.inf
    used = min(sample_size(problem, True), problem.rows.count)
    if used > problem.rows.largest_sample:
        return np.inf
    return k * (k - 1) / 2 * (size.gram(used) + MACHINE.sweep_call) + work.factor(side)


def _by_curvature(curvature: Vector, size: int, seed: int) -> tuple[NDArray[np.int64], Vector]:
    """Draw about `size` rows, likelier the more they curve; return them with their weights."""
    total = float(curvature.sum())
    chance = np.minimum(1.0, size / total * curvature) if total > 0.0 else np.ones_like(curvature)
    rows = np.flatnonzero(np.random.default_rng(seed).random(chance.size) < chance)
    return rows, 1.0 / chance[rows]


def _diagonal(problem: MultinomialProblem, curvature: Vector) -> Diagonal:
    entries = 1.0 + problem.rows.curvature_diagonal(curvature)
    if problem.free_intercept:
        entries = np.append(entries, max(float(curvature.sum()), np.finfo(float).tiny))
    return Diagonal(entries)


def _shared(problem: MultinomialProblem, matrix: Matrix) -> _Shared | None:
    np.einsum("ii->i", matrix)[: problem.rows.weights] += 1.0
    factor = cholesky(matrix, flat=slice(-1, None) if problem.free_intercept else None)
    return None if factor is None else _Shared(factor)


def _coupled(problem: MultinomialProblem, rows: Rows, a: Matrix, scale: Vector) -> _Coupled | None:
    k, d = problem.classes, problem.rows.weights
    side = d + problem.free_intercept
    matrix = np.zeros((k, side, k, side))
    for j in range(k):
        for other in range(j):
            pair = a[:, j] * a[:, other] * scale
            pair[pair < _LOWEST * pair.mean()] = 0.0
            block = rows.gram(pair, problem.free_intercept)
            matrix[j, :, other] = matrix[other, :, j] = -block
            matrix[j, :, j] += block
            matrix[other, :, other] += block
        problem.rows.checkpoint()
    flat = matrix.reshape(k * side, k * side)
    diagonal = np.einsum("ii->i", flat).reshape(k, side)
    diagonal[:, :d] += 1.0
    # A shift common to all intercepts has no curvature, and no gradient either.
    factor = cholesky(flat, slice(side - 1, None, side) if problem.free_intercept else None)
    return None if factor is None else _Coupled(factor, k)
