"""``solver="auto"`` for robust problems.

The interior point while its matrix is small: the same few dozen steps to any tolerance. With more
weights the incremental methods: IPPA where a step costs no more than the row (norm 2), else ISG
handed over to IPPA. An interior point that cannot improve any more in floating point hands over
too.
"""

from __future__ import annotations

from widemargin.methods.base import Method, Progress
from widemargin.methods.hybrid import Hybrid
from widemargin.methods.ippa import IPPA
from widemargin.methods.robust_interior_point import RobustInteriorPoint
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem


class AutoRobust:
    """Choose by the shape of the problem."""

    def __init__(self) -> None:
        self._story: list[str] = []
        self._hybrid: Hybrid | None = None

    @property
    def explanation(self) -> str:
        """The methods that ran, each with the reason for it."""
        told = list(self._story)
        if self._hybrid is not None:
            told.append(self._hybrid.explanation)
        return " -> ".join(told)

    def _tell(self, method: Method, reason: str) -> Method:
        self._story.append(f"{method.name} ({reason})")
        return method

    def first(self, problem: RobustProblem, warm: Point | None, tol: float) -> Method:
        """Start with the interior point where its matrix can be formed."""
        weights = problem.rows.weights
        interior = RobustInteriorPoint()
        refused = interior.refuses(problem)
        if refused is None:
            return self._tell(interior, f"{weights} weights make a small matrix")
        if IPPA().refuses(problem) is not None:
            raise ValueError(refused)
        if problem.norm == 2.0:
            return self._tell(IPPA(), f"{weights} weights, and steps as cheap as the rows")
        self._hybrid = Hybrid()
        return self._hybrid.first(problem, warm, tol)

    def next(self, progress: Progress) -> Method | None:
        """Hand over when the method at work is done."""
        if progress.method == "interior_point" and progress.finished:
            following = IPPA()
            if following.refuses(progress.problem) is None:
                return self._tell(following, "the interior point stalled")
        return None if self._hybrid is None else self._hybrid.next(progress)
