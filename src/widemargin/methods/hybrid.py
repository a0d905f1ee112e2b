"""Hybrid: mini-batch ISG for the first part of the way, IPPA for the rest (DRSVM, section 5.1)."""

from __future__ import annotations

from widemargin.methods.base import Method, Progress
from widemargin.methods.ippa import IPPA
from widemargin.methods.isg import ISG
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem

_PATIENCE = 32
"""Steps without a gap smaller by a third after which ISG has done its part."""


class Hybrid:
    """Start with ISG, and hand over to IPPA when it slows down."""

    name = "hybrid"

    def __init__(self) -> None:
        self._story: list[str] = []

    @property
    def explanation(self) -> str:
        """What ran."""
        return f"hybrid: {' -> '.join(self._story)}"

    def first(self, problem: RobustProblem, warm: Point | None, tol: float) -> Method:
        """Start with ISG, or go on with IPPA from a warm point."""
        method = ISG() if warm is None else IPPA()
        reason = method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        self._story.append(method.name)
        return method

    def next(self, progress: Progress) -> Method | None:
        """Hand over once the gap has not fallen by a third for a while."""
        if progress.method != "isg":
            return None
        seen = progress.expected
        stalled = len(seen) > _PATIENCE and seen[-1] > 0.7 * seen[-1 - _PATIENCE]
        if not (stalled or progress.finished):
            return None
        self._story.append(f"ippa (after {progress.iterations} sweeps)")
        return IPPA()
