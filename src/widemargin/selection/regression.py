"""Regression over values of C: warm-started paths, and their scores on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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


@dataclass(frozen=True, eq=False)
class FoldPath:
    """The solutions of one fold, for rising C, and their scores on the rows held out."""

    problems: list[RegressionProblem]
    solutions: list[Solution]
    scores: list[float]


def path_of(
    data: TargetSet, Cs: Vector, settings: PathSettings, watch: Interrupt | None = None
) -> tuple[list[RegressionProblem], list[Solution]]:
    """Solve the problem of a training set at rising values of C, each from the one before.

    The data come at C = 1: their costs are multiplied.
    """
    whole = RegressionProblem.of(data, settings.loss, settings.epsilon)
    problems, solutions = [], list[Solution]()
    warm: Point | None = None
    for place, C in enumerate(Cs):
        problem = whole.rescaled(float(C))
        if solutions:
            # Dual variables grow with C; those of the loss outside of the tube in proportion.
            last, ratio = solutions[-1], float(C / Cs[place - 1])
            warm = Point(last.w, last.b, ratio * last.alpha)
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
        problems.append(problem)
        solutions.append(solution)
        if watch is not None and watch.requested:
            break
    return problems, solutions


def scored_paths(
    data: TargetSet,
    splits: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    Cs: Vector,
    settings: PathSettings,
    score: Callable[[RegressionProblem, Solution, NDArray[np.int64]], float],
    jobs: int,
) -> list[FoldPath]:
    """Return the path of every fold with its scores; `score` judges the rows held out."""
    watch = Interrupt()

    def work(train: NDArray[np.int64], test: NDArray[np.int64]) -> FoldPath:
        problems, solutions = path_of(data.take(train), Cs, settings, watch)
        scores = [score(p, s, test) for p, s in zip(problems, solutions, strict=True)]
        return FoldPath(problems, solutions, scores)

    with watch, one_blas_thread():
        tasks: list[Callable[[], Any]] = [partial(work, *split) for split in splits]
        folds: list[FoldPath] = in_threads(tasks, jobs, watch)
    if watch.signalled:
        raise KeyboardInterrupt("the search was interrupted")
    return folds
