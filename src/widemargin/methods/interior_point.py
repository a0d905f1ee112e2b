"""Primal-dual interior point for the hinge, with the structure used (MATHEMATICS, §6).

With s the slack above the margin, ξ the slack below it and v = c − α, the conditions

    y (Xw + b) − 1 − s + ξ = 0,   w = Xᵀ(y α),   yᵀα = 0,   α s = μ,   v ξ = μ

are solved by Mehrotra's predictor and corrector while μ goes to zero. Eliminating everything but
(w, b) leaves I + Σ x_i x_iᵀ / g_i with g = s/α + ξ/v: one Gram matrix and one factorisation a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from widemargin.methods.base import Settings, cold_point
from widemargin.methods.newton_system import LARGEST_FACTORISED, growing_samples
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_TO_BOUNDARY = 0.995


@dataclass(eq=False)
class InteriorPointState:
    """The iterate of the stage's problem, strictly inside all bounds."""

    whole: BinaryProblem
    settings: Settings
    stages: list[NDArray[np.int64] | None]
    problem: BinaryProblem
    w: Vector
    b: float
    alpha: Vector
    s: Vector
    xi: Vector
    scores: Vector
    start_alpha: Vector
    used: NDArray[np.int64] | None = None
    active: int = 0
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False
    last_gap: float = np.inf
    stalled_steps: int = 0

    @property
    def point(self) -> Point:
        """The current point; on a sample the dual variables are those of the start."""
        if self.problem is not self.whole:
            return Point(self.w, self.b, self.start_alpha)
        return Point(self.w, self.b, self.alpha)


class InteriorPoint:
    """Follow the central path of the hinge problem; few steps, whatever C and the data."""

    name = "interior_point"

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve the hinge while the matrix in the weights can be formed."""
        if problem.loss.name != "hinge":
            return (
                f"solver 'interior_point' serves the loss 'hinge', not '{problem.loss.name}'; "
                "the nearest solver that serves it is 'newton'"
            )
        if problem.rows.weights > LARGEST_FACTORISED:
            return (
                f"solver 'interior_point' forms a matrix in the weights and serves at most "
                f"{LARGEST_FACTORISED} of them, not {problem.rows.weights}; "
                "the nearest solver that serves this problem is 'dual_cd'"
            )
        return None

    def start(
        self, problem: BinaryProblem, warm: Point | None, settings: Settings
    ) -> InteriorPointState:
        """Start in the middle of the box at w = 0, or on the central path near a warm point."""
        point = cold_point(problem) if warm is None else warm
        stages = [None] if warm is not None else (growing_samples(problem, settings.seed) if WIDTH<5 else [None])
        empty = np.empty(0)
        state = InteriorPointState(
            problem, settings, stages, problem, point.w.copy(),
            point.b if problem.free_intercept else 0.0, empty, empty, empty, empty, point.alpha,
        )
        self._enter_stage(state, 1.0 if warm is None else 0.05)
        return state

    def _enter_stage(self, state: InteriorPointState, width: float) -> None:
        """Put α, s and ξ on the central path that belongs to (w, b) and μ_i = width · c_i.

        For given margins the conditions α s = v ξ = μ and s − ξ = m − 1 have a closed form, so a
        stage starts perfectly centred; only w = Xᵀ(y α) is violated.
        """
        subset = state.stages.pop(0)
        state.problem = state.whole if subset is None else state.whole.subproblem(subset)
        problem = state.problem
        count = problem.rows.count
        state.scores = problem.rows.scores(state.w) if state.w.any() else np.zeros(count)
        over = problem.y * (state.scores + state.b) - 1.0
        root = np.hypot(over, 2.0 * width)
        state.s = 0.5 * (root + over) + width
        state.xi = 0.5 * (root - over) + width
        state.alpha = problem.cost * width / state.s
        state.last_gap = np.inf

    def advance(self, state: InteriorPointState) -> None:
        """Take one predictor-corrector step."""
        problem = state.problem
        rows, y, c = problem.rows, problem.y, problem.cost
        free = problem.free_intercept
        alpha, s, xi = state.alpha, state.s, state.xi
        v = c - alpha
        count = max(1, np.count_nonzero(c))

        # 1) residuals
        combination = rows.combine(alpha * y)
        residual_w = state.w - combination
        residual_b = float(alpha @ y) if free else 0.0
        residual_m = y * (state.scores + state.b) - 1.0 - s + xi
        mu = float(alpha @ s + v @ xi) / (2 * count)

        # 2) the matrix, once for both solves
        with np.errstate(divide="ignore", invalid="ignore"):
            h = 1.0 / (s / alpha + xi / v)
        h[c == 0.0] = 0.0
        matrix = rows.gram(h, free)
        np.einsum("ii->i", matrix)[: rows.weights] += 1.0
        if free:
            matrix[-1, -1] += 1e-14 * (1.0 + matrix[-1, -1])
        factor, info = dpotrf(matrix, lower=0)
        if info != 0:
            state.finished = problem is state.whole
            return

        def solve(complement_s: Vector, complement_xi: Vector) -> tuple[Vector, ...]:
            """Solve for the step whose products α s and v ξ change by these amounts."""
            with np.errstate(divide="ignore", invalid="ignore"):
                q = complement_s / alpha - complement_xi / v - residual_m
            q[c == 0.0] = 0.0
            pull = h * q * y
            right = rows.combine(pull) - residual_w
            if free:
                right = np.append(right, float(pull.sum()) + residual_b)
            solution = dpotrs(factor, right, lower=0)[0]
            dw, db = (solution[:-1], float(solution[-1])) if free else (solution, 0.0)
            slopes = rows.scores(dw)
            dalpha = h * (q - y * (slopes + db))
            with np.errstate(divide="ignore", invalid="ignore"):
                ds = (complement_s - s * dalpha) / alpha
                dxi = (complement_xi + xi * dalpha) / v
            return dw, np.array([db]), slopes, dalpha, ds, dxi

        # 3) predictor: how far would μ fall if it were aimed at zero?
        _, _, _, dalpha, ds, dxi = solve(-alpha * s, -v * xi)
        step_p, step_d = _steps(alpha, v, s, xi, dalpha, ds, dxi, 1.0)
        aimed = float(
            (alpha + step_d * dalpha) @ (s + step_p * ds)
            + (v - step_d * dalpha) @ (xi + step_p * dxi)
        ) / (2 * count)
        sigma = (max(aimed, 0.0) / mu) ** 3

        # 4) corrector
        dw, db, slopes, dalpha, ds, dxi = solve(
            sigma * mu - alpha * s - dalpha * ds, sigma * mu - v * xi + dalpha * dxi
        )
        step_p, step_d = _steps(alpha, v, s, xi, dalpha, ds, dxi, _TO_BOUNDARY)
        # The problem is quadratic: w belongs to both sides, so both take the shorter step.
        step = min(step_p, step_d)
        state.w = state.w + step * dw
        state.b += step * float(db[0])
        state.scores = state.scores + step * slopes
        state.alpha = np.minimum(alpha + step * dalpha, c)
        state.s = s + step * ds
        state.xi = xi + step * dxi
        state.passes += 6 * rows.count / state.whole.rows.count
        state.active = int(np.count_nonzero(h > 1e-8 * h.max()))

        # 5) judge
        primal = problem.primal(state.w, state.b, state.scores)
        gap = float(state.alpha @ state.s + (c - state.alpha) @ state.xi)
        gap += (1.0 - step) ** 2 * 0.5 * float(residual_w @ residual_w)
        if problem is state.whole:
            state.expected_gap = gap / primal
            state.stalled_steps = state.stalled_steps + 1 if gap > 0.9 * state.last_gap else 0
            state.finished = state.stalled_steps >= 5
            state.last_gap = min(gap, state.last_gap)
        elif gap <= 0.5 * primal * rows.weights / rows.count:
            self._enter_stage(state, max(1e-9, WIDTH))
        if DEBUG: print(f"   m={rows.count} mu={mu:.2e} step={step:.3f} sigma={sigma:.1e} gap={gap/primal:.2e} P={primal:.8g} rw={np.linalg.norm(residual_w):.1e} rm={np.abs(residual_m).max():.1e}")

import os
DEBUG=False
WIDTH=float(os.environ.get("WIDTH","0.3"))


def _steps(
    alpha: Vector,
    v: Vector,
    s: Vector,
    xi: Vector,
    dalpha: Vector,
    ds: Vector,
    dxi: Vector,
    fraction: float,
) -> tuple[float, float]:
    """Return the longest steps, up to 1, that keep s, ξ and α, v positive."""

    def longest(value: Vector, change: Vector) -> float:
        falling = change < 0.0
        if not falling.any():
            return 1.0
        return min(1.0, fraction * float(np.min(-value[falling] / change[falling])))

    return min(longest(s, ds), longest(xi, dxi)), min(longest(alpha, dalpha), longest(v, -dalpha))
