"""The problems of a cross-validation one by one, each by any method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.auto_binary import AutoBinary
from widemargin.methods.choose import choice_of
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.run import Solution, run
from widemargin.selection.folds import Effort, Folds, Solved, minority
from widemargin.selection.starts import dual_start
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


@dataclass(eq=False)
class SeparateFolds:
    """Each fold and class a problem of its own, by any method; in threads over one shared X."""

    folds: Folds
    solver: str = "auto"
    tasks: list[_Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        for fold, (train, _) in enumerate(self.folds.splits):
            rows, cost = self.folds.rows.take(np.ascontiguousarray(train)), self.folds.cost(train)
            for place, positive in enumerate(self.folds.positives):
                signs = self.folds.signs(positive)[train]
                loss, free = self.folds.loss, self.folds.free_intercept
                self.tasks.append(_Task(fold, place, BinaryProblem(rows, signs, cost, loss, free)))

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C, the problems in threads."""
        given = [None] * len(self.tasks) if start is None else start
        work = [
            lambda t=t, p=p: t.solve(C, self.solver, effort, p)
            for t, p in zip(self.tasks, given, strict=True)
        ]
        solutions = in_threads(work, effort.threads, effort.interrupt)
        shape = (len(self.folds.splits), len(self.folds.positives))
        primal, dual = np.empty(shape), np.empty(shape)
        decisions = [np.empty((test.size, shape[1])) for _, test in self.folds.splits]
        for task, solution in zip(self.tasks, solutions, strict=True):
            test = np.ascontiguousarray(self.folds.splits[task.fold][1])
            held_out = self.folds.rows.take(test).scores(solution.w) + solution.b
            decisions[task.fold][:, task.place] = held_out
            primal[task.fold, task.place] = solution.certificate.primal
            dual[task.fold, task.place] = solution.certificate.dual
        return Solved(C, decisions, primal, dual, list(solutions))

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return the (sub)gradients at C of the present weights, relative to those at zero."""
        ratios, shares = [], []
        for task in self.tasks:
            assert task.solution is not None
            problem = task.unit.rescaled(C)
            now = problem.point_at(task.solution.w, task.solution.b)
            zero = problem.point_at(np.zeros(problem.rows.weights), 0.0)
            norms = []
            for point in (now, zero):
                gradient = point.w - problem.rows.combine(point.alpha, problem.y)
                slope = float(point.alpha @ problem.y) if problem.free_intercept else 0.0
                norms.append(np.sqrt(float(gradient @ gradient) + slope**2))
            ratios.append(norms[0] / norms[1] if norms[1] > 0.0 else 0.0)
            shares.append(float(minority((problem.y * problem.cost)[:, None])[0]))
        return np.array(ratios), np.array(shares)

    def weights(self) -> tuple[Vector, Vector]:
        """Return the present weights and intercepts."""
        shape = (len(self.folds.splits), len(self.folds.positives))
        w, b = np.zeros((*shape, self.folds.rows.weights)), np.zeros(shape)
        for task in self.tasks:
            assert task.solution is not None
            w[task.fold, task.place] = task.solution.w
            b[task.fold, task.place] = task.solution.b
        return w, b

    def restart(self, C: float, w: Vector, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for task in self.tasks:
            task.solution, task.before = None, None
            task.begin = (C, w[task.fold, task.place].copy(), float(b[task.fold, task.place]))

    def step_back(self) -> None:
        """Forget the latest C."""
        for task in self.tasks:
            if task.before is not None:
                task.C, task.solution = task.before


@dataclass(eq=False)
class _Task:
    fold: int
    place: int
    unit: BinaryProblem
    C: float = 0.0
    solution: Solution | None = None
    before: tuple[float, Solution] | None = None
    begin: tuple[float, Vector, float] | None = None
    method: str = ""

    def solve(self, C: float, solver: str, effort: Effort, start: Point | None) -> Solution:
        warm, problem = start, self.unit.rescaled(C)
        if start is None and self.solution is not None:
            point = self.solution.point
            last = None if self.before is None else (self.before[0], self.before[1].alpha)
            self.before = (self.C, self.solution)
            alpha = dual_start(problem, C, (self.C, point.alpha), last)
            warm = Point(point.w, point.b, alpha)
        elif start is None and self.begin is not None:
            before, w, b = self.begin
            point = self.unit.rescaled(before).point_at(w, b)
            warm = Point(w, b, C / before * point.alpha)
        choice = choice_of(solver, BinaryProblem)
        if warm is not None and isinstance(choice, AutoBinary):
            choice.follow(self.method)
        self.C = C
        self.solution = run(
            problem,
            choice,
            tol=effort.tol,
            max_iter=effort.max_iter,
            time_limit=effort.seconds_left,
            callbacks=effort.callbacks,
            warm=warm,
            seed=effort.seed + self.place,
            interrupt=effort.interrupt,
        )
        if self.solution.iterations > 0:
            self.method = self.solution.trace[-1].method
        return self.solution
