"""Block dual descent that visits everything, which WALRUS and Shark share."""

from __future__ import annotations

from typing import ClassVar

from widemargin.methods.base import Settings
from widemargin.methods.coordinate._block_state import BlockState
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

_LAST_DIGITS = 1e-15
"""A threshold, in units of the margin, below which violations are rounding."""


class PlainSweeps:
    """Visit every example and every class in each sweep; neither shrink nor extrapolate."""

    serves: ClassVar[type[MulticlassProblem]] = MulticlassProblem

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> BlockState:
        """Start at β = 0 or at the warm dual variables."""
        return BlockState.at(problem, warm, settings, costly=100.0)

    def advance(self, state: BlockState) -> None:
        """Sweep once over all examples, in random order."""
        sweeps = state.sweeps
        gap = state.sweep(lambda: sweeps.plain_sweep(state.visits_per_call, state.threshold))
        state.passes += 1.0
        state.judge(gap)
        if sweeps.violation == 0.0:
            if state.threshold > _LAST_DIGITS:
                state.threshold *= 0.1
            else:
                state.finished = not state.residual.any()
