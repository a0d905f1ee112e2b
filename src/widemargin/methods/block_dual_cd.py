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

_PASSES_BETWEEN = 2
"""Passes over the active examples between two searches: reading all the lists costs about one."""

_REOPEN = 20
"""Steps after which all examples are visited again where the intercept is free."""

_REFRESH = 25
"""Extrapolations after which W is computed from β again."""

_MANY_CLASSES = 32
"""Classes up to which a pass over all of them costs no more than one over a few."""

_FULL_EVERY = 4
"""Sweeps of which one looks at every class, where classes are many."""


@dataclass(eq=False)
class BlockDualCDState(BlockState):
    """The shared state, and the point that the next extrapolation starts from."""

    before: core.BlockDuals = field(default_factory=lambda: core.BlockDuals(0, 2))
    weights_before: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    residual_before: Matrix = field(default_factory=lambda: np.empty(0))
    span: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scratch: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    slack: float = np.inf
    mean_entries: float = 1.0
    since_extrapolation: int = 0
    extrapolations: int = 0
    sweeps: int = 0
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
        """Sweep over the active examples, again if they are few, and extrapolate.

        A step is worth at least a quarter of a pass, so that what is done once a step stays small
        beside it and steps can be counted against ``max_iter``.
        """
        problem = state.problem
        visited = 0
        while True:
            # 1) sweep, over the classes on the lists only or over all; shrink by what it saw
            listed_only = self._listed_only(state)
            violation, gap, seen = state.sweep(partial(self._visit, state, listed_only))
            state.active = core.compact(state.members, state.active)
            state.sweeps += 1
            visited += max(seen, 1)
            if not listed_only:
                state.slack = violation if violation > 0.0 else np.inf
            done = gap <= 0.5 * state.settings.tol * state.primal or state.active == 0
            if not listed_only and (done or 4 * visited >= state.count or state.rho > 0.0):
                break
            problem.rows.checkpoint()
        state.passes += visited / max(1, state.count)

        # 2) extrapolate along the sweeps since the last time, once they have cost more than it
        state.since_extrapolation += visited
        entries = state.since_extrapolation * state.mean_entries
        rested = state.since_extrapolation >= _PASSES_BETWEEN * state.active
        if rested and entries >= _EXTRAPOLATE_AFTER * state.weights.shape[0]:
            self._extrapolate(state)

        # 3) judge; open up again when the active examples are done
        state.judge(gap)
        state.steps += 1
        if state.expected_gap <= state.settings.tol < _FINE:
            self._refresh(state)
        stale = state.rho > 0.0 and state.steps % _REOPEN == 0
        if state.active == state.count:
            state.finished = violation == 0.0 and not state.residual.any()
        elif state.expected_gap <= state.settings.tol or state.active == 0 or stale:
            state.members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
            state.active = state.count
            state.slack = np.inf
            self._mark(state)

    def _listed_only(self, state: BlockDualCDState) -> bool:
        few = 16 * state.duals.total <= state.problem.stride * state.count
        return state.problem.classes > _MANY_CLASSES and few and state.sweeps % _FULL_EVERY != 0

    def _visit(self, state: BlockDualCDState, listed_only: bool, place: int) -> Any:
        return state.problem.core.sweep(
            *_iterate(state),
            state.members,
            state.active,
            state.order,
            place,
            state.visits_per_call,
            state.slack,
            listed_only,
        )

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
