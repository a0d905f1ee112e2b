"""What a run keeps of a method that gave way to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from widemargin.methods.base import Method
from widemargin.problems.certificate import Point

_HARDLY = 2.0
"""A method that was paused begins anew only from a point whose gap is smaller by this factor."""


@dataclass(frozen=True)
class Left:
    """What is still asked of a state whose memory is let go."""

    point: Point
    active: int
    passes: float
    expected_gap: float


@dataclass(frozen=True)
class Paused:
    """A method that gave way for a trial of another, and its state as it was."""

    method: Method
    state: Any

    def goes_on(self, method: Method, gap: float) -> bool:
        """Whether a method should go on here, and not begin anew at a point with another gap.

        What it has in hand counts for more than a point that is hardly better.
        """
        same = type(method) is type(self.method) and method.name == self.method.name
        return bool(same and self.state.expected_gap <= _HARDLY * gap)
