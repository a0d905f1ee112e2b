"""The contract of a method: start a state, advance it; the loop belongs to `run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from widemargin.data.quick_init import quick_init
from widemargin.problems.certificate import Point


@quick_init
@dataclass(frozen=True)
class Settings:
    """What a method may know about the run it is part of."""

    tol: float
    seed: int


@dataclass(eq=False, kw_only=True)
class State(ABC):
    """Where a method stands. It adds what it needs; this is what `run` reads.

    Attributes
    ----------
    active : int
        How many examples take part in the work at present.
    expected_gap : float
        The method's own guess of the relative gap; infinity when it has none.
    passes : float
        Work so far, in passes over the data.
    finished : bool
        Whether another step could not change the point.
    misplaced : float
        Share of the examples that the last step found on the wrong side, or outside of the tube
        around a target; NaN where it is not known.
    allowed : int
        Steps that the run still allows, at least one; set before each `advance`.
    made : int
        Steps of the last `advance`: more than one where steps are cheaper than calls.
    """

    active: int = 0
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False
    misplaced: float = np.nan
    allowed: int = 1
    made: int = 1

    @property
    @abstractmethod
    def point(self) -> Point:
        """The current weights, intercept and dual variables; reading it meets no checkpoint."""


class Method(Protocol):
    """A way to solve one kind of problem.

    One that touches the data by whole products alone says ``streams = True``: it is then run on
    data that are not in memory as well.
    """

    serves: ClassVar[type[Any]]
    """The kind of problem; `refuses` may ask for more."""

    @property
    def name(self) -> str:
        """The name that ``solver=`` takes."""

    def refuses(self, problem: Any) -> str | None:
        """Return why this method does not support the problem, or None if it does."""

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> Any:
        """Return a state at the warm point, or at the method's own starting point."""

    def advance(self, state: Any) -> None:
        """Do one sweep or step.

        It may be abandoned at any checkpoint of the problem's rows; the state's point must be
        valid then.
        """


class SupportsAll:
    """Base of a method that supports every problem of its kind."""

    def refuses(self, problem: Any) -> str | None:
        """Return None: the kind of problem is all that is asked for."""
        return None


class Choice(Protocol):
    """Which method runs first, and when the state goes to another one."""

    def first(self, problem: Any, warm: Point | None, tol: float) -> Method:
        """Return the method to start with."""

    def next(self, progress: Progress) -> Method | None:
        """Return the method to hand over to, or None to go on. Asked after every step."""

    def follow(self, method: str) -> None:
        """Take note of the method that solved the same problem at a smaller C."""

    @property
    def pauses(self) -> bool:
        """Whether the method that gave way last is kept as it was, to go on if others are worse."""

    @property
    def explanation(self) -> str:
        """What was chosen, and why."""


@dataclass
class Progress:
    """What a choice may judge by: the method at work and how it fared so far.

    Its work is counted in operations (`widemargin.data.work`), never by the clock: the same data
    give the same choice on a busy machine. `expected` are the method's own estimates of the
    relative gap, `proved` is what the latest certificate of its points said, `misplaced` as in
    `State`.
    """

    problem: Any
    method: str
    tol: float
    passes: float = 0.0
    work: float = 0.0
    active: int = 0
    iterations: int = 0
    expected: list[float] = field(default_factory=list)
    proved: float = 0.0
    finished: bool = False
    misplaced: float = np.nan
