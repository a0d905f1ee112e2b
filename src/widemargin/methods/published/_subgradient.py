"""The dual point that belongs to a subgradient of the loss, shared by the bundle methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]


def dual_of_scores(problem: BinaryProblem, scores: Vector, b: float) -> tuple[Vector, float]:
    """Return feasible β with −Xᵀ(yβ) a subgradient of min_b Σ c ℓ at these scores, and the best b.

    With a free intercept Σ β_i y_i = 0 holds at the best b. For the hinge that takes the examples
    whose margin is exactly 1 there: any part of their cost may count.
    """
    loss, y, cost = problem.loss, problem.y, problem.cost
    if not problem.free_intercept:
        return loss.duals(y, cost, scores, 0.0), 0.0
    b = loss.best_intercept(y, cost, scores, b)
    beta = loss.duals(y, cost, scores, b)
    if not loss.linear_dual:
        return problem.feasible(beta), b
    margins = y * (scores + b)
    tied = np.abs(margins - 1.0) <= 1e-12 * (1.0 + np.abs(scores) + abs(b))
    lower, upper = np.where(tied, 0.0, beta), np.where(tied, cost, beta)
    shared = np.empty_like(beta)
    _, missing, size = core.project_box(beta, 1.0, y, lower, upper, 0.0, shared)
    exact = abs(missing) <= 1e-12 * (size + 1e-300)
    return problem.feasible(shared if exact else beta), b
