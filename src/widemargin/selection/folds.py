"""The problems of a cross-validation, solved at one C after the other, each from the last."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.data.validation import class_costs
from widemargin.interrupt import Interrupt
from widemargin.methods.choose import choice_of
from widemargin.problems.certificate import Point
from widemargin.problems.losses import Loss
from widemargin.problems.stacked import StackedProblem
from widemargin.run import Record, Solution, run
from widemargin.threads import in_threads

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_LANES = 16
"""Folds that are solved side by side at most."""


@dataclass(frozen=True, eq=False)
class Folds:
    """What is cross-validated: the rows, the classes, who trains and who is held out.

    Attributes
    ----------
    rows : Rows
        All rows; with a constant feature if the intercept is penalised.
    classes : ndarray
    codes : ndarray of shape (n,)
        Each example's place among the classes.
    splits : sequence of pairs of index arrays
        Rows to train on, rows held out.
    weight : ndarray of shape (n,), optional
        Sample weights.
    class_weight : dict, "balanced" or None
        "Balanced" is taken over the rows that are trained on.
    loss : Loss
    free_intercept : bool
    rule : {"ovr", "weston_watkins", "crammer_singer"}
        How several classes are told apart.
    """

    rows: Rows
    classes: NDArray[Any]
    codes: NDArray[Any]
    splits: Sequence[tuple[Indices, Indices]]
    weight: Vector | None
    class_weight: Any
    loss: Loss
    free_intercept: bool
    rule: str = "ovr"

    @property
    def positives(self) -> list[int]:
        """The class of each binary problem: one for two classes, else all of them."""
        return [1] if self.classes.size == 2 else list(range(self.classes.size))

    def cost(self, train: Indices) -> Vector:
        """Return the costs at C = 1 of rows that are trained on."""
        weight = None if self.weight is None else self.weight[train]
        return class_costs(1.0, self.classes, self.codes[train], self.class_weight, weight)

    def signs(self, positive: int) -> Vector:
        """Return the labels of a class against the rest."""
        return np.where(self.codes == positive, 1.0, -1.0)


@dataclass(eq=False)
class Solved:
    """What the folds came to at one C.

    Attributes
    ----------
    decisions : list of ndarray of shape (held out, k)
        Scores of the held-out rows, for each fold.
    primal, dual : ndarray of shape (folds, k)
    solutions : list of Solution
        As many as were run.
    """

    C: float
    decisions: list[Vector]
    primal: Vector
    dual: Vector
    solutions: list[Solution]

    @property
    def whole(self) -> bool:
        """Whether every run ended by itself."""
        return all(s.status.name not in ("INTERRUPTED", "TIME_LIMIT") for s in self.solutions)

    def after(self, first: Solved) -> Solved:
        """Return the same with the work of an earlier try at the same C."""
        return replace(self, solutions=[*first.solutions, *self.solutions])

    @property
    def passes(self) -> float:
        """Passes over the data, summed over the runs; one of stacked folds serves all of them."""
        return float(sum(s.passes for s in self.solutions))


@dataclass(frozen=True)
class Effort:
    """How hard the problems are worked on.

    Attributes
    ----------
    deadline : float or None
        When all of them must have ended, by ``time.perf_counter``.
    """

    tol: float
    max_iter: int
    deadline: float | None
    seed: int
    threads: int
    interrupt: Interrupt
    callback: Callable[[Record], object] | None = None

    @property
    def seconds_left(self) -> float | None:
        """What is left for a run that begins now."""
        return None if self.deadline is None else max(self.deadline - time.perf_counter(), 1e-3)

    @property
    def callbacks(self) -> list[Callable[[Record], object]]:
        """The callback as `run` takes it."""
        return [] if self.callback is None else [self.callback]


class Engine(Protocol):
    """Solves all folds and classes at one C, starting from the C before."""

    folds: Folds

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C; from points that are feasible there, one a run, if they are given."""

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return ‖∇f(w; C)‖ / ‖∇f(0; C)‖ at the present weights, and max(min(n₊, n₋), 1)/n."""

    def weights(self) -> tuple[Vector, Vector]:
        """Return the present weights (folds, k, weights) and intercepts (folds, k)."""

    def mean_weights(self) -> tuple[Vector, Vector]:
        """Return their means over the folds, (k, weights) and (k,)."""

    def restart(self, C: float, w: Vector, b: Vector) -> None:
        """Go on from weights that were found at C."""

    def step_back(self) -> None:
        """Forget the latest C, whose solutions were not finished."""


def mean_of(weights: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """Return the means of weights and intercepts over their first axis, the folds."""
    return weights[0].mean(axis=0), weights[1].mean(axis=0)


def minority(signed: Vector) -> Vector:
    """Return max(min(n₊, n₋), 1)/n of each column of signed costs."""
    plus, minus = (signed > 0.0).sum(axis=0), (signed < 0.0).sum(axis=0)
    return np.maximum(np.minimum(plus, minus), 1) / np.maximum(plus + minus, 1)


@dataclass(eq=False)
class StackedFolds:
    """Folds side by side: one stacked problem for each class and each handful of folds."""

    folds: Folds
    groups: list[_Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = self.folds.rows.count
        for place, positive in enumerate(self.folds.positives):
            signs = self.folds.signs(positive)
            for first in range(0, len(self.folds.splits), _MOST_LANES):
                members = range(first, min(first + _MOST_LANES, len(self.folds.splits)))
                lanes = -(-len(members) // 4) * 4
                signed = np.zeros((count, lanes))
                for lane, fold in enumerate(members):
                    train = self.folds.splits[fold][0]
                    # Summed: a row may be drawn more than once.
                    signed[:, lane] = np.bincount(
                        train, signs[train] * self.folds.cost(train), minlength=count
                    )
                self.groups.append(_Group(place, members, signed))

    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C; several groups in threads of their own, one alone in threads inside."""
        inside = effort.threads if len(self.groups) == 1 else 1
        given = [None] * len(self.groups) if start is None else start
        work = [
            lambda g=g, p=p: self._solve(g, C, effort, inside, p)
            for g, p in zip(self.groups, given, strict=True)
        ]
        solutions = in_threads(work, effort.threads, effort.interrupt)
        shape = (len(self.folds.splits), len(self.folds.positives))
        primal, dual = np.empty(shape), np.empty(shape)
        decisions = [np.empty((test.size, shape[1])) for _, test in self.folds.splits]
        for group, solution in zip(self.groups, solutions, strict=True):
            assert group.problem is not None
            _, primals, duals = group.problem.certify_lanes(solution.point)
            scores = group.problem.scores(solution.w)
            for lane, fold in enumerate(group.members):
                test = self.folds.splits[fold][1]
                decisions[fold][:, group.place] = scores[test, lane] + solution.b[lane]
                primal[fold, group.place] = primals[lane]
                dual[fold, group.place] = duals[lane]
        return Solved(C, decisions, primal, dual, list(solutions))

    def _solve(
        self, group: _Group, C: float, effort: Effort, threads: int, start: Point | None
    ) -> Solution:
        folds, warm = self.folds, start
        if group.problem is not None and start is not None:
            group.problem = group.problem.rescaled(C / group.problem.C)
        elif group.problem is None:
            group.problem = StackedProblem(
                folds.rows, group.signed, C, folds.loss, folds.free_intercept, threads
            )
            if group.begin is not None:
                C_before, w, b = group.begin
                at = StackedProblem(
                    folds.rows, group.signed, C_before, folds.loss, folds.free_intercept, threads
                )
                alpha = np.empty_like(group.signed)
                at.terms(at.scores(w), b, alpha, np.empty_like(alpha))
                warm = Point(w, b, C / C_before * alpha)
        else:
            assert group.solution is not None
            group.before = (group.problem, group.solution)
            factor = C / group.problem.C
            group.problem = group.problem.rescaled(factor, group.solution.point)
            point = group.solution.point
            warm = Point(point.w, point.b, factor * point.alpha)
        group.solution = run(
            group.problem,
            choice_of("newton", StackedProblem),
            tol=effort.tol,
            max_iter=effort.max_iter,
            time_limit=effort.seconds_left,
            callbacks=effort.callbacks,
            warm=warm,
            seed=effort.seed,
            interrupt=effort.interrupt,
        )
        return group.solution

    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return the gradients at C of the present weights, relative to those at zero."""
        ratios, shares = [], []
        for group in self.groups:
            assert group.problem is not None
            assert group.solution is not None
            used = len(group.members)
            at = group.problem.rescaled(C / group.problem.C, group.solution.point)
            now = _gradient_norms(at, group.solution.w, group.solution.b)
            cold = at.cold_point()
            zero = _gradient_norms(at, cold.w, cold.b)
            ratios.append(np.divide(now, zero, out=np.zeros_like(now), where=zero > 0.0)[:used])
            shares.append(minority(group.signed)[:used])
        return np.concatenate(ratios), np.concatenate(shares)

    def weights(self) -> tuple[Vector, Vector]:
        """Return the present weights and intercepts."""
        shape = (len(self.folds.splits), len(self.folds.positives))
        w, b = np.zeros((*shape, self.folds.rows.weights)), np.zeros(shape)
        for group in self.groups:
            assert group.solution is not None
            for lane, fold in enumerate(group.members):
                w[fold, group.place] = group.solution.w[:, lane]
                b[fold, group.place] = group.solution.b[lane]
        return w, b

    def mean_weights(self) -> tuple[Vector, Vector]:
        """Return the means over the folds."""
        return mean_of(self.weights())

    def restart(self, C: float, w: Vector, b: Vector) -> None:
        """Go on from weights that were found at C."""
        for group in self.groups:
            lanes = group.signed.shape[1]
            stack, shift = np.zeros((self.folds.rows.weights, lanes)), np.zeros(lanes)
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
class _Group:
    place: int
    members: range
    signed: Vector
    problem: StackedProblem | None = None
    solution: Solution | None = None
    before: tuple[StackedProblem, Solution] | None = None
    begin: tuple[float, Vector, Vector] | None = None


def _gradient_norms(problem: StackedProblem, w: Vector, b: Vector) -> Vector:
    alpha = np.empty((problem.rows.count, problem.lanes))
    problem.terms(problem.scores(w), b, alpha, np.empty_like(alpha))
    gradient = w - problem.combine(alpha)
    squares = np.einsum("jl,jl->l", gradient, gradient)
    if problem.free_intercept:
        squares = squares + alpha.sum(axis=0) ** 2
    return np.sqrt(squares)
