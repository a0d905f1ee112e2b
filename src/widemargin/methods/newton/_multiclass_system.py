"""Newton's equations of the smoothed multiclass losses.

The matrix is I + Σ_i x_i x_iᵀ ⊗ P_i / q_i, with P_i the centring projection of the tied classes of
example i. With a basis of each projection it is I + AᵀA, where A has a row per basis vector: near
the solution they are few, and I + AAᵀ is factorised in its place (Woodbury). While the weights of
all classes are few, the matrix itself may be the smaller one; where both are large, and first
wherever that may cost less, conjugate gradients use products with it, preconditioned by its
diagonal blocks, one per class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.data.work import Size
from widemargin.instruction_sets import core
from widemargin.linalg.cholesky import cholesky
from widemargin.linalg.conjugate_gradients import conjugate_gradients
from widemargin.linalg.preconditioners import ByColumn
from widemargin.problems.multiclass import MulticlassProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


_INEXACT = 0.1
"""What conjugate gradients may leave of the gradient. More steps follow from 0.3, and no fewer from
what the tolerance asks for, which takes twice as many products."""


@dataclass
class JointSystem:
    """Newton's equations of all classes, by whichever way is expected to be the cheapest."""

    products_failed: bool = False
    """Whether conjugate gradients once used up what they may cost in place of a factor."""

    def direction(
        self, problem: MulticlassProblem, ties: core.Ties, gradient: Matrix, accuracy: float
    ) -> Matrix:
        """Return p with H p = −gradient, until ½‖residual‖² ≤ accuracy.

        The intercepts, if free, are the last row. Where a matrix can be factorised, conjugate
        gradients may spend a share of what that costs in its place; after the first time that
        they do not get there, they are not tried again.
        """
        side = gradient.shape[0] * problem.classes
        size = problem.rows.size
        by_ties = tied_work(size, problem.classes, ties.count, ties.freedoms)
        by_matrix = matrix_work(size, ties.count, ties.freedoms, side)
        if problem.rows.blocked and ties.count > side:
            # Their rows would be more than the memory limit of data on disk has counted, and the
            # answer is not to depend on where the blocks are.
            by_ties = np.inf
        direct = min(by_ties, by_matrix)
        if not np.isfinite(direct):
            return _conjugate_gradients(problem, ties, gradient, accuracy)[0]
        products = 0 if self.products_failed else _products_instead(problem, ties, direct)
        if products >= MACHINE.fewest_products:
            found, solved = _conjugate_gradients(problem, ties, gradient, accuracy, products)
            if solved:
                return found
            self.products_failed = True
        problem.meter.add(direct)
        if by_ties < by_matrix:
            return _by_ties(problem, ties, gradient)
        return _factorised(problem, ties, gradient)


def _products_instead(problem: MulticlassProblem, ties: core.Ties, direct: float) -> int:
    """Return how many products may be tried in place of a factor; the blocks come first."""
    size = problem.rows.size
    left = MACHINE.tried_instead * direct
    left -= _blocks_work(size, problem.classes, ties.count, ties.freedoms)
    product = tied_product(size, problem.classes, problem.stride, ties.count)
    return min(MACHINE.multiclass_products, int(left / product))


def _blocks_work(size: Size, classes: int, ties: int, freedoms: int) -> float:
    """Price the factorised block of each class: an example is in those of its tied classes."""
    return size.gram(ties + freedoms) + classes * work.factor(size.weights)


def tied_product(size: Size, classes: int, stride: int, ties: int) -> float:
    """Price a product with the matrix, of the examples that have ties, and solving with blocks."""
    blocks = classes * work.solve(size.weights)
    product = size.block_product(stride, 2.0) * ties / max(1, size.rows)
    return MACHINE.gradient_call + product + blocks


def multiclass_step(size: Size, stride: int) -> float:
    """Price a Newton step beside its system: the terms, the line search, and products."""
    products = size.block_product(stride, MACHINE.multiclass_step_products)
    return MACHINE.multiclass_call * MACHINE.step + products + size.block_terms(stride)


def tied_work(size: Size, classes: int, ties: int, freedoms: int) -> float:
    """Price `_by_ties`; infinite where it is not possible."""
    if not 0 < freedoms <= MACHINE.largest_factorised or ties * size.weights > MACHINE.most_kept:
        return np.inf
    return work.factor(freedoms) + MACHINE.blas_multiply * freedoms**2 * (size.weights + classes)


def matrix_work(size: Size, ties: int, freedoms: int, side: int) -> float:
    """Price `_factorised`; infinite where it is not possible."""
    if side > MACHINE.largest_multiclass:
        return np.inf
    return _forming(size, ties, freedoms) + work.factor(side)


def iterative_work(size: Size, classes: int, stride: int, ties: int, freedoms: int) -> float:
    """Price `_conjugate_gradients`."""
    blocks = _blocks_work(size, classes, ties, freedoms)
    return blocks + MACHINE.joint_products * tied_product(size, classes, stride, ties)


def _forming(size: Size, ties: int, freedoms: int) -> float:
    """Price the matrix of all classes: a block for each pair of an example's tied classes."""
    dense = 2.0 * size.mean > size.weights
    multiply = MACHINE.tile_multiply if dense else MACHINE.scattered_multiply
    tied = 1.0 + freedoms / max(1, ties)
    return 3.0 * ties * tied**2 * multiply * max(1.0, size.mean) ** 2


def _by_ties(problem: MulticlassProblem, ties: core.Ties, gradient: Matrix) -> Matrix:
    k, d = problem.classes, problem.rows.weights
    basis, owner = np.empty((ties.freedoms, k)), np.empty(ties.freedoms, dtype=np.int64)
    ties.basis(basis, owner)
    rows = problem.passes.tied_rows(ties)
    # 1) I + AAᵀ, factorised
    matrix = rows @ rows.T
    if ties.freedoms > ties.count:
        matrix = matrix[np.ix_(owner, owner)]
    matrix *= basis @ basis.T
    matrix.reshape(-1)[:: ties.freedoms + 1] += 1.0
    problem.rows.checkpoint()
    factor = cholesky(matrix)
    if factor is None:
        return -gradient
    problem.rows.checkpoint()
    # 2) (I + AAᵀ) λ = A (−g), where the intercepts, if free, are eliminated
    right = -np.einsum("ij,ij->i", (rows @ gradient[:d, :k])[owner], basis)
    multiplier = factor.solve(right)
    out = np.zeros_like(gradient)
    if problem.free_intercept:
        images = factor.solve(basis)
        # A shift common to all intercepts has no curvature, and no gradient either.
        small = cholesky(np.ascontiguousarray(basis.T @ images), flat=slice(None))
        if small is None:
            return -gradient
        shift = small.solve(-gradient[d, :k] - basis.T @ multiplier)
        multiplier = multiplier + images @ shift
        out[d, :k] = shift
    # 3) p = −g − Aᵀλ
    share = np.zeros((ties.count, k))
    np.add.at(share, owner, multiplier[:, None] * basis)
    out[:d, :k] = -gradient[:d, :k] - rows.T @ share
    return out


def _factorised(problem: MulticlassProblem, ties: core.Ties, gradient: Matrix) -> Matrix:
    k, rows = problem.classes, gradient.shape[0]
    forming = _forming(problem.rows.size, ties.count, ties.freedoms)
    matrix = problem.passes.tied_matrix(ties, forming)
    matrix.reshape(-1)[:: rows * k + 1].reshape(k, rows)[:, : problem.rows.weights] += 1.0
    # A shift common to all intercepts has no curvature, and no gradient either.
    flat = slice(rows - 1, None, rows) if problem.free_intercept else None
    factor = cholesky(matrix, flat)
    if factor is None:
        return -gradient
    right = -np.ascontiguousarray(gradient[:, :k].T).reshape(-1)
    out = np.zeros_like(gradient)
    out[:, :k] = factor.solve(right).reshape(k, rows).T
    return out


def _conjugate_gradients(
    problem: MulticlassProblem,
    ties: core.Ties,
    gradient: Matrix,
    accuracy: float,
    most: int = MACHINE.multiclass_products,
) -> tuple[Matrix, bool]:
    """Return the direction, and whether so many products were enough."""
    blocks = _diagonal_blocks(problem, ties)
    if blocks is None:
        return -gradient, False
    features, shape = problem.rows.weights, gradient.shape
    price = tied_product(problem.rows.size, problem.classes, problem.stride, ties.count)
    add_product = problem.passes.tied_products(
        ties, problem.rows.size.block_product(problem.stride, 2.0)
    )

    def product(direction: Vector) -> Vector:
        problem.meter.add(price)
        matrix = direction.reshape(shape)
        image = matrix.copy()
        image[features:] = 0.0
        add_product(matrix, image)
        return image.reshape(-1)

    # All classes are one system.
    right = -gradient.reshape(-1)
    size = float(right @ right)
    # A tenth of the gradient, or what the tolerance leaves: while examples still change sides, a
    # direction that is better than that is no nearer to the solution.
    goal = max(_INEXACT**2 * size, 2.0 * accuracy)
    solution, residual, _ = conjugate_gradients(
        product,
        right,
        lambda r: blocks.solve(r.reshape(shape)).reshape(-1),
        lambda x, r, now, start: r @ r <= goal,
        most,
    )
    return solution.reshape(shape), float(residual @ residual) <= goal


def _diagonal_blocks(problem: MulticlassProblem, ties: core.Ties) -> ByColumn | None:
    """Factorise the block of each class."""
    factors, curvature = [], np.empty(problem.rows.count)
    for j in range(problem.classes):
        ties.curvature(j, curvature)
        block = problem.rows.gram(curvature, problem.free_intercept)
        np.einsum("ii->i", block)[: problem.rows.weights] += 1.0
        factor = cholesky(block, flat=slice(-1, None) if problem.free_intercept else None)
        if factor is None:
            return None
        factors.append(factor)
        problem.meter.add(work.factor(len(block)))
        problem.rows.checkpoint()
    return ByColumn(factors)
