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

_EXTRAPOLATE_AFTER = 8
"""Visited values per feature after which the search along the sweeps is worth its price."""

_PASSES_BETWEEN = 4
"""Passes over the active examples between two searches."""

_MOST_INNER = 3.0
"""Visits, in passes over all examples, to those that are not at rest before all are seen again."""

_INNER_GOAL = 0.2
"""Share of the gap that is left when all examples are worth another look."""

_REFRESH = 25
"""Extrapolations after which W is computed from β again."""

_MANY_CLASSES = 32
"""Classes up to which a pass over all of them costs no more than one over a few."""

_LISTED_ROUNDS = 3
"""Sweeps over the classes on the lists before all classes are looked at, where they are many."""


@dataclass(eq=False)
class BlockDualCDState(BlockState):
    """The shared state, and the point that the next extrapolation starts from."""

    before: core.BlockDuals = field(default_factory=lambda: core.BlockDuals(0, 2))
    weights_before: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    residual_before: Matrix = field(default_factory=lambda: np.empty(0))
    span: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scratch: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    mean_entries: float = 1.0
    since_extrapolation: int = 0
    extrapolations: int = 0
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
        state.before = core.BlockDuals(problem.rows.count, problem.classes)
        state.scratch = np.empty_like(state.weights)
        state.mean_entries = max(1.0, problem.rows.view.nonzeros / max(1, problem.rows.count))
        self._mark(state)
        return state

    def advance(self, state: BlockDualCDState) -> None:
        """Sweep over the examples that are not at rest, then over all; extrapolate in between.

        An example is at rest when its step is nil and its dual variables are in a corner: it is
        left out at once, and seen again when the others have little left to gain.
        """
        problem = state.problem
        # 1) those that are not at rest
        visited = self._inner_sweeps(state)
        # 2) all examples, and all classes
        state.members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
        state.active = state.count
        if state.steps:
            self._mark(state)
        violation, gap, seen = state.sweep(partial(self._visit, state, False))
        state.active = core.compact(state.members, state.active)
        state.since_extrapolation += seen
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
        visited = 0
        while state.active and visited < _MOST_INNER * state.count:
            # The multipliers of a free intercept move after every sweep.
            if state.rho == 0.0 and state.active <= state.visits_per_call:
                gap, seen = self._rounds(state, goal, listed_only)
            else:
                _, gap, seen = state.sweep(partial(self._visit, state, listed_only))
                state.active = core.compact(state.members, state.active)
            visited += max(seen, 1)
            state.since_extrapolation += seen
            entries = state.since_extrapolation * state.mean_entries
            rested = state.since_extrapolation >= _PASSES_BETWEEN * state.active
            if rested and entries >= _EXTRAPOLATE_AFTER * state.weights.shape[0]:
                self._extrapolate(state)
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

    def _rounds(self, state: BlockDualCDState, goal: float, listed_only: bool) -> tuple[float, int]:
        state.active, _, gap, seen = state.problem.core.rounds(
            *_iterate(state),
            state.members,
            state.active,
            state.order,
            int(state.random.integers(2**63)),
            goal,
            min(state.visits_per_call, _PASSES_BETWEEN * state.active),
            _LISTED_ROUNDS if listed_only else _PASSES_BETWEEN,
            listed_only,
        )
        return gap, seen

    def _extrapolate(self, state: BlockDualCDState) -> None:
        state.problem.core.extrapolate(
            *_iterate(state),
            state.before,
            state.weights_before,
            state.residual_before,
            state.span,
            state.scratch,
        )
        # Long runs add up rounding in W; it is computed afresh now and then.
        state.extrapolations += 1
        if state.extrapolations % _REFRESH == 0:
            self._refresh(state)
        self._mark(state)

    def _refresh(self, state: BlockDualCDState) -> None:
        k = state.problem.classes
        beta, nothing = state.beta(), np.zeros((k, state.weights.shape[0]))
        state.weights[:] = state.problem.losses_and_combination(nothing, np.zeros(k), beta)[1]

    def _mark(self, state: BlockDualCDState) -> None:
        """Remember the point that the next extrapolation starts from, and who may leave it."""
        state.span = state.members[: state.active].copy()
        state.before.copy_from(state.duals, state.span)
        state.weights_before = state.weights.copy()
        state.residual_before = state.residual.copy()
        state.since_extrapolation = 0


def _iterate(state: BlockState) -> tuple[Any, Any, Any, Any, float]:
    """Return what every compiled call takes first."""
    return state.duals, state.weights, state.residual, state.b, state.rho
