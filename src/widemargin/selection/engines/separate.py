"""The problems of a cross-validation one by one, each by any method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.compressed_duals import CompressedDuals, residual_of
from widemargin.problems.multiclass import both_classes, one_for_two
from widemargin.problems.rules import JOINT, JointProblem, joint_problem
from widemargin.problems.softmax import SoftmaxProblem
from widemargin.problems.sparse_weights import SparseProblem, least_subgradient
from widemargin.run import Solution
from widemargin.selection.continuation import Continuation
from widemargin.selection.engines.base import Effort, Engine, Solved, minority
from widemargin.selection.folds import Folds
from widemargin.threads import in_threads

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(eq=False)
class Task(Continuation):
    """A problem of one fold: one-vs-rest, or all classes at once.

    Attributes
    ----------
    fold : int
    place : int
        Place of its certificate among those of the fold.
    lines : ndarray of int
        Which weight vectors of the fold it finds.
    """

    fold: int = 0
    place: int = 0
    lines: NDArray[np.intp] = field(default_factory=lambda: np.zeros(1, dtype=np.intp))

    @property
    def found(self) -> Solution:
        """The latest solution."""
        assert self.solution is not None
        return self.solution

    def weights(self) -> tuple[Matrix, Vector]:
        """Return the present weights and intercepts, a line each as ``coef_`` has them."""
        w, b = np.atleast_2d(self.found.w), np.atleast_1d(self.found.b)
        # Two classes share a line, unless there are others that the fold does not train.
        return (one_for_two(w), one_for_two(b)) if self.lines.size == 1 else (w, b)


@dataclass(eq=False)
class Separate(Engine):
    """Each fold and class a problem of its own, or each fold where classes are trained together.

    By any method, in threads over one shared X.
    """

    folds: Folds
    solver: str = "auto"
    tasks: list[Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        folds = self.folds
        for fold in range(len(folds.splits)):
            data, trained = folds.training(fold), folds.trained(fold)
            if folds.rule == "ovr":
                self.tasks += [
                    Task(
                        one_vs_rest(data, data.positives[line], folds),
                        self.solver,
                        fold=fold,
                        place=line,
                        lines=np.array([line]),
                    )
                    for line in trained
                ]
            elif trained.size:
                some = trained.size < folds.shape[1]
                unit = joint_problem(
                    data.of_present() if some else data, folds.rule, folds.l1_ratio
                )
                self.tasks.append(Task(unit, self.solver, fold=fold, lines=trained))

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C, the problems in threads."""
        given = [None] * len(self.tasks) if start is None else start
        work = [
            lambda t=t, p=p: t.solve(C, effort, p, t.place)
            for t, p in zip(self.tasks, given, strict=True)
        ]
        # Each of them reads all that is not in memory.
        threads = 1 if self.folds.data.rows.elsewhere else effort.threads
        solutions = list(in_threads(work, threads, effort.interrupt))
        problems = self.folds.shape[1] if self.folds.rule == "ovr" else 1
        solved = Solved.blank(C, self.folds, problems, solutions)
        for task, solution in zip(self.tasks, solutions, strict=True):
            rows = self.folds.held_out(task.fold)
            w, b = task.weights()
            scores = [rows.scores(np.ascontiguousarray(line)) for line in w]
            solved.decisions[task.fold][:, task.lines] = np.stack(scores, axis=1) + b
            solved.primal[task.fold, task.place] = solution.certificate.primal
            solved.dual[task.fold, task.place] = solution.certificate.dual
            solved.count(task.fold, solution)
        return solved

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return the (sub)gradients at C of the present weights, relative to those at zero."""
        found = np.array([_ratio(task.unit.rescaled(C), task.found) for task in self.tasks])
        found = found.reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def lines(self) -> Iterator[tuple[int, int, Vector, float]]:
        """Yield the present weights and intercepts."""
        for task in self.tasks:
            for line, w, b in zip(task.lines, *task.weights(), strict=True):
                yield task.fold, int(line), w, b

    def restart(self, C: float, w: Any, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for task in self.tasks:
            weights, shift = w[task.fold][task.lines].copy(), b[task.fold, task.lines].copy()
            if isinstance(task.unit, JOINT):
                task.restart(C, both_classes(weights), both_classes(shift))
            else:
                task.restart(C, weights[0], float(shift[0]))

    def step_back(self) -> None:
        """Forget the latest C."""
        for task in self.tasks:
            task.step_back()


def one_vs_rest(data: TrainingSet, positive: int, folds: Folds) -> BinaryProblem | SparseProblem:
    """State the one-vs-rest problem of a class."""
    if folds.l1_ratio:
        return SparseProblem.of(data, positive, folds.loss, folds.l1_ratio)
    return BinaryProblem.of(data, positive, folds.loss)


def _ratio(
    problem: BinaryProblem | SparseProblem | JointProblem, found: Solution
) -> tuple[float, float]:
    """Return a subgradient relative to that at zero, and the share of the rarest class."""
    if isinstance(problem, JOINT):
        return _joint_ratio(problem, found)
    now = problem.point_at(found.w, found.b)
    zero = problem.point_at(np.zeros(problem.rows.weights), 0.0)
    norms = []
    for point in (now, zero):
        gradient = least_subgradient(problem, point.w, problem.rows.combine(point.alpha, problem.y))
        slope = float(point.alpha @ problem.y) if problem.free_intercept else 0.0
        norms.append(np.sqrt(float(gradient @ gradient) + slope**2))
    share = float(minority((problem.y * problem.cost)[:, None])[0])
    return norms[0] / norms[1] if norms[1] > 0.0 else 0.0, share


def _joint_ratio(problem: JointProblem, found: Solution) -> tuple[float, float]:
    k, w, b = problem.classes, found.w, found.b
    descent, slope = problem.descent_at_zero()
    zero = float((descent**2).sum())
    if isinstance(problem, SoftmaxProblem):
        now = sum(float((part**2).sum()) for part in problem.gradient_at(w, b))
    else:
        beta = CompressedDuals.of(problem.point_at(w, b).alpha)
        gradient = w - problem.losses_and_combination(w, b, beta)[1][:, :k].T
        now = float((gradient**2).sum())
        if problem.free_intercept:
            now += float((residual_of(beta, problem.label, k) ** 2).sum())
    if problem.free_intercept:
        zero += float((slope**2).sum())
    counts = np.bincount(problem.label[problem.cost > 0.0], minlength=k)
    share = max(int(counts.min()), 1) / max(int(counts.sum()), 1)
    return float(np.sqrt(now / zero)) if zero > 0.0 else 0.0, share
