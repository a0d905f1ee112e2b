"""Independent problems over one shared X, solved in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from joblib import effective_n_jobs

from widemargin.blas import one_blas_thread
from widemargin.interrupt import Interrupt
from widemargin.methods.choose import choice_of
from widemargin.problems.certificate import Point
from widemargin.problems.problem import Problem
from widemargin.progress import ProgressBar
from widemargin.run import Callback, Record, Solution, run
from widemargin.threads import in_threads


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
    finish: Callable[[int, Solution], None] | None = None,
) -> list[Solution]:
    """Solve every problem; the answers do not depend on the number of threads.

    Problems come as functions that make them, so that the labels and costs of a class exist only
    while it is being solved. `finish` is called with the place of each and its answer, in its
    thread.
    """
    interrupt = Interrupt()
    with ExitStack() as stack:
        stack.enter_context(interrupt)
        stack.enter_context(one_blas_thread())
        bar = stack.enter_context(ProgressBar(list(titles), tol)) if verbose else None

        def solve(place: int) -> Solution:
            callbacks: list[Callback] = []
            if bar is not None:
                callbacks.append(lambda record: bar.update(place, record))
            if callback is not None:
                callbacks.append(lambda record: callback(titles[place], record))
            problem = problems[place]()
            solution = run(
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
            if finish is not None:
                finish(place, solution)
            return solution

        work = [lambda place=place: solve(place) for place in range(len(problems))]
        return in_threads(work, effective_n_jobs(n_jobs), interrupt)
