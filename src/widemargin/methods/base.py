"""The contract of a method: start a state, advance it; the loop belongs to `run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from widemargin.problems.certificate import Point


@dataclass(frozen=True)
class Settings:
    """What a method may know about the run it is part of."""

    tol: float
    seed: int


class State(Protocol):
    """Where a method stands. It may hold more; this is what `run` reads."""

    @property
    def point(self) -> Point:
        """The current weights, intercept and dual variables; reading it meets no checkpoint."""

    @property
    def expected_gap(self) -> float:
        """The method's own guess of the relative gap; infinity when it has none."""

    @property
    def active(self) -> int:
        """How many examples take part in the work at present."""

    @property
    def passes(self) -> float:
        """Work so far, in passes over the data."""

    @property
    def finished(self) -> bool:
        """Whether another step could not change the point."""


class Method(Protocol):
    """A way to solve one kind of problem."""

    serves: ClassVar[type[Any]]
    """The kind of problem; `refuses` may ask for more."""

    @property
    def name(self) -> str:
        """The name that ``solver=`` takes."""

    def refuses(self, problem: Any) -> str | None:
        """Return why this method cannot serve the problem, or None if it can."""

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> Any:
        """Return a state at the warm point, or at the method's own starting point."""

    def advance(self, state: Any) -> None:
        """Do one sweep or step.

        It may be abandoned at any checkpoint of the problem's rows; the state's point must be
        valid then.
        """


class Choice(Protocol):
    """Which method runs first, and when the state goes to another one."""

    def first(self, problem: Any, warm: Point | None, tol: float) -> Method:
        """Return the method to start with."""

    def next(self, progress: Progress) -> Method | None:
        """Return the method to hand over to, or None to go on. Asked after every step."""

    @property
    def explanation(self) -> str:
        """What was chosen, and why."""


@dataclass
class Progress:
    """What a choice may judge by: the method at work and how it fared so far.

    There are no seconds in it: the same data give the same choice on a busy machine.
    """

    problem: Any
    method: str
    tol: float
    passes: float = 0.0
    active: int = 0
    iterations: int = 0
    expected: list[float] = field(default_factory=list)
    finished: bool = False
