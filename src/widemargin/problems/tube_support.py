"""The solution of a small regression to its last digits, from which rows lie on the edges.

Methods stop at a tolerance, each at a point of its own. Where a matrix of the rows is small, the
optimality conditions are solved directly: rows with 0 < |β| < c lie on an edge of the tube, which
is a linear system for their β and b. Rows whose β leaves its range are put at its end, and the
system is solved again. The result counts only if its certificate is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.regression import RegressionProblem

Vector = NDArray[np.float64]

_TINY = 1e-6
"""A dual variable this close to an end of its range, relative to the cost, lies there."""

_ROUNDS = 20
"""Rows leave the edges a few at a time; this many times is enough for all of a small problem."""


def polished(
    problem: RegressionProblem, point: Point, certificate: Certificate
) -> tuple[Point, Certificate]:
    """Return a point with a better certificate, or the same.

    Parameters
    ----------
    problem : RegressionProblem
        With the loss that is not squared, and few rows.
    point : Point
        The answer of a run.
    certificate : Certificate
        Its certificate.
    """
    gram, c = problem.rows.row_gram(), problem.cost
    beta, b = point.alpha.copy(), point.b
    beta[np.abs(beta) <= _TINY * c] = 0.0
    at_end = np.abs(beta) >= (1.0 - _TINY) * c
    beta[at_end] = np.sign(beta[at_end]) * c[at_end]
    free = (beta != 0.0) & ~at_end
    for _ in range(_ROUNDS):
        if not free.any():
            break
        signs = np.sign(beta[free])
        solution, b = _on_edges(problem, gram, beta, free, b)
        most = c[free]
        moved = np.where(solution * signs < 0.0, 0.0, np.clip(solution, -most, most))
        beta[free] = moved
        stays = (moved != 0.0) & (np.abs(moved) < most)
        if stays.all():
            break
        free[np.flatnonzero(free)[~stays]] = False
    with np.errstate(all="ignore"):
        w = problem.rows.combine(beta)
        found, proof = problem.certify(Point(w, b, beta))
    better = proof.gap < certificate.gap and proof.primal <= certificate.primal
    return (found, proof) if better else (point, certificate)


def _on_edges(
    problem: RegressionProblem, gram: Vector, beta: Vector, free: NDArray[np.bool_], b: float
) -> tuple[Vector, float]:
    """Solve for the β of the rows on the edges, and for b, with the others as they are."""
    loss, count = problem.loss, int(np.count_nonzero(free))
    rest = np.where(free, 0.0, beta)
    wanted = loss.target - loss.epsilon * np.sign(beta) - gram @ rest
    matrix, right = gram[np.ix_(free, free)], wanted[free]
    if problem.free_intercept:
        matrix = np.block([[matrix, np.ones((count, 1))], [np.ones((1, count)), np.zeros((1, 1))]])
        right = np.append(right, -rest.sum())
    solution = np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    return solution[:count], float(solution[count]) if problem.free_intercept else b
