"""Newton's equations of the smoothed multiclass losses.

The matrix is I + Σ_i x_i x_iᵀ ⊗ P_i / q_i, with P_i the centring projection of the tied classes of
example i. With a basis of each projection it is I + AᵀA, where A has a row a basis vector: near the
solution they are few, and I + AAᵀ is factorised in its place (Woodbury). While the weights of all
classes are few, the matrix itself may be the smaller one; where both are large, conjugate gradients
use products with it, preconditioned by its diagonal blocks, one a class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from widemargin.kernels import core
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]

LARGEST_MATRIX = 1100
"""Weights of all classes up to which the matrix is formed: a factorisation of some 20 ms."""

MOST_FREEDOMS = 2000
"""Basis vectors up to which I + AAᵀ is formed: a factorisation of some 100 ms."""

MOST_TIED_VALUES = 20_000_000
"""Values of the tied examples that are written out with their zeros: 160 MB."""

FEW_WEIGHTS = 2000
"""Features up to which the diagonal blocks are formed."""

MOST_BLOCKS = 60_000_000
"""Values of all diagonal blocks together that are kept: 480 MB."""

_MOST_STEPS = 100

_TIES_PER_CALL = 20_000_000


def newton_direction(
    problem: MulticlassProblem, ties: core.Ties, gradient: Matrix, accuracy: float
) -> Matrix:
    """Return p with H p = −gradient, to half the squared residual that does no harm.

    The intercepts, if free, are the last row.
    """
    side = gradient.shape[0] * problem.classes
    by_ties = tied_work(problem, ties.count, ties.freedoms)
    if by_ties < matrix_work(problem, ties.count, side):
        return _by_ties(problem, ties, gradient)
    if side <= LARGEST_MATRIX:
        return _factorised(problem, ties, gradient)
    return _conjugate_gradients(problem, ties, gradient, accuracy)


def tied_work(problem: MulticlassProblem, ties: int, freedoms: int) -> float:
    """Count the operations of `_by_ties`, in matrix products; infinite where it cannot serve."""
    if not 0 < freedoms <= MOST_FREEDOMS or ties * problem.rows.weights > MOST_TIED_VALUES:
        return np.inf
    return freedoms**2 * (freedoms / 3.0 + problem.rows.weights + problem.classes + 5.0)


def matrix_work(problem: MulticlassProblem, ties: int, side: int) -> float:
    """Count the operations of `_factorised`; those that form the matrix are slower."""
    if side > LARGEST_MATRIX:
        return np.inf
    entries = _entries(problem)
    slower = 5.0 if 2.0 * entries > problem.rows.weights else 20.0
    return slower * 3.0 * ties * entries * entries + side**3 / 3.0


def _by_ties(problem: MulticlassProblem, ties: core.Ties, gradient: Matrix) -> Matrix:
    k, d = problem.classes, problem.rows.weights
    basis, owner = np.empty((ties.freedoms, k)), np.empty(ties.freedoms, dtype=np.int64)
    ties.basis(basis, owner)
    rows = np.zeros((ties.count, d))
    step = max(1, int(_TIES_PER_CALL / _entries(problem)))
    for begin in range(0, ties.count, step):
        problem.core.tied_rows(ties, rows, begin, min(begin + step, ties.count))
    # 1) I + AAᵀ, factorised
    matrix = rows @ rows.T
    if ties.freedoms > ties.count:
        matrix = matrix[np.ix_(owner, owner)]
    matrix *= basis @ basis.T
    matrix.reshape(-1)[:: ties.freedoms + 1] += 1.0
    problem.rows.checkpoint()
    factor, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    if failed:
        return -gradient
    problem.rows.checkpoint()
    # 2) (I + AAᵀ) λ = A (−g), where the intercepts, if free, are eliminated
    right = -np.einsum("ij,ij->i", (rows @ gradient[:d, :k])[owner], basis)
    multiplier = dpotrs(factor, right, lower=1)[0]
    out = np.zeros_like(gradient)
    if problem.free_intercept:
        images = dpotrs(factor, basis, lower=1)[0]
        small = basis.T @ images
        # A shift common to all intercepts has no curvature, and no gradient either.
        small.reshape(-1)[:: k + 1] += 1e-9 * max(1.0, float(small.diagonal().max()))
        shift = np.linalg.solve(small, -gradient[d, :k] - basis.T @ multiplier)
        multiplier = multiplier + images @ shift
        out[d, :k] = shift
    # 3) p = −g − Aᵀλ
    share = np.zeros((ties.count, k))
    np.add.at(share, owner, multiplier[:, None] * basis)
    out[:d, :k] = -gradient[:d, :k] - rows.T @ share
    return out


def _factorised(problem: MulticlassProblem, ties: core.Ties, gradient: Matrix) -> Matrix:
    k, rows = problem.classes, gradient.shape[0]
    matrix = np.zeros((rows * k, rows * k))
    entries = _entries(problem)
    step = max(1, int(_TIES_PER_CALL / (entries * entries * 4.0)))
    for begin in range(0, ties.count, step):
        end = min(begin + step, ties.count)
        problem.core.tied_matrix(ties, problem.free_intercept, matrix, begin, end)
        problem.rows.checkpoint()
    diagonal = matrix.reshape(-1)[:: rows * k + 1].reshape(k, rows)
    diagonal[:, : problem.rows.weights] += 1.0
    # A shift common to all intercepts has no curvature, and no gradient either.
    free = diagonal[:, problem.rows.weights :]
    free += 1e-9 * max(1.0, float(free.max(initial=0.0)))
    factor, failed = dpotrf(matrix.T, lower=0, overwrite_a=1, clean=0)
    if failed:
        return -gradient
    right = -np.ascontiguousarray(gradient[:, :k].T).reshape(-1)
    out = np.zeros_like(gradient)
    out[:, :k] = dpotrs(factor, right, lower=0)[0].reshape(k, rows).T
    return out


def _conjugate_gradients(
    problem: MulticlassProblem, ties: core.Ties, gradient: Matrix, accuracy: float
) -> Matrix:
    k = problem.classes
    features = problem.rows.weights
    factors = []
    curvature = np.empty(problem.rows.count)
    for j in range(k):
        ties.curvature(j, curvature)
        block = problem.rows.gram(curvature, problem.free_intercept)
        block.reshape(-1)[:: block.shape[0] + 1][:features] += 1.0
        block[features:, features:] += 1e-9 * max(1.0, float(curvature.sum()))
        diagonal = block.diagonal().copy()
        factor, failed = dpotrf(block, lower=1, overwrite_a=1, clean=0)
        factors.append(np.diag(np.sqrt(diagonal)) if failed else factor)
        problem.rows.checkpoint()

    def precondition(r: Matrix) -> Matrix:
        out = np.zeros_like(r)
        for j in range(k):
            out[:, j] = dpotrs(factors[j], np.ascontiguousarray(r[:, j]), lower=1)[0]
        return out

    ties_per_call = max(1, int(_TIES_PER_CALL / (_entries(problem) * problem.stride)))
    solution, residual = np.zeros_like(gradient), -gradient
    goal = min(1e-2 * float(np.vdot(gradient, gradient)), max(2.0 * accuracy, 0.0))
    goal = max(goal, 1e-20 * float(np.vdot(gradient, gradient)))
    z = precondition(residual)
    direction, rz = z.copy(), float(np.vdot(residual, z))
    for _ in range(_MOST_STEPS):
        if not rz > 0.0:
            break
        image = direction.copy()
        image[features:] = 0.0
        for begin in range(0, ties.count, ties_per_call):
            end = min(begin + ties_per_call, ties.count)
            problem.core.tied_product(ties, problem.free_intercept, direction, image, begin, end)
            problem.rows.checkpoint()
        curved = float(np.vdot(direction, image))
        if not curved > 0.0:
            break
        step = rz / curved
        solution += step * direction
        residual = residual - step * image
        if float(np.vdot(residual, residual)) <= goal:
            break
        z = precondition(residual)
        rz, last = float(np.vdot(residual, z)), rz
        direction = z + (rz / last) * direction
        problem.rows.checkpoint()
    return solution


def _entries(problem: MulticlassProblem) -> float:
    """Return how many features an example has, on average."""
    return max(1.0, problem.rows.view.nonzeros / max(1, problem.rows.count))
