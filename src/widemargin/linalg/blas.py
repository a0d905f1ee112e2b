"""One thread for linear algebra while problems are being solved.

The matrices here are small, and problems already run side by side: threads inside a factorisation
would wait for each other, and round differently from machine to machine.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread for the block, if it is the main thread that asks.

    The limit is the whole process's, and OpenBLAS ignores what a second thread says about it while
    the first one lives: a limit set by one worker could be lifted by no other.

    Examples
    --------
    >>> from widemargin.linalg.blas import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    limited = [(library, library.get_num_threads()) for library in _libraries()]
    limited = [(library, threads) for library, threads in limited if threads != 1]
    for library, _ in limited:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, threads in limited:
            library.set_num_threads(threads)


@cache
def _libraries() -> list[Any]:
    controllers = ThreadpoolController().lib_controllers
    return [library for library in controllers if library.user_api == "blas"]
