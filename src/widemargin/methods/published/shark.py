"""Shark's solver as published in WALRUS: block dual descent by greedy steps."""

from __future__ import annotations

from widemargin.methods.base import Settings
from widemargin.methods.coordinate._block_state import BlockState
from widemargin.methods.published._plain_sweeps import PlainSweeps
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem


class Shark(PlainSweeps):
    """Shark's solver as WALRUS describes it: greedy steps in two weights at a time."""

    name = "shark"

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Support Weston-Watkins, whose dual variables have bounds of their own."""
        if problem.rule == "weston_watkins":
            return None
        return (
            "solver 'shark' supports multi_class='weston_watkins' only; "
            "'block_dual_cd' and 'walrus' support 'crammer_singer'"
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
