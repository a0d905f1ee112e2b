"""Bring averaged multipliers of an incremental method nearer to the dual's constraints.

Averages of noisy multipliers nearly satisfy ‖v‖ ≤ μ, v = Σ (keep_i − flip_i) y_i x_i; scaling them
down until they do costs the dual value that share. Cheaper is the least change, weighted by the
room that each multiplier has within its range, that moves v onto the ball: one small linear system.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.linalg.cholesky import cholesky
from widemargin.problems.norms import dual_norm
from widemargin.problems.robust import RobustProblem
from widemargin.projections.epigraph import onto_ball

Vector = NDArray[np.float64]

_ROUNDS = 2


def corrected(problem: RobustProblem, w: Vector, alpha: Vector) -> Vector | None:
    """Return α changed as little as possible, or None where the system would be large."""
    rows, p, free = problem.rows, problem.weight, problem.free_intercept
    d = rows.weights
    if d > MACHINE.largest_factorised or problem.radius == 0.0:
        return None
    keep, flip = np.maximum(alpha, 0.0)
    left = problem.radius
    if problem.flips:
        left = max(left - problem.label_cost * float(flip.sum()), 0.0)
    for _ in range(_ROUNDS):
        # 1) where v should go
        v = rows.combine(keep - flip, problem.y)
        inner = problem.l2 * w
        wanted = inner + onto_ball(v - inner, left * (1.0 - 1e-9), dual_norm(problem.norm)) - v
        if free:
            wanted = np.append(wanted, -float((keep - flip) @ problem.y))
        # 2) the least change that takes it there
        room = np.maximum(keep * (p - keep - flip), 0.0)
        np.divide(room, p, out=room, where=p > 0.0)
        factor = cholesky(rows.gram(room, free), singular=True)
        if factor is None:
            return None
        solution = factor.solve(wanted)
        slopes = rows.scores(solution[:d]) + (float(solution[d]) if free else 0.0)
        if not np.isfinite(slopes).all():
            return None
        keep = np.clip(keep + room * problem.y * slopes, 0.0, np.maximum(p - flip, 0.0))
    return np.stack([keep, flip])
