"""What reads the data once more after a run: left out where the time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

from widemargin.interrupt import Interrupt
from widemargin.run import Solution, Status

T = TypeVar("T")


class _TimeIsUp(Exception):  # noqa: N818 - a signal, not an error
    pass


class AfterRun:
    """The rest of a run's time, for passes over data that are not in memory.

    In memory they are short, and are always made.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    time_limit : float or None
        Of the run that has found the solution.
    watch : Interrupt or None
    """

    def __init__(
        self, problem: Any, solution: Solution, time_limit: float | None, watch: Interrupt | None
    ) -> None:
        self._problem = problem
        self._deadline, self._watch, self._late = math.inf, watch, False
        if problem.rows.elsewhere:
            self._problem = problem.watched(self._checkpoint)
            self._late = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
            if time_limit is not None:
                self._deadline = time.perf_counter() + time_limit - solution.seconds

    def _checkpoint(self) -> None:
        if time.perf_counter() >= self._deadline or (self._watch and self._watch.requested):
            self._late = True
            raise _TimeIsUp

    def unless_late(self, work: Callable[[Any], T], otherwise: T) -> T:
        """Return what work on the problem comes to, or `otherwise` if it would be late."""
        try:
            return otherwise if self._late else work(self._problem)
        except _TimeIsUp:
            return otherwise
