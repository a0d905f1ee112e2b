"""Dual coordinate descent on a stack of problems: every row that is read serves all lanes.

The steps are those of ``dual_cd``. What differs is who is visited: an example whose share of the
duality gap is negligible, over all lanes together, is left alone until the others are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.methods.base import Settings
from widemargin.problems.certificate import Point
from widemargin.problems.stacked import Stack, StackedProblem, lane_squares

MOST_LANES = 8
"""Lanes that one sweep serves: the weights of a feature are one line of cache."""

_ENTRIES_PER_CALL = 16_000_000
"""Stored values times lanes that one compiled call visits at most: some 20 to 50 ms of work."""

_NEGLIGIBLE = 0.2
"""Part of the allowed gap that all examples together may have when each of them is negligible."""

_MOST_NARROW = 30
"""Sweeps over some examples after which all are visited again."""


@dataclass(eq=False)
class StackedDualCDState:
    """Signed dual variables of all lanes, and the weights that follow from them."""

    problem: StackedProblem
    settings: Settings
    alpha: Stack
    w: Stack
    members: NDArray[np.int64]
    active: int
    random: np.random.Generator
    blocks_per_call: int
    primal: float = 0.0
    narrow: int = 0
    last_gap: float = np.inf
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False

    @property
    def point(self) -> Point:
        """The current point; the dual variables come times their labels."""
        return Point(self.w, np.zeros(self.problem.lanes), self.alpha)


class StackedDualCD:
    """Minimise the duals of all lanes exactly in one example at a time."""

    name = "dual_cd"
    serves: ClassVar[type[StackedProblem]] = StackedProblem

    def refuses(self, problem: StackedProblem) -> str | None:
        """Serve smooth losses without a free intercept, in a few lanes."""
        if not problem.loss.smooth:
            return f"stacked problems need a loss with second derivatives, not {problem.loss.name}"
        if problem.free_intercept:
            return "dual_cd on stacked problems needs an intercept that is penalised, or none"
        if problem.lanes > MOST_LANES:
            return f"dual_cd serves at most {MOST_LANES} stacked problems at once"
        return None

    def start(
        self, problem: StackedProblem, warm: Point | None, settings: Settings
    ) -> StackedDualCDState:
        """Start at the warm dual variables, or at the best multiple of the costs."""
        if warm is None:
            alpha, w = _multiple_of_costs(problem)
        else:
            alpha = np.array(warm.alpha)
            problem.bring_into_range(alpha)
            w = problem.combine(alpha).copy()
        rows, members = problem.rows, _members(problem)
        entries = max(1.0, problem.lanes * rows.view.nonzeros / max(1, rows.count))
        state = StackedDualCDState(
            problem,
            settings,
            alpha,
            w,
            members,
            members.size,
            np.random.default_rng(settings.seed),
            max(64, int(_ENTRIES_PER_CALL / entries / core.block_length)),
        )
        state.primal = max(float(problem.dual_values(alpha, w).sum()), 0.0)
        return state

    def advance(self, state: StackedDualCDState) -> None:
        """Sweep over the active examples; over all of them again once these are done."""
        problem, whole = state.problem, state.narrow == 0
        # 1) sweep
        state.passes += state.active / max(1, problem.rows.count)
        gap = self._sweep(state)
        # 2) judge: what was met is the gap of half a sweep ago; it is carried on at the last rate
        known = 0.0 < state.last_gap < np.inf
        rate = min(max(gap / state.last_gap, 0.05), 1.0) if known else 1.0
        state.last_gap = gap
        ahead = gap * rate
        dual = float(problem.dual_values(state.alpha, state.w).sum())
        state.primal = max(dual + ahead, 0.0)
        allowed = state.settings.tol * state.primal
        if not whole:
            ahead += _NEGLIGIBLE * allowed * (1.0 - state.active / max(1, state.members.size))
        state.expected_gap = ahead / state.primal if state.primal > 0.0 else np.inf
        state.finished = whole and gap == 0.0
        # 3) all again, when the active ones are done
        if state.active == 0 or ahead <= allowed or state.narrow >= _MOST_NARROW:
            state.members = _members(problem)
            state.active, state.narrow = state.members.size, 0
        elif state.active < state.members.size:
            state.narrow += 1

    def _sweep(self, state: StackedDualCDState) -> float:
        """Visit every active example once; return the gap that was met."""
        problem, count = state.problem, state.active
        blocks = np.arange(-(-count // core.block_length))
        seed = int(state.random.integers(2**63))
        core.shuffle(blocks, blocks.size, seed)
        allowed = state.settings.tol * state.primal
        position, gaps = 0, np.zeros(problem.lanes)
        while position < blocks.size:
            position = core.stacked_dual_sweep(
                problem.rows.view,
                problem.loss.name,
                problem.signed_cost,
                problem.C,
                problem.rows.norms,
                state.alpha,
                state.w,
                state.members,
                count,
                _NEGLIGIBLE * allowed / max(1, state.members.size),
                blocks,
                position,
                state.blocks_per_call,
                seed,
                gaps,
            )
            if position < blocks.size:
                problem.rows.checkpoint()
        state.active = core.compact(state.members, count)
        return float(gaps.sum())


def _members(problem: StackedProblem) -> NDArray[np.int64]:
    """Return the examples that take part in some lane."""
    return np.flatnonzero(problem.signed_cost.any(axis=1)).astype(np.int64)


def _multiple_of_costs(problem: StackedProblem) -> tuple[Stack, Stack]:
    """Return the dual variables t C s_il with the largest dual value, and their weights."""
    alpha = problem.C * problem.signed_cost
    w = problem.combine(alpha)
    cost, squared = np.abs(alpha).sum(axis=0), lane_squares(w)
    if problem.loss.name == "squared_hinge":
        t = np.divide(cost, squared + 0.5 * cost, out=np.zeros_like(cost), where=cost > 0.0)
        return t * alpha, t * w
    # D = cost entropy(t) - t^2 squared / 2 is concave and falls from one half on.
    low, high = np.zeros_like(cost), np.full_like(cost, 0.5)
    for _ in range(40):
        t = 0.5 * (low + high)
        rises = cost * np.log((1.0 - t) / t) > t * squared
        low, high = np.where(rises, t, low), np.where(rises, high, t)
    return t * alpha, t * w
