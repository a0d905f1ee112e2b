"""One thread for linear algebra while problems are being solved.

The matrices here are small, and problems already run side by side: threads inside a factorisation
would wait for each other, and round differently from machine to machine.
"""

from __future__ import annotations

import mmap
import threading
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

try:
    import resource
except ImportError:  # not on Windows, which has no such limits either
    resource = None  # type: ignore[assignment]

_WORKSPACE = 2**25 + 2**21
"""Bytes: OpenBLAS takes 2^25 and some pages for a thread's first product or factorisation."""

_limited: list[bool] = []
"""Not empty while the main thread is within a block: blocks within it need not ask again."""


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread for the block, if it is the main thread that asks.

    The limit is the whole process's, and OpenBLAS ignores what a second thread says about it while
    the first one lives: a limit set by one worker could be lifted by no other.

    Examples
    --------
    >>> from widemargin.linalg.blas import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    return _OneThread()


class _OneThread:
    """The block: a class, as a generator takes several times as long to enter and to leave."""

    def __enter__(self) -> None:
        self._before: list[tuple[Any, int]] | None = None
        if _limited:
            return
        reserve_workspace()
        if threading.current_thread() is not threading.main_thread():
            return
        counts = [(library, library.get_num_threads()) for library in _libraries()]
        self._before = [(library, threads) for library, threads in counts if threads != 1]
        for library, _ in self._before:
            library.set_num_threads(1)
        _limited.append(True)

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            return
        _limited.clear()
        for library, threads in self._before:
            library.set_num_threads(threads)


@cache
def _libraries() -> list[Any]:
    controllers = ThreadpoolController().lib_controllers
    return [library for library in controllers if library.user_api == "blas"]


def reserve_workspace() -> None:
    """Let BLAS take its work space now, or raise MemoryError.

    OpenBLAS takes it at its first call and keeps it; where the address space is limited and the
    rest too small, it asks again and again, without end. So ask here first. numpy and scipy bring
    a BLAS each.
    """
    if resource is not None and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        _reserve_within_limit()


@cache
def _reserve_within_limit() -> None:
    from scipy.linalg.lapack import dpotrf

    try:
        with ExitStack() as held:
            for _ in range(2):
                held.enter_context(mmap.mmap(-1, _WORKSPACE))
    except OSError:
        raise MemoryError("not enough memory for linear algebra") from None
    A = np.eye(64)
    dpotrf(A @ np.ones((64, 64)) + A)


def single_thread_for_good() -> None:
    """Limit BLAS to one thread from now on, in a process that works for another one."""
    for library in _libraries():
        if library.get_num_threads() != 1:
            library.set_num_threads(1)
