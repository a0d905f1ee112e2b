"""``solver="auto"`` for robust problems: the interior point, in a few dozen steps to any tolerance.

Where its matrix is small it is factorised, else conjugate gradients multiply by it. An interior
point that cannot improve any more in floating point hands over to IPPA.
"""

from __future__ import annotations

from widemargin.methods.base import Method, Progress
from widemargin.methods.ippa import IPPA
from widemargin.methods.robust_interior_point import LARGEST_SYSTEM, RobustInteriorPoint
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem


class AutoRobust:
    """Start with the interior point."""

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
        weights = problem.rows.weights
        small = weights <= LARGEST_SYSTEM
        reason = "make a small matrix" if small else "and conjugate gradients for their matrix"
        return self._tell(RobustInteriorPoint(), f"{weights} weights {reason}")

    def next(self, progress: Progress) -> Method | None:
        """Hand over when the interior point is done."""
        if progress.method != "interior_point" or not progress.finished:
            return None
        following = IPPA()
        if following.refuses(progress.problem) is not None:
            return None
        return self._tell(following, "the interior point stalled")
