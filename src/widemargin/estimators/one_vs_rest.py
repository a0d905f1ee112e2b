"""Independent problems over one shared X, solved in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack

from joblib import effective_n_jobs

from widemargin.blas import one_blas_thread
from widemargin.interrupt import Interrupt
from widemargin.methods.choose import choice_of
from widemargin.problems.certificate import Point
from widemargin.problems.problem import Problem
from widemargin.progress import ProgressBar
from widemargin.run import Callback, Record, Solution, run


def solve_all(
    problems: Sequence[Callable[[], Problem]],
    warm: Sequence[Point | None],
    titles: Sequence[str],
    *,
    solver: str,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    callback: Callable[[str, Record], object] | None,
    seed: int,
    n_jobs: int | None,
    verbose: bool,
) -> list[Solution]:
    """Solve every problem; the answers do not depend on the number of threads.

    Problems come as functions that make them, so that the labels and costs of a class exist only
    while it is being solved.
    """
    interrupt = Interrupt()
    with ExitStack() as stack:
        stack.enter_context(interrupt)
        stack.enter_context(one_blas_thread())
        bar = stack.enter_context(ProgressBar(list(titles), tol)) if verbose else None

        def solve(place: int) -> Solution:
            callbacks: list[Callback] = []
            if bar is not None:
                callbacks.append(bar.callback(place))
            if callback is not None:
                callbacks.append(lambda record: callback(titles[place], record))
            problem = problems[place]()
            return run(
                problem,
                choice_of(solver, type(problem)),
                tol=tol,
                max_iter=max_iter,
                time_limit=time_limit,
                callbacks=callbacks,
                warm=warm[place],
                seed=seed + place,
                interrupt=interrupt,
            )

        threads = min(effective_n_jobs(n_jobs), len(problems))
        if threads == 1:
            return [solve(place) for place in range(len(problems))]
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        futures = [pool.submit(solve, place) for place in range(len(problems))]
        try:
            # Short waits, so that the main thread gets to run its signal handler.
            while wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION).not_done:
                if any(future.done() and future.exception() for future in futures):
                    break
        except BaseException:
            interrupt.request()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        if any(future.done() and future.exception() for future in futures):
            interrupt.request()
            pool.shutdown(wait=False, cancel_futures=True)
            raise next(f for f in futures if f.done() and f.exception()).exception()  # type: ignore[misc]
        return [future.result() for future in futures]
