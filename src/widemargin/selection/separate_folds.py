"""The problems of a cross-validation one by one, each by any method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.selection.fold_tasks import AllClasses, FoldTask, OneClass
from widemargin.selection.folds import Effort, Folds, Solved, mean_of
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


@dataclass(eq=False)
class SeparateFolds:
    """Each fold and class a problem of its own, or each fold where classes are trained together.

    By any method, in threads over one shared X.
    """

    folds: Folds
    solver: str = "auto"
    tasks: list[FoldTask] = field(default_factory=list)

    def __post_init__(self) -> None:
        folds, free = self.folds, self.folds.free_intercept
        for fold, (train, _) in enumerate(folds.splits):
            rows, cost = folds.rows.take(np.ascontiguousarray(train)), folds.cost(train)
            if folds.rule != "ovr":
                label = folds.codes[train].astype(np.int32)
                k = int(folds.classes.size)
                joint = MulticlassProblem(rows, label, cost, k, folds.rule, free)
                self.tasks.append(AllClasses(fold, 0, joint))
                continue
            for place, positive in enumerate(folds.positives):
                signs = folds.signs(positive)[train]
                one = BinaryProblem(rows, signs, cost, folds.loss, free)
                self.tasks.append(OneClass(fold, place, one))

    @property
    def _shape(self) -> tuple[int, int]:
        """Folds, and lines of weights of each."""
        return len(self.folds.splits), len(self.folds.positives)

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C, the problems in threads."""
        given = [None] * len(self.tasks) if start is None else start
        work = [
            lambda t=t, p=p: t.solve(C, self.solver, effort, p)
            for t, p in zip(self.tasks, given, strict=True)
        ]
        solutions = in_threads(work, effort.threads, effort.interrupt)
        count, lines = self._shape
        primal = np.empty((count, len(self.tasks) // count))
        dual = np.empty_like(primal)
        decisions = [np.empty((test.size, lines)) for _, test in self.folds.splits]
        for task, solution in zip(self.tasks, solutions, strict=True):
            test = np.ascontiguousarray(self.folds.splits[task.fold][1])
            decisions[task.fold][:, task.lines] = task.held_out(self.folds.rows.take(test))
            primal[task.fold, task.place] = solution.certificate.primal
            dual[task.fold, task.place] = solution.certificate.dual
        return Solved(C, decisions, primal, dual, list(solutions))

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return the (sub)gradients at C of the present weights, relative to those at zero."""
        found = np.array([task.ratio(C) for task in self.tasks])
        return found[:, 0], found[:, 1]

    def weights(self) -> tuple[Vector, Vector]:
        """Return the present weights and intercepts."""
        w, b = np.zeros((*self._shape, self.folds.rows.weights)), np.zeros(self._shape)
        for task in self.tasks:
            w[task.fold, task.lines], b[task.fold, task.lines] = task.weights()
        return w, b

    def mean_weights(self) -> tuple[Vector, Vector]:
        """Return the means over the folds."""
        return mean_of(self.weights())

    def restart(self, C: float, w: Vector, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for task in self.tasks:
            task.restart(C, w[task.fold, task.lines], b[task.fold, task.lines])

    def step_back(self) -> None:
        """Forget the latest C."""
        for task in self.tasks:
            task.step_back()
