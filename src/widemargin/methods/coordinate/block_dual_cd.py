"""Block dual descent: exact steps in expected O(k), shrinking, extrapolation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, SupportsAll
from widemargin.methods.coordinate._block_state import BlockState
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]

_FINE = 1e-7
"""A tolerance below which the rounding in W counts at every check."""

_MOVES, _SWEEPS_BETWEEN = 3, 2
"""Moves that are searched, and sweeps between two searches."""

_MOST_INNER = 3.0
"""Visits, in passes over all examples, to those that are not at rest before all are seen again."""

_INNER_GOAL = 0.2
"""Share of the gap that is left when all examples are worth another look."""

_REFRESH = 100
"""Searches after which W is computed from β again."""

_MOST_ROUNDS = 16
"""Sweeps over the examples that are not at rest in one compiled call."""

_LISTED_ROUNDS = 3
"""Sweeps over the classes on the lists before all classes are looked at, where they are many."""


@dataclass(eq=False)
class BlockDualCDState(BlockState):
    """The shared state, and the moves that led to it."""

    trail: core.BlockTrail = field(default_factory=lambda: core.BlockTrail(0, 2, 0, 1, 1, 0))
    searches: int = 0
    steps: int = 0


class BlockDualCD(SupportsAll):
    """Minimise the dual exactly in all dual variables of one example at a time."""

    name = "block_dual_cd"
    serves: ClassVar[type[MulticlassProblem]] = MulticlassProblem

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> BlockDualCDState:
        """Start at β = 0 or at the warm dual variables."""
        state = BlockDualCDState(**vars(BlockState.at(problem, warm, settings, costly=4.0)))
        rows = problem.rows
        large = state.weights.size > MACHINE.large_weights
        entries = max(1.0, rows.view.nonzeros / max(1, rows.count))
        state.trail = core.BlockTrail(
            rows.count,
            problem.classes,
            rows.weights,
            _MOVES - large,
            _SWEEPS_BETWEEN + large,
            int(MACHINE.search_after * rows.weights / entries),
        )
        if warm is not None:
            state.trail.restart(state.duals, state.weights, state.residual)
        return state

    def advance(self, state: BlockDualCDState) -> None:
        """Sweep over the examples that are not at rest, then over all; search over the last moves.

        An example is at rest when its step is nil and its dual variables are in a corner: it is
        left out at once, and seen again when the others have little left to gain.
        """
        # 1) those that are not at rest
        visited = self._inner_sweeps(state)
        # 2) all examples, and all classes
        sweeps = state.sweeps
        sweeps.open()
        sweeps.set_span(state.trail)
        gap = state.sweep(lambda: sweeps.sweep(state.visits_per_call, False))
        seen = sweeps.visited
        state.trail.visits += seen
        state.passes += (visited + seen) / max(1, state.count)
        work = state.problem.rows.size.block_sweep(state.problem.stride, visited + seen)
        state.problem.meter.add(MACHINE.sweep_call + work)
        state.steps += 1
        # 3) judge
        state.judge(gap, (visited + seen) / max(1, state.count))
        if state.expected_gap <= state.settings.tol < _FINE:
            self._refresh(state)
        state.finished = sweeps.violation == 0.0 and not state.residual.any()

    def _inner_sweeps(self, state: BlockDualCDState) -> int:
        """Sweep over the active examples until the gap seen there is a share of what it was."""
        if not state.steps or not state.active:
            return 0
        goal = max(_INNER_GOAL * state.last_gap, 0.6 * state.settings.tol * state.primal)
        listed_only = self._listed_only(state)
        visited, most = 0, int(_MOST_INNER * state.count)
        while state.active and visited < most:
            # The multipliers of a free intercept move after every sweep.
            if state.rho == 0.0 and state.active <= state.visits_per_call:
                budget = min(state.visits_per_call, most - visited)
                gap, seen = self._rounds(state, goal, budget, listed_only)
            else:
                gap, seen = self._sweep_and_search(state, listed_only)
            visited += max(seen, 1)
            if state.searches >= _REFRESH:
                # Long runs add up rounding in W.
                self._refresh(state)
            state.problem.rows.checkpoint()
            if gap <= goal or listed_only:
                break
        return visited

    def _listed_only(self, state: BlockDualCDState) -> bool:
        """Whether to move only what is not zero: where classes are many, most never matter."""
        if state.problem.classes <= MACHINE.many_classes:
            return False
        return 16 * state.duals.total <= state.problem.stride * state.count

    def _rounds(
        self, state: BlockDualCDState, goal: float, budget: int, listed_only: bool
    ) -> tuple[float, int]:
        gap, seen, searches = state.sweeps.rounds(
            state.trail,
            int(state.random.integers(2**63)),
            goal,
            budget,
            _LISTED_ROUNDS if listed_only else _MOST_ROUNDS,
            listed_only,
        )
        state.active = state.sweeps.active
        self._note_searches(state, searches)
        return gap, seen

    def _sweep_and_search(self, state: BlockDualCDState, listed_only: bool) -> tuple[float, int]:
        sweeps = state.sweeps
        gap = state.sweep(lambda: sweeps.sweep(state.visits_per_call, listed_only))
        state.trail.visits += sweeps.visited
        if state.trail.is_due(state.active):
            sweeps.extrapolate(state.trail)
            self._note_searches(state, 1)
        return gap, sweeps.visited

    def _note_searches(self, state: BlockDualCDState, count: int) -> None:
        """Count searches, and what they cost: the examples that moved are gone through."""
        state.searches += count
        example = MACHINE.search_example + MACHINE.search_class * state.problem.stride
        state.problem.meter.add(count * state.active * example)

    def _refresh(self, state: BlockDualCDState) -> None:
        k = state.problem.classes
        beta, nothing = state.beta(), np.zeros((k, state.weights.shape[0]))
        state.weights[:] = state.problem.losses_and_combination(nothing, np.zeros(k), beta)[1]
        # The rounding that is gone was no move.
        state.trail.restart(state.duals, state.weights, state.residual)
        state.sweeps.set_span(state.trail)
        state.searches = 0
