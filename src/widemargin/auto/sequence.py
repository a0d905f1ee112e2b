"""``solver="auto"`` for sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg


class SequencePolicy:
    """Visit sentences one by one; the other methods are there to compare with."""

    decision: ClassVar[Decision] = Decision("cached_frank_wolfe", cause.CACHED_LABELINGS)

    def shape_of(self, problem: Any, tol: float, warm: bool) -> None:
        """Look at nothing: there is one method."""

    def first(self, shape: None, follows: str) -> Decision:
        """Return the one method."""
        return self.decision

    def next(self, shape: None, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Never hand over."""
        return None


class ConditionalPolicy(SequencePolicy):
    """Dual block ascent; quasi-Newton steps on the primal are there to compare with."""

    decision = Decision("exponentiated_gradient", cause.MARGINALS)
