"""Work in a forked process, stopped when it uses more CPU seconds than it may.

Solvers and rivals differ in how they watch a time limit, and some do not. A forked child shares
the data and every loaded library with its parent, and can always be killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

FORK = multiprocessing.get_context("fork")
PR_SET_PDEATHSIG = 1
# Collecting the garbage of the parent is not part of the work.
START_SECONDS = 60.0
# A machine that is busy with something else may take this many times the CPU seconds.
PATIENCE = 20.0


class OutOfTimeError(Exception):
    """The child used up its CPU seconds and was killed."""


class DiedError(Exception):
    """The child raised or crashed; the message says how."""


def cpu_seconds(pid: int) -> float:
    """Give the CPU seconds of a process so far."""
    # The clock id that clock_getcpuclockid(3) computes on Linux.
    return time.clock_gettime((~pid << 3) | 2)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Give the CPU seconds of a call, without garbage collection, and what it returned."""
    gc.collect()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


class Child:
    """A generator that runs in a forked process; `get` waits for its next item."""

    def __init__(self, work: Callable[[], Iterator[Any]], core: int | None = None) -> None:
        self._receiver, sender = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_live, args=(work, sender, core), daemon=True)
        self._process.start()
        sender.close()
        self.get(START_SECONDS)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._receiver.close()

    def get(self, limit: float) -> Any:
        """Wait for the next item, or None at the end, for `limit` more CPU seconds."""
        pid = self._process.pid
        assert pid is not None
        stop, patience = self._used(pid) + limit, time.monotonic() + PATIENCE * limit + 1.0
        while not self._receiver.poll(max(stop - self._used(pid), 1e-3)):
            if self._used(pid) >= stop or time.monotonic() > patience:
                self._process.kill()
                raise OutOfTimeError
        try:
            what, item = self._receiver.recv()
        except EOFError:
            self._process.join()
            raise DiedError(f"ended with {self._process.exitcode}") from None
        if what == "error":
            raise DiedError(item)
        return item

    def _used(self, pid: int) -> float:
        try:
            return cpu_seconds(pid)
        except OSError:
            return 0.0


def _live(work: Callable[[], Iterator[Any]], sender: Any, core: int | None) -> None:
    # A child does not outlive its parent.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Rivals print from C.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.filterwarnings("ignore")
    if core is not None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {core})
    gc.collect()
    gc.freeze()
    gc.disable()
    sender.send(("item", None))
    try:
        for item in work():
            sender.send(("item", item))
        sender.send(("item", None))
    except Exception as error:
        sender.send(("error", f"{type(error).__name__}: {error}"))
    sender.close()
    os._exit(0)
