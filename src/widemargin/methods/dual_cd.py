"""Dual coordinate descent: random order, shrinking, extrapolation, exact intercept (§2, §9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.methods.base import Settings, cold_point
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_ENTRIES_PER_CALL = 8_000_000
"""Stored values that one compiled call visits at most: some 20 to 50 ms of work."""

_FINE = 1e-7
"""A tolerance below which the rounding in w counts at every check."""

_REFRESH = 25
"""Extrapolations after which w is computed from α again."""


@dataclass(eq=False)
class DualCDState:
    """Dual variables, and the weights w = Σ α_i y_i x_i that follow from them."""

    problem: BinaryProblem
    settings: Settings
    alpha: Vector
    w: Vector
    b: float
    rho: float
    members: NDArray[np.int64]
    active: int
    residual: float
    alpha_before: Vector
    w_before: Vector
    residual_before: float
    scratch: Vector
    random: np.random.Generator
    shrink_low: float = -np.inf
    shrink_high: float = np.inf
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False
    blocks_per_call: int = 1
    count: int = 0
    mean_entries: float = 1.0
    since_extrapolation: int = 0
    extrapolations: int = 0
    last_gap: float = np.inf

    @property
    def point(self) -> Point:
        """The current point; the intercept is the multiplier's running value."""
        return Point(self.w, self.b + self.rho * self.residual, self.alpha)


class DualCD:
    """Minimise the dual exactly in one α_i at a time, each at the cost of one row."""

    name = "dual_cd"

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve every binary problem."""
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> DualCDState:
        """Start at α = 0 or at the warm dual variables."""
        rows = problem.rows
        point = cold_point(problem) if warm is None else warm
        alpha = problem.loss.clip(point.alpha, problem.cost)
        w = rows.combine(alpha, problem.y) if alpha.any() else np.zeros(rows.weights)
        # An example without cost has no say, and its coordinate no curvature.
        members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
        norm = float(rows.norms.mean()) if rows.count else 1.0
        entries = max(1.0, rows.view.nonzeros / max(1, rows.count))
        return DualCDState(
            problem,
            settings,
            alpha,
            w,
            b=point.b if problem.free_intercept else 0.0,
            rho=(norm if norm > 0.0 else 1.0) if problem.free_intercept else 0.0,
            members=members,
            active=members.size,
            residual=float(alpha @ problem.y),
            alpha_before=alpha.copy(),
            w_before=w.copy(),
            residual_before=float(alpha @ problem.y),
            scratch=np.empty_like(w),
            random=np.random.default_rng(settings.seed),
            mean_entries=entries,
            count=members.size,
            blocks_per_call=max(64, int(_ENTRIES_PER_CALL / entries / core.block_length)),
        )

    def advance(self, state: DualCDState) -> None:
        """Do one sweep over the active examples."""
        problem = state.problem
        fixed = (
            problem.rows.view,
            problem.loss.name,
            problem.y,
            problem.cost,
            problem.rows.norms,
            state.alpha,
            state.w,
            state.members,
            state.active,
        )

        # 1) the sweep, in calls short enough for interrupts to be seen between them
        visited = state.active
        blocks = np.arange(-(-visited // core.block_length))
        seed = int(state.random.integers(2**63))
        core.shuffle(blocks, blocks.size, seed)
        largest, smallest, gap, position = -np.inf, np.inf, 0.0, 0
        while position < blocks.size:
            position, state.residual, high, low, part = core.dual_sweep(
                *fixed,
                state.residual,
                state.b,
                state.rho,
                state.shrink_low,
                state.shrink_high,
                blocks,
                position,
                state.blocks_per_call,
                seed,
            )
            largest, smallest, gap = max(largest, high), min(smallest, low), gap + part
            if position < blocks.size:
                problem.rows.checkpoint()
        state.active = core.compact(state.members, visited)
        state.passes += visited / max(1, state.count)

        # 2) extrapolate along the sweeps since the last time, once they have cost more than it does
        state.since_extrapolation += visited
        if state.since_extrapolation * state.mean_entries >= 2 * state.w.size:
            _, state.residual = core.extrapolate(
                *fixed[:-1],
                state.active,
                state.residual,
                state.b,
                state.rho,
                state.alpha_before,
                state.w_before,
                state.residual_before,
                state.scratch,
            )
            # Long runs add up rounding in w; it is computed afresh now and then.
            state.extrapolations += 1
            if state.extrapolations % _REFRESH == 0:
                state.w[:] = problem.rows.combine(state.alpha, problem.y)
            np.copyto(state.alpha_before, state.alpha)
            np.copyto(state.w_before, state.w)
            state.residual_before = state.residual
            state.since_extrapolation = 0

        # 3) the multiplier of Σ α_i y_i = 0 takes over what the penalty had to do
        if state.rho > 0.0:
            state.b += state.rho * state.residual
            gap += abs(state.rho * state.residual) * abs(state.residual)

        # 4) shrink by what this sweep saw; open up again when the active examples are done
        state.shrink_high = largest if largest > 0.0 else np.inf
        state.shrink_low = smallest if smallest < 0.0 else -np.inf
        state.expected_gap = self._expected_gap(state, gap)
        if state.expected_gap <= state.settings.tol < _FINE:
            state.w[:] = problem.rows.combine(state.alpha, problem.y)
        if state.active == state.count:
            state.finished = largest == 0.0 and smallest == 0.0 and state.residual == 0.0
        elif state.expected_gap <= state.settings.tol or state.active == 0:
            state.members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
            state.active = state.count
            state.shrink_high, state.shrink_low = np.inf, -np.inf

    def _expected_gap(self, state: DualCDState, gap: float) -> float:
        """Predict the relative gap at the end of the sweep from what was seen during it.

        The sum over the visits is the gap as it was on average half a sweep ago; it is carried
        forward at the rate of the last sweep.
        """
        dual = state.problem.loss.dual_total(state.alpha, state.problem.cost) - 0.5 * float(
            state.w @ state.w
        )
        rate = gap / state.last_gap if state.last_gap > 0.0 else 1.0
        state.last_gap = gap
        gap *= min(max(rate, 0.05), 1.0)
        primal = dual + gap
        return gap / primal if primal > 0.0 else np.inf
