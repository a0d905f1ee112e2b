"""What every problem can do: start from nothing, be watched, and turn a point into a proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol

from widemargin.problems.certificate import Certificate, Point

if TYPE_CHECKING:
    from typing_extensions import Self


class Problem(Protocol):
    """What is minimised. It knows its primal and its dual, and not how it is solved."""

    kind: ClassVar[str]
    """The plural that messages use: "binary problems"."""

    def watched(self, checkpoint: Callable[[], None]) -> Self:
        """Return the same problem, calling `checkpoint` between compiled calls."""

    def cold_point(self) -> Point:
        """Return the point a method starts from when it has no better one: nothing but zeros."""

    def certify(self, point: Point) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data."""


class ScalableProblem(Problem, Protocol):
    """A problem that can be asked at another C; its dual feasible points scale with it."""

    def rescaled(self, factor: float) -> Self:
        """Return the problem with all costs multiplied; α times the factor is feasible there."""
