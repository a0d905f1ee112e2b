"""Classes side by side: one sweep over the rows of a fold updates several of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import choice_of
from widemargin.data.rows import Rows
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem
from widemargin.run import Solution, Status
from widemargin.selection.engines.base import Effort, Engine, Solved, minority, relative
from widemargin.selection.folds import Folds
from widemargin.selection.predicted_starts import Known, lanes_start
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


@dataclass(eq=False)
class ClassLanes(Engine):
    """For each fold problems with up to eight classes in their lanes.

    For smooth losses without a free intercept, by dual coordinate descent. Classes that are not
    done after `MACHINE.lane_sweeps` sweeps go on alone: few are left, and each can leave out
    more examples than all together.
    """

    folds: Folds
    groups: list[_Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        positives = self.folds.data.positives
        for fold in range(len(self.folds.splits)):
            data = self.folds.training(fold)
            for first in range(0, len(positives), MACHINE.most_lanes):
                places = range(first, min(first + MACHINE.most_lanes, len(positives)))
                signed = np.zeros((data.rows.count, -(-len(places) // 4) * 4))
                for lane, place in enumerate(places):
                    signed[:, lane] = data.signs(positives[place]) * data.cost
                self.groups.append(_Group(fold, places, data.rows, signed))

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C, the groups in threads."""
        if start is not None:
            raise ValueError("classes in lanes start from the C before")
        work = [lambda g=g: g.solve(C, self.folds, effort) for g in self.groups]
        runs = in_threads(work, effort.threads, effort.interrupt)
        solutions = [solution for found in runs for solution in found]
        solved = Solved.blank(C, self.folds, self.folds.shape[1], solutions)
        for group, found in zip(self.groups, runs, strict=True):
            for solution in found:
                solved.count(group.fold, solution)
            held_out = self.folds.held_out(group.fold)
            scores = np.empty((held_out.count, group.signed.shape[1]))
            held_out.view.lane_scores(group.w, scores, 0, held_out.count, effort.threads)
            used = slice(group.places.start, group.places.stop)
            solved.decisions[group.fold][:, used] = scores[:, : len(group.places)]
            solved.primal[group.fold, used], solved.dual[group.fold, used] = (
                group.primal,
                group.dual,
            )
        return solved

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
            ratios.append(relative(*norms)[:used])
            shares.append(minority(group.signed)[:used])
        return np.concatenate(ratios), np.concatenate(shares)

    def lines(self) -> Iterator[tuple[int, int, Vector, float]]:
        """Yield the present weights; the intercepts are zero."""
        for group in self.groups:
            for lane, place in enumerate(group.places):
                yield group.fold, place, group.w[:, lane], 0.0

    def mean_weights(self) -> tuple[Vector, Vector] | None:
        """Return the means over the folds, summed as the lanes lie."""
        if not self.folds.even:
            return None
        shape = (len(self.folds.data.positives), self.folds.data.rows.weights)
        w, sums = np.empty(shape), dict[int, Vector]()
        for group in self.groups:
            before = sums.get(group.places.start)
            sums[group.places.start] = group.w if before is None else before + group.w
        for group in self.groups[: len(sums)]:
            mean = sums[group.places.start][:, : len(group.places)] / len(self.folds.splits)
            w[group.places.start : group.places.stop] = mean.T
        return w, np.zeros(shape[0])

    def restart(self, C: float, w: Any, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for group in self.groups:
            group.w = np.zeros((group.rows.weights, group.signed.shape[1]))
            group.w.T[: len(group.places)] = w[group.fold][group.places.start : group.places.stop]
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

    def problem(self, C: float, folds: Folds) -> LanesProblem:
        """Return the problem of all lanes at C."""
        return LanesProblem(self.rows, self.signed, C, folds.loss, False, used=len(self.places))

    def alpha_at(self, problem: LanesProblem, w: Vector) -> Vector:
        """Return the signed dual variables that belong to the margins of weights."""
        alpha = np.empty_like(self.signed)
        problem.terms(problem.scores(w), np.zeros(problem.lanes), alpha, np.empty_like(alpha))
        return alpha

    def solve(self, C: float, folds: Folds, effort: Effort) -> list[Solution]:
        """Solve at C: all classes together, then those that are not done alone."""
        problem, warm = self.problem(C, folds), None
        if self.known is not None:
            start = lanes_start(problem, self.known, self.before)
            problem.products.predicted = (start.alpha, start.combination)
            warm = Point(self.w, np.zeros(problem.lanes), start.alpha)
            if self.known.C != C:
                self.before, self.back = self.known, (self.w, self.known)
        together = effort.run(
            problem,
            choice_of("dual_cd", LanesProblem),
            warm,
            max_iter=min(effort.max_iter, MACHINE.lane_sweeps),
            seed=effort.seed + self.places.start,
            judge_start=False,
        )
        point, primals, duals = problem.certify_lanes(together.point)
        combination = problem.products.combination
        assert combination is not None
        used = len(self.places)
        self.w, self.known = point.w, Known(C, point.alpha, combination)
        self.primal, self.dual = primals[:used].copy(), duals[:used].copy()
        solutions = [together]
        left = effort.max_iter - MACHINE.lane_sweeps
        if together.status is Status.ITERATION_LIMIT and left > 0:
            rest = self.primal - self.dual > effort.tol * self.primal
            alone = replace(effort, max_iter=left)
            solutions += [
                self._alone(lane, self.known, folds, alone) for lane in range(used) if rest[lane]
            ]
        return solutions

    def _alone(self, lane: int, known: Known, folds: Folds, effort: Effort) -> Solution:
        """Finish one class by itself."""
        signs = np.where(self.signed[:, lane] < 0.0, -1.0, 1.0)
        unit = BinaryProblem(self.rows, signs, np.abs(self.signed[:, lane]), folds.loss, False)
        warm = Point(np.ascontiguousarray(self.w[:, lane]), 0.0, np.abs(known.alpha[:, lane]))
        solution = effort.run(
            unit.rescaled(known.C),
            choice_of("dual_cd", BinaryProblem),
            warm,
            seed=effort.seed + self.places.start + lane,
        )
        self.w[:, lane], known.alpha[:, lane] = solution.w, signs * solution.alpha
        known.combination[:, lane] = self.rows.combine(solution.alpha, signs)
        self.primal[lane] = solution.certificate.primal
        self.dual[lane] = solution.certificate.dual
        return solution
