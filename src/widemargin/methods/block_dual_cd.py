"""Block dual descent: exact steps in expected O(k), shrinking, extrapolation (§3, §9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.methods.base import Settings
from widemargin.methods.block_state import BlockState
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]

_FINE = 1e-7
"""A tolerance below which the rounding in W counts at every check."""

_SEARCH_AFTER = 8
"""Visited values per feature after which the search over the last moves is worth its price."""

_MOVES, _SWEEPS_BETWEEN = 3, 2
"""Moves that are searched, and sweeps between two searches."""

_LARGE_WEIGHTS = 200_000
"""Weights from which a search costs as much as a sweep: fewer moves, more sweeps."""

_MOST_INNER = 3.0
"""Visits, in passes over all examples, to those that are not at rest before all are seen again."""

_INNER_GOAL = 0.2
"""Share of the gap that is left when all examples are worth another look."""

_REFRESH = 100
"""Searches after which W is computed from β again."""

_MANY_CLASSES = 32
"""Classes up to which a pass over all of them costs no more than one over a few."""

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


class BlockDualCD:
    """Minimise the dual exactly in all dual variables of one example at a time."""

    name = "block_dual_cd"
    serves: ClassVar[type[MulticlassProblem]] = MulticlassProblem

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Serve every multiclass problem."""
        return None

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> BlockDualCDState:
        """Start at β = 0 or at the warm dual variables."""
        state = BlockDualCDState(**vars(BlockState.at(problem, warm, settings, costly=4.0)))
        rows = problem.rows
        large = state.weights.size > _LARGE_WEIGHTS
        entries = max(1.0, rows.view.nonzeros / max(1, rows.count))
        state.trail = core.BlockTrail(
            rows.count,
            problem.classes,
            rows.weights,
            _MOVES - large,
            _SWEEPS_BETWEEN + large,
            int(_SEARCH_AFTER * rows.weights / entries),
        )
        if warm is not None:
            state.trail.restart(state.duals, state.weights, state.residual)
        return state

    def advance(self, state: BlockDualCDState) -> None:
        """Sweep over the examples that are not at rest, then over all; search over the last moves.

        An example is at rest when its step is nil and its dual variables are in a corner: it is
        left out at once, and seen again when the others have little left to gain.
        """
        problem = state.problem
        # 1) those that are not at rest
        visited = self._inner_sweeps(state)
        # 2) all examples, and all classes
        state.members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
        state.active = state.count
        state.trail.set_span(state.members, state.active)
        violation, gap, seen = state.sweep(partial(self._visit, state, False))
        state.active = core.compact(state.members, state.active)
        state.trail.visits += seen
        state.passes += (visited + seen) / max(1, state.count)
        state.steps += 1
        # 3) judge
        state.judge(gap, (visited + seen) / max(1, state.count))
        if state.expected_gap <= state.settings.tol < _FINE:
            self._refresh(state)
        state.finished = violation == 0.0 and not state.residual.any()

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
        if state.problem.classes <= _MANY_CLASSES:
            return False
        return 16 * state.duals.total <= state.problem.stride * state.count

    def _visit(self, state: BlockDualCDState, listed_only: bool, place: int) -> Any:
        return state.problem.core.sweep(
            *_iterate(state),
            state.members,
            state.active,
            state.order,
            place,
            state.visits_per_call,
            0.0,
            listed_only,
        )

    def _rounds(
        self, state: BlockDualCDState, goal: float, budget: int, listed_only: bool
    ) -> tuple[float, int]:
        state.active, gap, seen, searches = state.problem.core.rounds(
            *_iterate(state),
            state.members,
            state.active,
            state.trail,
            state.order,
            int(state.random.integers(2**63)),
            goal,
            budget,
            _LISTED_ROUNDS if listed_only else _MOST_ROUNDS,
            listed_only,
        )
        state.searches += searches
        return gap, seen

    def _sweep_and_search(self, state: BlockDualCDState, listed_only: bool) -> tuple[float, int]:
        _, gap, seen = state.sweep(partial(self._visit, state, listed_only))
        state.active = core.compact(state.members, state.active)
        state.trail.visits += seen
        if state.trail.is_due(state.active):
            state.problem.core.extrapolate(
                *_iterate(state), state.members, state.active, state.trail
            )
            state.searches += 1
        return gap, seen

    def _refresh(self, state: BlockDualCDState) -> None:
        k = state.problem.classes
        beta, nothing = state.beta(), np.zeros((k, state.weights.shape[0]))
        state.weights[:] = state.problem.losses_and_combination(nothing, np.zeros(k), beta)[1]
        # The rounding that is gone was no move.
        state.trail.restart(state.duals, state.weights, state.residual)
        state.trail.set_span(state.members, state.active)
        state.searches = 0


def _iterate(state: BlockState) -> tuple[Any, Any, Any, Any, float]:
    """Return what every compiled call takes first."""
    return state.duals, state.weights, state.residual, state.b, state.rho
