"""The solution of a small one-class problem to its last digits, from which rows lie on the edge.

Methods stop at a tolerance, each at a point of its own. Rows with 0 < α < c have a score of ρ: a
linear system for their α and ρ. Rows whose α leaves its range are put at its end, and rows on the
wrong side of ρ join the system: Newton's method on the optimality conditions. The result counts
only if its certificate is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.one_class import OneClassProblem

Vector = NDArray[np.float64]

_TINY = 1e-6
"""A dual variable this close to an end of its range, relative to the cost, lies there."""

_ROUNDS = 20
"""Newton steps; a handful is common."""


def polished(
    problem: OneClassProblem, point: Point, certificate: Certificate
) -> tuple[Point, Certificate]:
    """Return a point with a better certificate, or the same; rows are few."""
    gram, c = problem.rows.row_gram(), problem.cost
    size = np.maximum(np.einsum("ii->i", gram), 1e-300)
    alpha = point.alpha.copy()
    low, high = alpha <= _TINY * c, alpha >= (1.0 - _TINY) * c
    for _ in range(_ROUNDS):
        free = ~(low | high)
        if not free.any():
            break
        alpha = np.where(high, c, 0.0)
        alpha[free], rho = _on_edge(problem, gram, alpha, free)
        wanted = alpha - (gram @ alpha - rho) / size
        before, low, high = (low, high), wanted <= 0.0, wanted >= c
        if np.array_equal(low, before[0]) and np.array_equal(high, before[1]):
            break
    with np.errstate(all="ignore"):
        found, proof = problem.certify(Point(problem.rows.combine(alpha), point.b, alpha))
    better = proof.gap < certificate.gap and proof.primal <= certificate.primal
    return (found, proof) if better else (point, certificate)


def _on_edge(
    problem: OneClassProblem, gram: Vector, alpha: Vector, free: NDArray[np.bool_]
) -> tuple[Vector, float]:
    """Solve for the α of the rows on the edge, and for ρ, with the others as they are."""
    count = int(np.count_nonzero(free))
    matrix = np.zeros((count + 1, count + 1))
    matrix[:count, :count] = gram[np.ix_(free, free)]
    matrix[:count, count], matrix[count, :count] = -1.0, 1.0
    right = np.append(-(gram @ alpha)[free], -problem.residual(alpha))
    solution = np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    return solution[:count], float(solution[count])
