"""Regression over values of C: warm-started paths, and their scores on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.registry import choice_of
from widemargin.data.target_set import TargetSet
from widemargin.interrupt import Interrupt
from widemargin.linalg.blas import one_blas_thread
from widemargin.problems.certificate import Point
from widemargin.problems.regression import RegressionProblem
from widemargin.run import Solution, run
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class PathSettings:
    """What the runs of a path share: the loss and its tube, the method, the limits."""

    loss: str
    epsilon: float
    solver: str
    tol: float
    max_iter: int
    time_limit: float | None
    seed: int


def _path(
    data: TargetSet, Cs: Vector, settings: PathSettings, watch: Interrupt
) -> Iterator[tuple[RegressionProblem, Solution]]:
    """Yield problems and solutions at rising values of C, each started from the one before.

    The data come at C = 1: their costs are multiplied.
    """
    whole = RegressionProblem.of(data, settings.loss, settings.epsilon)
    warm: Point | None = None
    for place, C in enumerate(Cs):
        problem = whole.rescaled(float(C))
        solution = run(
            problem,
            choice_of(settings.solver, RegressionProblem),
            tol=settings.tol,
            max_iter=settings.max_iter,
            time_limit=settings.time_limit,
            warm=warm,
            seed=settings.seed,
            interrupt=watch,
        )
        yield problem, solution
        if watch.requested:
            return
        if place + 1 < len(Cs):
            # Dual variables grow with C; those of the loss outside of the tube in proportion.
            ratio = float(Cs[place + 1] / C)
            warm = Point(solution.w, solution.b, ratio * solution.alpha)


def path_scores(
    data: TargetSet,
    splits: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    Cs: Vector,
    settings: PathSettings,
    score: Callable[[RegressionProblem, Solution, NDArray[np.int64]], float],
    jobs: int,
) -> list[list[float]]:
    """Return the scores of every fold at rising C; `score` judges the rows held out."""
    watch = Interrupt()

    def work(train: NDArray[np.int64], test: NDArray[np.int64]) -> list[float]:
        return [score(*solved, test) for solved in _path(data.take(train), Cs, settings, watch)]

    with watch, one_blas_thread():
        tasks = [partial(work, *split) for split in splits]
        scores: list[list[float]] = in_threads(tasks, jobs, watch)
    if watch.signalled:
        raise KeyboardInterrupt("the search was interrupted")
    return scores
