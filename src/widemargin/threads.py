"""Independent pieces of work in threads, that stop together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from widemargin.interrupt import Interrupt

Result = TypeVar("Result")


def in_threads(
    work: Sequence[Callable[[], Result]], threads: int, interrupt: Interrupt | None = None
) -> list[Result]:
    """Do all of it and return the results in order; the first error stops the rest.

    With an interrupt, work that watches it is asked to stop as well.
    """
    threads = min(threads, len(work))
    if threads <= 1:
        return [piece() for piece in work]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(piece) for piece in work]
        try:
            # Short waits, so that the main thread gets to run its signal handler.
            while wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION).not_done:
                for future in futures:
                    if future.done():
                        future.result()
            return [future.result() for future in futures]
        except BaseException:
            if interrupt is not None:
                interrupt.request()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def first_alone(
    work: Sequence[Callable[[], Result]],
    order: Sequence[int],
    alone: Callable[[], bool],
    threads: int,
    interrupt: Interrupt | None = None,
) -> list[Result]:
    """Do work in an order, piece by piece while `alone` says so, and the rest of it in threads."""
    done: dict[int, Result] = {}
    for place in order:
        if not alone():
            break
        done[place] = work[place]()
    rest = [place for place in range(len(work)) if place not in done]
    found = in_threads([work[place] for place in rest], threads, interrupt)
    done.update(zip(rest, found, strict=True))
    return [done[place] for place in range(len(work))]
