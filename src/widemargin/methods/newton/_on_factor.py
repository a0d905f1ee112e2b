"""What methods that run on a factor of K = X Xᵀ, or of a kernel matrix, share: an inner method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from widemargin.methods.base import Method


@dataclass(eq=False)
class OnFactorState:
    """The state of the inner method at work on the factor; `problem` is the outer one."""

    problem: Any
    inner: Any

    @property
    def expected_gap(self) -> float:
        """As the inner method expects it."""
        return float(self.inner.expected_gap)

    @property
    def active(self) -> int:
        """As in the inner method."""
        return int(self.inner.active)

    @property
    def passes(self) -> float:
        """As in the inner method, whose rows are no longer than those of K."""
        return float(self.inner.passes)

    @property
    def finished(self) -> bool:
        """As in the inner method."""
        return bool(self.inner.finished)

    @property
    def misplaced(self) -> float:
        """As in the inner method."""
        return float(self.inner.misplaced)

    @property
    def made(self) -> int:
        """As in the inner method."""
        return int(self.inner.made)

    @property
    def allowed(self) -> int:
        """As in the inner method."""
        return int(self.inner.allowed)

    @allowed.setter
    def allowed(self, steps: int) -> None:
        self.inner.allowed = steps


class OnFactor:
    """Run a method on a problem whose rows are those of a factor."""

    def __init__(self, method: Method) -> None:
        self._method = method

    @property
    def name(self) -> str:
        """The inner method's name."""
        return self._method.name

    def advance(self, state: OnFactorState) -> None:
        """Take one step of the inner method."""
        self._method.advance(state.inner)
