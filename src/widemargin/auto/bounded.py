"""``solver="auto"`` for bounds on the coefficients: Newton's method on the loss or its rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg


class BoundedPolicy:
    """The one method that supports the loss."""

    def shape_of(self, problem: Any, tol: float, warm: bool) -> bool:
        """Return whether the loss has second derivatives."""
        return bool(problem.loss.smooth)

    def first(self, shape: bool, follows: str) -> Decision:
        """Begin with Newton's method."""
        return Decision("newton" if shape else "proximal_newton", cause.BOUNDS)

    def next(self, shape: bool, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Never hand over."""
        return None
