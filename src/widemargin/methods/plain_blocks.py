"""Block dual descent as published, to compare with: WALRUS's sorting step, Shark's greedy one."""

from __future__ import annotations

from typing import ClassVar

from widemargin.methods.base import Settings
from widemargin.methods.block_state import BlockState
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

_LAST_DIGITS = 1e-15
"""A threshold, in units of the margin, below which violations are rounding."""


class _PlainBlocks:
    """Visit every example and every class in each sweep; neither shrink nor extrapolate."""

    serves: ClassVar[type[MulticlassProblem]] = MulticlassProblem

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> BlockState:
        """Start at β = 0 or at the warm dual variables."""
        return BlockState.at(problem, warm, settings, costly=100.0)

    def advance(self, state: BlockState) -> None:
        """Sweep once over all examples, in random order."""
        violation, gap, _ = state.sweep(
            lambda place: state.problem.core.plain_sweep(
                state.duals,
                state.weights,
                state.residual,
                state.b,
                state.rho,
                state.members,
                state.active,
                state.order,
                place,
                state.visits_per_call,
                state.threshold,
            )
        )
        state.passes += 1.0
        state.judge(gap)
        if violation == 0.0:
            if state.threshold > _LAST_DIGITS:
                state.threshold *= 0.1
            else:
                state.finished = not state.residual.any()


class Walrus(_PlainBlocks):
    """WALRUS, algorithms 1 and 2: the exact step, by sorting."""

    name = "walrus"

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Serve every multiclass problem."""
        return None


class Shark(_PlainBlocks):
    """Shark's solver as WALRUS describes it: greedy steps in two weights at a time."""

    name = "shark"

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Serve Weston-Watkins, whose dual variables have bounds of their own."""
        return self.refuses_rule(problem.rule)

    @staticmethod
    def refuses_rule(rule: str) -> str | None:
        """Return why a rule cannot be served, or None."""
        if rule == "weston_watkins":
            return None
        return (
            "solver 'shark' serves multi_class='weston_watkins' only; "
            "'block_dual_cd' and 'walrus' serve 'crammer_singer'"
        )

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> BlockState:
        """Start with the violation at which a block counts as solved, in units of the margin.

        A sweep that finds no larger one lowers it: the gap may be too large still.
        """
        state = super().start(problem, warm, settings)
        state.threshold = 0.01 * min(1.0, settings.tol)
        return state
