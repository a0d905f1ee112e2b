"""Cases run in a child process, many each, so that a crash or a hang is seen and survived."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

_FIRST = 120.0
"""Seconds more for the first case of a child, which imports everything."""
_AHEAD = 16
"""Cases that a child knows of, so that it never waits for the next one."""
_LOOKS = 0.2
"""Seconds between two looks at a process that is waited for."""

Case = Callable[[int, int], "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    Attributes
    ----------
    kind : str
        The row of the table it belongs to.
    result : str
        The column, such as "true" or "refused".
    failure : str
        What is wrong, in one line; empty if nothing is.
    """

    kind: str
    result: str
    failure: str = ""


class Patience:
    """How long to wait for a process: by its own CPU seconds, so that a busy machine is no hang.

    It has run out when the process has used `limit` CPU seconds, and also when six times as many
    seconds have gone by in which it used none: a process that can run gets some by then, however
    busy the machine.
    """

    def __init__(self, pid: int, limit: float) -> None:
        self._pid, self._limit = pid, limit
        self._began = self._last = self._used()
        self._since = time.monotonic()

    def over(self) -> bool:
        """Say whether the process hangs."""
        used = self._used()
        if used != self._last:
            self._last, self._since = used, time.monotonic()
        waited = time.monotonic() - self._since
        return used - self._began > self._limit or waited > 6.0 * self._limit

    def _used(self) -> float:
        """Return the CPU seconds of the process so far; none where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def outcomes(
    case: Case, seed: int, seconds: float, limit: float, most: float = inf, jobs: int = 1
) -> Iterator[tuple[int, Outcome]]:
    """Run cases until the time is over or `most` are done; yield their numbers and outcomes.

    Each may use `limit` seconds, see `Patience`; `jobs` of them run at once.
    """
    end = time.monotonic() + seconds
    if jobs == 1:
        yield from _sequence(_Child.maker(case, seed, limit), end, most, count())
        return
    found: Queue[tuple[int, Outcome] | None] = Queue()
    closed = Event()

    def work(first: int) -> None:
        try:
            for one in _sequence(_Child.maker(case, seed, limit), end, most, count(first, jobs)):
                found.put(one)
                if closed.is_set():
                    break
        finally:
            found.put(None)

    threads = [Thread(target=work, args=(first,)) for first in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        running = jobs
        while running:
            one = found.get()
            if one is None:
                running -= 1
            else:
                yield one
    finally:
        closed.set()
        for thread in threads:
            thread.join()


def _sequence(
    make: Callable[[], _Child], end: float, most: float, numbers: Iterator[int]
) -> Iterator[tuple[int, Outcome]]:
    """Run cases one after another, in one child for as long as it lives."""
    child, asked = None, deque[int]()
    try:
        while time.monotonic() < end:
            while len(asked) < _AHEAD:
                number = next(numbers)
                if number >= most:
                    break
                asked.append(number)
                if child is not None:
                    child.ask(number)
            if not asked:
                return
            if child is None:
                child = make()
                for number in asked:
                    child.ask(number)
            outcome = child.answer()
            if outcome is None:
                outcome = Outcome("child process", "failed", child.ending())
                child = None
            yield asked.popleft(), outcome
    finally:
        if child is not None:
            child.stop()


class _Child:
    def __init__(self, case: Case, seed: int, limit: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(far, case, seed), daemon=True)
        self._process.start()
        far.close()
        self._limit, self._first = limit, True

    @classmethod
    def maker(cls, case: Case, seed: int, limit: float) -> Callable[[], _Child]:
        """Return what starts such a child."""
        return lambda: cls(case, seed, limit)

    def ask(self, number: int) -> None:
        """Ask for a case; the child answers in the order of the questions."""
        with suppress(OSError):  # a child that died is seen when it does not answer
            self._pipe.send(number)

    def answer(self) -> Outcome | None:
        """Return the next outcome; None if the child died or took too long."""
        limit = self._limit + _FIRST * self._first
        self._first = False
        patience = Patience(self._process.pid or 0, limit)
        try:
            while not self._pipe.poll(_LOOKS):
                if patience.over():
                    return None
            return self._pipe.recv()
        except (EOFError, OSError):
            return None

    def ending(self) -> str:
        """End a child that gave no answer, and say what it was about."""
        self._process.join(1.0)
        code = self._process.exitcode
        self.stop()
        if code is None:
            return f"no answer after {self._limit:g} s"
        return f"the process ended with code {code}" if code >= 0 else f"died of signal {-code}"

    def stop(self) -> None:
        """End the child."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, case: Callable[[int, int], Any], seed: int) -> None:
    """Answer the numbers of cases with their outcomes, for as long as there are any."""
    while True:
        try:
            number = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            outcome = case(seed, number)
        except Exception as error:  # of the judge, or of the draw
            outcome = Outcome("child process", "failed", f"{type(error).__name__}: {error}")
        pipe.send(outcome)
