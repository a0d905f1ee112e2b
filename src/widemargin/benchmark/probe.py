"""Record the points of a method as it runs, off the clock."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin.methods.base import Method, Progress
from widemargin.problems.certificate import Point


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A point, and the method, time and passes that led to it."""

    seconds: float
    passes: float
    iteration: int
    point: Point
    method: str = ""


@dataclass(eq=False)
class Clock:
    """Seconds of work since the start, without those of the probe itself."""

    began: float = field(default_factory=time.perf_counter)
    outside: float = 0.0

    def now(self) -> float:
        """Return the seconds so far."""
        return time.perf_counter() - self.began - self.outside


class Probed:
    """A choice whose methods are recorded at times that grow by a factor.

    Parameters
    ----------
    choice : Choice
    growth : float
        Ratio of the times of successive snapshots.
    memory : float
        Most bytes of snapshots. Above it every second snapshot is dropped and the growth squared.
    """

    def __init__(self, choice: Any, growth: float = 1.15, memory: float = 2.5e8) -> None:
        self._choice, self._growth, self._memory = choice, growth, memory
        self.clock = Clock()
        self.snapshots: list[Snapshot] = []
        self.iteration = 0
        self._due = self._passes = 0.0

    @property
    def explanation(self) -> str:
        """What was chosen, and why."""
        return str(self._choice.explanation)

    @property
    def pauses(self) -> bool:
        """Whether the method that gave way last may go on later as it was."""
        return bool(self._choice.pauses)

    def follow(self, method: str) -> None:
        """Pass on what solved the problem at a smaller C."""
        self._choice.follow(method)

    def learn(self, experience: Any) -> None:
        """Pass on what problems of the same shape have shown."""
        self._choice.learn(experience)

    def shown(self, work: float, converged: bool) -> Any:
        """Return what the methods of the run took."""
        return self._choice.shown(work, converged)

    def tries_another(self, known: Any, others: int) -> bool:
        """Whether the next problem should try what is not known yet."""
        return bool(self._choice.tries_another(known, others))

    def first(self, problem: Any, warm: Point | None, tol: float) -> Any:
        """Return the first method, recorded."""
        return _Watched(self._choice.first(problem, warm, tol), self)

    def next(self, progress: Progress) -> Any:
        """Return the method to hand over to, recorded, or None."""
        method = self._choice.next(progress)
        if method is None:
            return None
        self._passes += float(progress.passes)  # those of the next method count from zero
        return _Watched(method, self)

    def look(self, state: Any, method: str = "", always: bool = False) -> None:
        """Take a snapshot if one is due."""
        now = self.clock.now()
        if not always and now < self._due:
            return
        began = time.perf_counter()
        point = state.point
        copied = Point(np.array(point.w), np.array(point.b), _copy(point.alpha))
        passes = self._passes + float(state.passes)
        self.snapshots.append(Snapshot(now, passes, self.iteration, copied, method))
        if sum(_bytes(taken.point) for taken in self.snapshots) > self._memory:
            del self.snapshots[1::2]
            self._growth *= self._growth
        self.clock.outside += time.perf_counter() - began
        self._due = max(self._growth * now, now + 1e-4)


def _copy(alpha: Any) -> Any:
    return alpha.copy() if hasattr(alpha, "copy") else np.array(alpha)


def _bytes(point: Point) -> int:
    total = 0
    parts: tuple[Any, ...] = (point.w, point.alpha)
    for part in parts:
        arrays = (part.data, part.indices, part.indptr) if hasattr(part, "indptr") else (part,)
        total += sum(int(np.asarray(array).nbytes) for array in arrays)
    return total


class _Watched:
    """A method that takes a snapshot after every step."""

    def __init__(self, method: Method, probe: Probed) -> None:
        self._method, self._probe = method, probe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def advance(self, state: Any) -> None:
        """Advance the method, then record."""
        self._method.advance(state)
        self._probe.iteration += state.made
        self._probe.look(state, self._method.name)
