"""``solver="auto"`` for robust problems: the interior point while its matrix is small."""

from __future__ import annotations

from widemargin.methods.base import Method, Progress
from widemargin.methods.robust_interior_point import RobustInteriorPoint
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem


class AutoRobust:
    """Choose by the shape of the problem."""

    def __init__(self) -> None:
        self._story: list[str] = []

    @property
    def explanation(self) -> str:
        """The methods that ran, each with the reason for it."""
        return " -> ".join(self._story)

    def _tell(self, method: Method, reason: str) -> Method:
        self._story.append(f"{method.name} ({reason})")
        return method

    def first(self, problem: RobustProblem, warm: Point | None, tol: float) -> Method:
        """Start with the interior point."""
        return self._tell(RobustInteriorPoint(), f"{problem.rows.weights} weights")

    def next(self, progress: Progress) -> Method | None:
        """Never hand over."""
        return None
