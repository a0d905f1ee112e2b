"""Primal-dual interior point for the hinge, in a matrix of the order of the weights.

With s the slack above the margin, ξ the slack below it and v = c − α, the conditions

    y (Xw + b) − 1 − s + ξ = 0,   w = Xᵀ(y α),   yᵀα = 0,   α s = μ,   v ξ = μ

are solved by Mehrotra's predictor and corrector while μ goes to zero. Eliminating everything but
(w, b) leaves I + Σ x_i x_iᵀ / g_i with g = s/α + ξ/v: per step, one Gram matrix and one
factorisation. Examples without cost are left out from the start: they have no interior. A tube
of regression is two hinges per row (`_hinge_pair`); the margin 1 is the problem's `level` then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.work import factor as factor_work
from widemargin.linalg.cholesky import cholesky
from widemargin.methods.base import State
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_TO_BOUNDARY = 0.995
_CENTRED = 0.1
"""The least product α s at the start, as a share of the mean; from 1e-3 on any value does."""


@dataclass(eq=False)
class InteriorPointState(State):
    """The iterate, strictly inside all bounds."""

    problem: Any
    w: Vector
    b: float
    alpha: Vector
    s: Vector
    xi: Vector
    scores: Vector
    kept: NDArray[np.int64] | None
    count: int
    best_gap: float = np.inf
    stalled_steps: int = 0

    @property
    def point(self) -> Point:
        """The current point, with zeros for the examples that were left out."""
        if self.kept is None:
            return Point(self.w, self.b, self.alpha)
        alpha = np.zeros(self.count)
        alpha[self.kept] = self.alpha
        return Point(self.w, self.b, alpha)


@dataclass(frozen=True, eq=False)
class _Step:
    w: Vector
    b: float
    scores: Vector
    alpha: Vector
    s: Vector
    xi: Vector


def begin(problem: Any, warm: Point | None) -> InteriorPointState:
    """Start on the central path at w = 0, or at warm weights if they are better.

    For given margins the conditions α s = v ξ = μ_i and s − ξ = m − 1 have a closed form, so only
    w = Xᵀ(y α) is violated. μ_i = c_i, and at least a share of their mean: the start then lies in
    the wide neighbourhood of the central path. A smaller μ around a warm point would be nearer to
    it and further from any path that leads to the solution.
    """
    count, kept = problem.rows.count, None
    if not (problem.cost > 0.0).all():
        kept = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
        problem = problem.subproblem(kept)
    point = problem.cold_point()
    scores = np.zeros(problem.rows.count)
    if warm is not None:
        warm_scores = problem.rows.scores(warm.w)
        # Weights that are worse than none would put the start far from the path.
        if problem.primal(warm.w, warm.b, warm_scores) < problem.primal(point.w, 0.0, scores):
            point, scores = warm, warm_scores
    b = point.b if problem.free_intercept else 0.0
    unit = problem.loss.unit
    over = (problem.y * (scores + b) - problem.level) / unit
    # Where costs differ by orders of magnitude, uneven products would block every step.
    least = _CENTRED * float(problem.cost.mean())
    level = np.maximum(least / np.maximum(problem.cost, 1e-150 * least), 1.0)
    root = np.hypot(over, 2.0 * level)
    s = 0.5 * (root + over) + level
    return InteriorPointState(
        problem,
        point.w.copy(),
        b,
        alpha=problem.cost * (level / s),
        s=unit * s,
        xi=unit * (s - over),
        scores=scores,
        kept=kept,
        count=count,
    )


def advance(state: InteriorPointState) -> None:
    """Take one predictor-corrector step."""
    problem = state.problem
    rows, y, c = problem.rows, problem.y, problem.cost
    free = problem.free_intercept
    alpha, s, xi = state.alpha, state.s, state.xi
    v = c - alpha
    work = MACHINE.interior_call * MACHINE.step + rows.size.vectors(MACHINE.interior_vectors)
    problem.meter.add(work + factor_work(rows.weights))

    # 1) residuals
    residual_w = state.w - rows.combine(alpha, y)
    residual_b = problem.residual(alpha) if free else 0.0
    residual_m = y * (state.scores + state.b) - problem.level - s + xi
    mu = float(alpha @ s + v @ xi) / (2 * alpha.size)

    # 2) the matrix, once for both solves
    h = 1.0 / (s / alpha + xi / v)
    matrix = rows.gram(h, free)
    np.einsum("ii->i", matrix)[: rows.weights] += 1.0
    factor = cholesky(matrix)
    if factor is None:
        state.finished = True
        return

    def solve(change_s: Vector, change_xi: Vector) -> _Step:
        """Solve for the step that changes the products α s and v ξ by these amounts."""
        q = change_s / alpha - change_xi / v - residual_m
        pull = h * q * y
        right = rows.combine(pull) - residual_w
        if free:
            right = np.append(right, float(pull.sum()) + residual_b)
        solution = factor.solve(right)
        dw, db = (solution[:-1], float(solution[-1])) if free else (solution, 0.0)
        slopes = rows.scores(dw)
        dalpha = h * (q - y * (slopes + db))
        ds = (change_s - s * dalpha) / alpha
        dxi = (change_xi + xi * dalpha) / v
        return _Step(dw, db, slopes, dalpha, ds, dxi)

    # 3) predictor: how far would μ fall if it were aimed at zero?
    aim = solve(-alpha * s, -v * xi)
    length = _longest(alpha, v, s, xi, aim, 1.0)
    aimed = float(
        (alpha + length * aim.alpha) @ (s + length * aim.s)
        + (v - length * aim.alpha) @ (xi + length * aim.xi)
    ) / (2 * alpha.size)
    target = min(max(aimed, 0.0) / mu, 1.0) ** 3 * mu

    # 4) corrector; the problem is quadratic, so w is on both sides and all share one length
    step = solve(target - alpha * s - aim.alpha * aim.s, target - v * xi + aim.alpha * aim.xi)
    length = _longest(alpha, v, s, xi, step, _TO_BOUNDARY)
    if not (np.isfinite(step.w).all() and np.isfinite(length)):
        state.finished = True
        return
    state.w = state.w + length * step.w
    state.b += length * step.b
    state.scores = state.scores + length * step.scores
    state.alpha = np.clip(alpha + length * step.alpha, 1e-300, c * (1.0 - 1e-16))
    state.s = np.maximum(s + length * step.s, 1e-300)
    state.xi = np.maximum(xi + length * step.xi, 1e-300)
    state.passes += 6
    state.active = int(np.count_nonzero(h > 1e-8 * h.max()))

    # 5) judge
    primal = problem.primal(state.w, state.b, state.scores)
    gap = float(state.alpha @ state.s + (c - state.alpha) @ state.xi)
    gap += 0.5 * (1.0 - length) ** 2 * float(residual_w @ residual_w)
    state.expected_gap = problem.relative(gap, primal)
    state.stalled_steps = state.stalled_steps + 1 if gap > 0.99 * state.best_gap else 0
    state.best_gap = min(gap, state.best_gap)
    state.finished = state.stalled_steps >= 8 or not np.isfinite(gap)


def _longest(
    alpha: Vector, v: Vector, s: Vector, xi: Vector, step: _Step, fraction: float
) -> float:
    """Return the longest step, up to 1, that keeps α, v, s and ξ positive."""
    length = 1.0
    for value, change in ((alpha, step.alpha), (v, -step.alpha), (s, step.s), (xi, step.xi)):
        # The largest relative fall decides.
        fall = float(np.max(-change / value))
        if fall > 0.0:
            length = min(length, fraction / fall)
    return length
