"""Which method serves a problem: the visible table behind ``solver=``."""

from __future__ import annotations

from widemargin.methods.base import Method
from widemargin.methods.dual_cd import DualCD
from widemargin.methods.newton import LARGEST_FACTORISED, Newton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.run import Choice, Progress

METHODS: dict[str, type[Method]] = {
    "dual_cd": DualCD,
    "newton": Newton,
}


class Named:
    """One method, chosen by its name."""

    def __init__(self, name: str) -> None:
        self._method = METHODS[name]()

    @property
    def explanation(self) -> str:
        """The method's name."""
        return self._method.name

    def first(self, problem: BinaryProblem, warm: Point | None, tol: float) -> Method:
        """Return the method, or refuse the problem by a sentence."""
        reason = self._method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        return self._method

    def next(self, progress: Progress) -> Method | None:
        """Never hand over."""
        return None


class Auto:
    """Choose by the shape of the problem, and hand over when progress is too slow."""

    def __init__(self) -> None:
        self._story: list[str] = []

    @property
    def explanation(self) -> str:
        """The methods that ran, each with the reason for it."""
        return " -> ".join(self._story)

    def first(self, problem: BinaryProblem, warm: Point | None, tol: float) -> Method:
        """Start with Newton where its matrix is small, else with coordinate descent."""
        if problem.loss.smooth and problem.rows.weights <= LARGEST_FACTORISED:
            self._story.append(f"newton ({problem.rows.weights} weights)")
            return Newton()
        self._story.append("dual_cd")
        return DualCD()

    def next(self, progress: Progress) -> Method | None:
        """Hand over when the method at work would take much longer than another."""
        return None


def choice_of(solver: str) -> Choice:
    """Return the choice that ``solver=`` names."""
    if solver == "auto":
        return Auto()
    if solver not in METHODS:
        names = ", ".join(repr(name) for name in ("auto", *METHODS))
        raise ValueError(f"solver must be one of {names}; got {solver!r}")
    return Named(solver)
