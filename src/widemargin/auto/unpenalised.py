"""``solver="auto"`` for problems without a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg


class UnpenalisedPolicy:
    """Newton's method is the only one, and its curvature is the proof."""

    decision: ClassVar[Decision] = Decision("newton", cause.NO_PENALTY)

    def shape_of(self, problem: Any, tol: float, warm: bool) -> None:
        """Look at nothing: there is one method."""

    def first(self, shape: None, follows: str) -> Decision:
        """Return the one method."""
        return self.decision

    def next(self, shape: None, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Never hand over."""
        return None
