"""The classes of a cross-validation side by side: one sweep over a fold's rows serves several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.methods.choose import choice_of
from widemargin.methods.stacked_dual_cd import MOST_LANES
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.stacked import StackedProblem
from widemargin.run import Solution, Status, run
from widemargin.selection.folds import Effort, Folds, Solved, minority
from widemargin.selection.starts import Known, stacked_start
from widemargin.threads import in_threads

Vector = NDArray[np.float64]

FEWEST_CLASSES = 3
"""Classes from which side by side is faster than one by one."""

MOST_WEIGHTS = 60_000_000
"""Weights of all folds and classes up to which they are kept side by side: four copies, 2 GB."""

_SWEEPS_TOGETHER = 12
"""Sweeps after which the classes that are not done go on alone: few are left, and each can leave
out more examples than all together."""


@dataclass(eq=False)
class LanedFolds:
    """For each fold stacked problems of up to eight classes, by dual coordinate descent.

    It serves the smooth losses without a free intercept.
    """

    folds: Folds
    groups: list[_Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        positives = self.folds.positives
        for fold, (train, _) in enumerate(self.folds.splits):
            rows, cost = self.folds.rows.take(np.ascontiguousarray(train)), self.folds.cost(train)
            for first in range(0, len(positives), MOST_LANES):
                places = range(first, min(first + MOST_LANES, len(positives)))
                signed = np.zeros((train.size, -(-len(places) // 4) * 4))
                for lane, place in enumerate(places):
                    signed[:, lane] = self.folds.signs(positives[place])[train] * cost
                self.groups.append(_Group(fold, places, rows, signed))

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C, the stacked problems in threads."""
        if start is not None:
            raise ValueError("stacked classes start from the C before")
        work = [lambda g=g: g.solve(C, self.folds, effort) for g in self.groups]
        solutions = in_threads(work, effort.threads, effort.interrupt)
        shape = (len(self.folds.splits), len(self.folds.positives))
        primal, dual = np.empty(shape), np.empty(shape)
        decisions = [np.empty((test.size, shape[1])) for _, test in self.folds.splits]
        for group in self.groups:
            held_out = self.folds.rows.take(np.ascontiguousarray(self.folds.splits[group.fold][1]))
            scores = np.empty((held_out.count, group.signed.shape[1]))
            held_out.view.stacked_scores(group.w, scores, 0, held_out.count, effort.threads)
            used = slice(group.places.start, group.places.stop)
            decisions[group.fold][:, used] = scores[:, : len(group.places)]
            primal[group.fold, used], dual[group.fold, used] = group.primal, group.dual
        return Solved(C, decisions, primal, dual, [s for found in solutions for s in found])

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return the gradients at C of the present weights, relative to those at zero."""
        ratios, shares = [], []
        for group in self.groups:
            problem, used = group.problem(C, self.folds), len(group.places)
            norms = []
            for w in (group.w, np.zeros_like(group.w)):
                alpha = group.alpha_at(problem, w)
                gradient = w - problem.combine(alpha)
                norms.append(np.sqrt(np.einsum("jl,jl->l", gradient, gradient)))
            now, zero = norms
            ratios.append(np.divide(now, zero, out=np.zeros_like(now), where=zero > 0.0)[:used])
            shares.append(minority(group.signed)[:used])
        return np.concatenate(ratios), np.concatenate(shares)

    def weights(self) -> tuple[Vector, Vector]:
        """Return the present weights; the intercepts are zero."""
        shape = (len(self.folds.splits), len(self.folds.positives))
        w = np.zeros((*shape, self.folds.rows.weights))
        for group in self.groups:
            w[group.fold, group.places.start : group.places.stop] = group.w.T[: len(group.places)]
        return w, np.zeros(shape)

    def mean_weights(self) -> tuple[Vector, Vector]:
        """Return the means over the folds."""
        shape = (len(self.folds.positives), self.folds.rows.weights)
        w, sums = np.empty(shape), dict[int, Vector]()
        for group in self.groups:
            before = sums.get(group.places.start)
            sums[group.places.start] = group.w if before is None else before + group.w
        for group in self.groups[: len(sums)]:
            mean = sums[group.places.start][:, : len(group.places)] / len(self.folds.splits)
            w[group.places.start : group.places.stop] = mean.T
        return w, np.zeros(shape[0])

    def restart(self, C: float, w: Vector, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for group in self.groups:
            group.w = np.zeros((self.folds.rows.weights, group.signed.shape[1]))
            group.w.T[: len(group.places)] = w[group.fold, group.places.start : group.places.stop]
            problem = group.problem(C, self.folds)
            alpha = group.alpha_at(problem, group.w)
            group.known, group.before = Known(C, alpha, problem.combine(alpha)), None
            group.back = None

    def step_back(self) -> None:
        """Forget the latest C."""
        for group in self.groups:
            if group.back is not None:
                group.w, group.known = group.back


@dataclass(eq=False)
class _Group:
    """Some classes of one fold, and where they stand.

    Attributes
    ----------
    known, before : Known
        The dual variables of the present solution, and of the one at the C before.
    back : tuple of weights and Known
        What to step back to.
    """

    fold: int
    places: range
    rows: Rows
    signed: Vector
    w: Vector = field(default_factory=lambda: np.empty(0))
    known: Known | None = None
    before: Known | None = None
    back: tuple[Vector, Known] | None = None
    primal: Vector = field(default_factory=lambda: np.empty(0))
    dual: Vector = field(default_factory=lambda: np.empty(0))

    def problem(self, C: float, folds: Folds) -> StackedProblem:
        """Return the stacked problem at C."""
        return StackedProblem(self.rows, self.signed, C, folds.loss, False, used=len(self.places))

    def alpha_at(self, problem: StackedProblem, w: Vector) -> Vector:
        """Return the signed dual variables that belong to the margins of weights."""
        alpha = np.empty_like(self.signed)
        problem.terms(problem.scores(w), np.zeros(problem.lanes), alpha, np.empty_like(alpha))
        return alpha

    def solve(self, C: float, folds: Folds, effort: Effort) -> list[Solution]:
        """Solve at C: all classes together, then those that are not done alone."""
        problem, warm = self.problem(C, folds), None
        if self.known is not None:
            start = stacked_start(problem, self.known, self.before)
            problem.products.alpha = start.alpha
            problem.products.combination = start.combination
            warm = Point(self.w, np.zeros(problem.lanes), start.alpha)
            if self.known.C != C:
                self.before, self.back = self.known, (self.w, self.known)
        together = run(
            problem,
            choice_of("dual_cd", StackedProblem),
            tol=effort.tol,
            max_iter=min(effort.max_iter, _SWEEPS_TOGETHER),
            time_limit=effort.seconds_left,
            callbacks=effort.callbacks,
            warm=warm,
            seed=effort.seed + self.places.start,
            interrupt=effort.interrupt,
            judge_start=False,
        )
        point, primals, duals = problem.certify_lanes(together.point)
        combination = problem.products.combination
        assert combination is not None
        used = len(self.places)
        self.w, self.known = point.w, Known(C, point.alpha, combination)
        self.primal, self.dual = primals[:used].copy(), duals[:used].copy()
        solutions = [together]
        if together.status is Status.ITERATION_LIMIT and effort.max_iter > _SWEEPS_TOGETHER:
            rest = self.primal - self.dual > effort.tol * self.primal
            solutions += [
                self._alone(lane, self.known, folds, effort) for lane in range(used) if rest[lane]
            ]
        return solutions

    def _alone(self, lane: int, known: Known, folds: Folds, effort: Effort) -> Solution:
        """Finish one class by itself."""
        signs = np.where(self.signed[:, lane] < 0.0, -1.0, 1.0)
        unit = BinaryProblem(self.rows, signs, np.abs(self.signed[:, lane]), folds.loss, False)
        warm = Point(np.ascontiguousarray(self.w[:, lane]), 0.0, np.abs(known.alpha[:, lane]))
        solution = run(
            unit.rescaled(known.C),
            choice_of("dual_cd", BinaryProblem),
            tol=effort.tol,
            max_iter=effort.max_iter - _SWEEPS_TOGETHER,
            time_limit=effort.seconds_left,
            callbacks=effort.callbacks,
            warm=warm,
            seed=effort.seed + self.places.start + lane,
            interrupt=effort.interrupt,
        )
        self.w[:, lane], known.alpha[:, lane] = solution.w, signs * solution.alpha
        known.combination[:, lane] = self.rows.combine(solution.alpha, signs)
        self.primal[lane] = solution.certificate.primal
        self.dual[lane] = solution.certificate.dual
        return solution
