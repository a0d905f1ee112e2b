"""A proximal Newton step of all classes at once, on the weights that matter.

Rounds over the classes find out which weights are not zero; that the classes depend on each other
makes them slow near the optimum, where this step is exact to second order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.columns import Columns
from widemargin.data.work import factor
from widemargin.linalg.cholesky import cholesky
from widemargin.methods.newton._elastic_net_model import Penalty, descend
from widemargin.problems.sparse_multinomial import SparseMultinomialProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_HALVINGS = 4
"""Of the step; where shorter ones are needed, the model is not that of the losses yet."""

_INNER = 1e-2
"""The model is minimised to this share of the violation that it starts from."""

_SPARE = 64
"""So many weights that are zero may join, or as many as are not."""


def price(problem: SparseMultinomialProblem, w: Matrix) -> float:
    """Price the step, in operations; infinite where the matrix is too large."""
    side = int(np.count_nonzero(w)) + problem.classes
    if side > MACHINE.largest_factorised:
        return np.inf
    sweeps = MACHINE.matrix_sweeps * MACHINE.tile_multiply * side**2
    return MACHINE.blas_multiply * problem.rows.count * side**2 + factor(side) + sweeps


def candidates(
    problem: SparseMultinomialProblem, w: Matrix, b: Vector, duals: Matrix, v: Matrix
) -> Iterator[tuple[Matrix, Vector]]:
    """Yield weights and intercepts to try: the whole step, then shorter ones.

    `duals` are those at w and b, padded, `v` the weights that they stand for.
    """
    penalty = Penalty(problem.l1_ratio, problem.ridge)
    place, column = _chosen(penalty, w, v)
    if place.size == 0:
        return
    now, slopes = w[place, column], v[place, column].copy()
    matrix = _second_derivatives(problem, (place, column), duals)
    side = place.size
    G, shift = matrix[:side, :side], np.zeros(problem.classes)
    cross, solved = matrix[side:, :side], None
    residual = problem.residual(duals)
    if problem.free_intercept:
        # A shift of all intercepts has no effect; it is given a curvature. All are eliminated.
        corner = matrix[side:, side:] + problem.cost.sum() / problem.classes**2
        solved = cholesky(np.ascontiguousarray(corner), singular=True)
        if solved is None:
            return
        G = G - cross.T @ solved.solve(cross)
        slopes -= cross.T @ solved.solve(residual)
    z = now.copy()
    wanted = _INNER * float(penalty.violations(slopes, now).max(initial=0.0))
    descend(np.ascontiguousarray(G), slopes, z, penalty, wanted, problem.meter)
    if solved is not None:
        shift = solved.solve(residual - cross @ (z - now))
    for halvings in range(_HALVINGS + 1):
        length = 0.5**halvings
        fresh = w.copy()
        fresh[place, column] = z if halvings == 0 else now + length * (z - now)
        yield fresh, b + length * shift


def _chosen(penalty: Penalty, w: Matrix, v: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return class and column of the weights that are not zero, or should not be."""
    violations = np.where(w != 0.0, np.inf, penalty.violations(v, w))
    wanted = np.flatnonzero(violations)
    there = int(np.count_nonzero(w))
    most = min(there + max(_SPARE, there), MACHINE.largest_factorised)
    if wanted.size > most:
        sizes = violations.ravel()[wanted]
        wanted = wanted[np.argpartition(-sizes, most)[:most]]
    place, column = np.unravel_index(np.sort(wanted), w.shape)
    return place, column


def _second_derivatives(
    problem: SparseMultinomialProblem,
    support: tuple[NDArray[np.intp], NDArray[np.intp]],
    duals: Matrix,
) -> Matrix:
    """Return Σ_i c_i (p_il [l = m] − p_il p_im) x_ij x_ir over pairs (l, j) and (m, r).

    The last ones are those of the intercepts, if they are free.
    """
    place, column = support
    k, free = problem.classes, problem.free_intercept
    used, where = np.unique(column, return_inverse=True)
    rows = Columns(problem.rows, used.astype(np.int64)).rows
    if free:
        place = np.concatenate([place, np.arange(k)])
        where = np.concatenate([where, np.full(k, used.size)])
    matrix = np.zeros((place.size, place.size))
    own = [np.flatnonzero(place == j) for j in range(k)]
    inverse = np.divide(
        1.0, problem.cost, out=np.zeros_like(problem.cost), where=problem.cost > 0.0
    )
    ones = np.ones(rows.count)
    block, done = np.empty((MACHINE.blas_rows, used.size + int(free))), 0
    while done < rows.count:
        begin = done
        filled, done = rows.view.pack_rows(ones, free, block, done)
        X, part = block[:filled], duals[begin:done, :k]
        scaled = X[:, where] * part[:, place]
        matrix -= (scaled * inverse[begin:done, None]).T @ scaled
        for j in range(k):
            lines = own[j]
            mine = X[:, where[lines]]
            matrix[np.ix_(lines, lines)] += mine.T @ (mine * part[:, j : j + 1])
        problem.rows.checkpoint()
    problem.meter.add(MACHINE.blas_multiply * rows.count * place.size**2)
    return matrix
