"""Dual coordinate descent on problems side by side: each row is read once for all lanes.

The steps are those of ``dual_cd``. What differs is which examples are visited: an
example whose share of the duality gap is negligible, over all lanes together, is left alone until
the others are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem, Matrix, lane_squares

_NEGLIGIBLE = 0.2
"""Part of the allowed gap that all examples together may have when each of them is negligible."""

_MOST_NARROW = 30
"""Sweeps over some examples after which all are visited again."""


@dataclass(eq=False)
class LanesDualCDState(State):
    """Signed dual variables of all lanes, and the weights that follow from them."""

    problem: LanesProblem
    settings: Settings
    alpha: Matrix
    w: Matrix
    sweeps: core.LaneSweeps
    count: int
    """Examples that take part in some lane."""
    random: np.random.Generator
    blocks_per_call: int
    primal: float = 0.0
    narrow: int = 0
    last_gap: float = np.inf

    @property
    def point(self) -> Point:
        """The current point; the dual variables come times their labels."""
        return Point(self.w, np.zeros(self.problem.lanes), self.alpha)


class LanesDualCD:
    """Minimise the duals of all lanes exactly in one example at a time."""

    name = "dual_cd"
    serves: ClassVar[type[LanesProblem]] = LanesProblem

    def refuses(self, problem: LanesProblem) -> str | None:
        """Support smooth losses without a free intercept, in a few lanes."""
        if not (problem.loss.smooth and problem.loss.compiled):
            return f"lanes need a compiled loss with second derivatives, not {problem.loss.name}"
        if problem.free_intercept:
            return "dual_cd in lanes needs an intercept that is penalised, or none"
        if problem.lanes > MACHINE.most_lanes:
            return f"dual_cd supports at most {MACHINE.most_lanes} problems side by side"
        return None

    def start(
        self, problem: LanesProblem, warm: Point | None, settings: Settings
    ) -> LanesDualCDState:
        """Start at the warm dual variables, or at the best multiple of the costs."""
        if warm is None:
            alpha, w = _multiple_of_costs(problem)
        else:
            alpha = np.array(warm.alpha)
            problem.bring_into_range(alpha)
            w = problem.weights_to_start(alpha).copy()
        rows = problem.rows
        sweeps = core.LaneSweeps(problem.core, rows.norms, alpha, w)
        visit = problem.lanes * rows.size.sweep(problem.loss.visit_cost, 1.0)
        state = LanesDualCDState(
            problem,
            settings,
            alpha,
            w,
            sweeps,
            sweeps.active,
            np.random.default_rng(settings.seed),
            max(64, int(MACHINE.call / visit / core.block_length)),
            active=sweeps.active,
        )
        state.primal = max(float(problem.dual_values(alpha, w).sum()), 0.0)
        return state

    def advance(self, state: LanesDualCDState) -> None:
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
            ahead += _NEGLIGIBLE * allowed * (1.0 - state.active / max(1, state.count))
        state.expected_gap = ahead / state.primal if state.primal > 0.0 else np.inf
        state.finished = whole and gap == 0.0
        # 3) all again, when the active ones are done
        if state.active == 0 or ahead <= allowed or state.narrow >= _MOST_NARROW:
            state.sweeps.open()
            state.active, state.narrow = state.count, 0
        elif state.active < state.count:
            state.narrow += 1

    def _sweep(self, state: LanesDualCDState) -> float:
        """Visit every active example once; return the gap that was met."""
        allowed = state.settings.tol * state.primal
        negligible = _NEGLIGIBLE * allowed / max(1, state.count)
        gaps = np.zeros(state.problem.lanes)
        state.sweeps.begin(int(state.random.integers(2**63)))
        while not state.sweeps.sweep(negligible, state.blocks_per_call, gaps):
            state.problem.rows.checkpoint()
        state.active = state.sweeps.active
        return float(gaps.sum())


def _multiple_of_costs(problem: LanesProblem) -> tuple[Matrix, Matrix]:
    """Return the dual variables t C s_il with the largest dual value, and their weights."""
    alpha = problem.C * problem.signed_cost
    w = problem.combine(alpha)
    cost, squared = np.abs(alpha).sum(axis=0), lane_squares(w)
    loss, used = problem.loss, cost > 0.0
    if loss.dual_quadratic is not None:
        curved = squared + loss.dual_quadratic * cost
        t = np.divide(cost, curved, out=np.zeros_like(cost), where=used)
        return t * alpha, t * w
    # With t = −ℓ′(m) the slope of D is cost m − t squared: it changes its sign between m = 0 and
    # the m at which t is the largest.
    low, ones = np.zeros_like(cost), np.ones_like(cost)
    high = np.divide(loss.slope_at_zero * squared, cost, out=np.zeros_like(cost), where=used)
    for _ in range(40):
        m = 0.5 * (low + high)
        t = loss.terms(ones, ones, m, 0.0)[0]
        rises = cost * m > t * squared
        low, high = np.where(rises, low, m), np.where(rises, m, high)
    return t * alpha, t * w
