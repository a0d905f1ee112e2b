"""Folds side by side: one Newton step over all rows updates every fold of a class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import choice_of
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem
from widemargin.run import Solution
from widemargin.selection.engines.base import Effort, Engine, Solved, minority, relative
from widemargin.selection.folds import Folds
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


@dataclass(eq=False)
class FoldLanes(Engine):
    """For each class one problem with the folds in its lanes, or one for each handful of folds.

    For smooth losses, by Newton's method.
    """

    folds: Folds
    groups: list[Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        data, splits = self.folds.data, self.folds.splits
        for place, positive in enumerate(data.positives):
            signs = data.signs(positive)
            for first in range(0, len(splits), MACHINE.fold_lanes):
                members = range(first, min(first + MACHINE.fold_lanes, len(splits)))
                signed = np.zeros((data.rows.count, -(-len(members) // 4) * 4))
                for lane, fold in enumerate(members):
                    train = splits[fold][0]
                    # Summed: a row may be drawn more than once.
                    signed[:, lane] = np.bincount(
                        train, signs[train] * data.costs_of(train), minlength=data.rows.count
                    )
                self.groups.append(Group(place, members, signed))

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C; several groups in threads of their own, one alone in threads inside."""
        inside = effort.threads if len(self.groups) == 1 else 1
        given = [None] * len(self.groups) if start is None else start
        work = [
            lambda g=g, p=p: self._solve(g, C, effort, inside, p)
            for g, p in zip(self.groups, given, strict=True)
        ]
        solutions = in_threads(work, effort.threads, effort.interrupt)
        solved = Solved.blank(C, self.folds, self.folds.shape[1], list(solutions))
        for group, solution in zip(self.groups, solutions, strict=True):
            assert group.problem is not None
            _, primals, duals = group.problem.certify_lanes(solution.point)
            scores = group.problem.scores(solution.w)
            for lane, fold in enumerate(group.members):
                test = self.folds.splits[fold][1]
                solved.decisions[fold][:, group.place] = scores[test, lane] + solution.b[lane]
                solved.primal[fold, group.place] = primals[lane]
                solved.dual[fold, group.place] = duals[lane]
                solved.count(fold, solution)
        return solved

    def _solve(
        self, group: Group, C: float, effort: Effort, threads: int, start: Point | None
    ) -> Solution:
        warm = start
        if group.problem is not None and start is not None:
            group.problem = group.problem.rescaled(C / group.problem.C)
        elif group.problem is None:
            group.problem = self._problem(group, C, threads)
            if group.begin is not None:
                C_before, w, b = group.begin
                at = self._problem(group, C_before, threads)
                alpha = np.empty_like(group.signed)
                at.terms(at.scores(w), b, alpha, np.empty_like(alpha))
                warm = Point(w, b, C / C_before * alpha)
        else:
            assert group.solution is not None
            group.before = (group.problem, group.solution)
            factor, point = C / group.problem.C, group.solution.point
            group.problem = group.problem.rescaled(factor, point)
            warm = Point(point.w, point.b, factor * point.alpha)
        group.solution = effort.run(group.problem, choice_of("newton", LanesProblem), warm)
        return group.solution

    def _problem(self, group: Group, C: float, threads: int) -> LanesProblem:
        data, loss = self.folds.data, self.folds.loss
        return LanesProblem(data.rows, group.signed, C, loss, data.free_intercept, threads)

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return the gradients at C of the present weights, relative to those at zero."""
        ratios, shares = [], []
        for group in self.groups:
            assert group.problem is not None
            assert group.solution is not None
            used = len(group.members)
            at = group.problem.rescaled(C / group.problem.C, group.solution.point)
            cold = at.cold_point()
            now = _gradient_norms(at, group.solution.w, group.solution.b)
            ratios.append(relative(now, _gradient_norms(at, cold.w, cold.b))[:used])
            shares.append(minority(group.signed)[:used])
        return np.concatenate(ratios), np.concatenate(shares)

    def lines(self) -> Iterator[tuple[int, int, Vector, float]]:
        """Yield the present weights and intercepts."""
        for group in self.groups:
            assert group.solution is not None
            for lane, fold in enumerate(group.members):
                yield fold, group.place, group.solution.w[:, lane], group.solution.b[lane]

    def restart(self, C: float, w: Any, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for group in self.groups:
            lanes = group.signed.shape[1]
            stack, shift = np.zeros((self.folds.data.rows.weights, lanes)), np.zeros(lanes)
            for lane, fold in enumerate(group.members):
                stack[:, lane] = w[fold, group.place]
                shift[lane] = b[fold, group.place]
            group.problem, group.solution, group.begin = None, None, (C, stack, shift)

    def step_back(self) -> None:
        """Forget the latest C."""
        for group in self.groups:
            if group.before is not None:
                group.problem, group.solution = group.before


@dataclass(eq=False)
class Group:
    """Some folds of one class, and where they stand.

    Attributes
    ----------
    place : int
        Of the class among the weight vectors of a fold.
    members : range
        The folds, one a lane.
    signed : ndarray of shape (n, lanes)
        Costs at C = 1 times labels; zero where an example is held out.
    before : tuple of LanesProblem and Solution
        What to step back to.
    begin : tuple of C, weights and intercepts
        Found earlier, to begin from.
    """

    place: int
    members: range
    signed: Vector
    problem: LanesProblem | None = None
    solution: Solution | None = None
    before: tuple[LanesProblem, Solution] | None = None
    begin: tuple[float, Vector, Vector] | None = None


def _gradient_norms(problem: LanesProblem, w: Vector, b: Vector) -> Vector:
    alpha = np.empty((problem.rows.count, problem.lanes))
    problem.terms(problem.scores(w), b, alpha, np.empty_like(alpha))
    gradient = w - problem.combine(alpha)
    squares = np.einsum("jl,jl->l", gradient, gradient)
    if problem.free_intercept:
        squares = squares + alpha.sum(axis=0) ** 2
    return np.sqrt(squares)
