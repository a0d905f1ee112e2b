"""What the engines share: how hard they work, what they come to, and the weights of all folds."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.centring import given_intercepts, own_intercepts
from widemargin.interrupt import Interrupt
from widemargin.methods.base import Choice
from widemargin.problems.certificate import Point
from widemargin.run import Record, Solution, run
from widemargin.selection.folds import Folds

Vector = NDArray[np.float64]


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

    def run(self, problem: Any, choice: Choice, warm: Point | None, **changes: Any) -> Solution:
        """Solve one problem; `changes` are arguments of `widemargin.run.run`."""
        left = None if self.deadline is None else max(self.deadline - time.perf_counter(), 1e-3)
        settings: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "time_limit": left,
            "callbacks": [] if self.callback is None else [self.callback],
            "seed": self.seed,
            "interrupt": self.interrupt,
        }
        return run(problem, choice, warm=warm, **{**settings, **changes})


@dataclass(eq=False)
class Solved:
    """What the folds came to at one C.

    Attributes
    ----------
    decisions : list of ndarray of shape (held out, k)
        Scores of the held-out rows, for each fold.
    primal, dual : ndarray of shape (folds, problems)
    solutions : list of Solution
        As many as were run.
    iterations : ndarray of shape (folds,)
        The most that a run of each fold took.
    """

    C: float
    decisions: list[Vector]
    primal: Vector
    dual: Vector
    solutions: list[Solution]
    iterations: NDArray[np.intp]

    @classmethod
    def blank(cls, C: float, folds: Folds, problems: int, solutions: list[Solution]) -> Solved:
        """Return one to be filled in, with so many problems per fold."""
        count = len(folds.splits)
        # What is not trained has its constant, and no loss.
        decisions = [
            np.tile(constant, (test.size, 1))
            for constant, (_, test) in zip(folds.fixed, folds.splits, strict=True)
        ]
        shape = (count, problems)
        iterations = np.zeros(count, dtype=np.intp)
        return cls(C, decisions, np.zeros(shape), np.zeros(shape), solutions, iterations)

    def count(self, fold: int, solution: Solution) -> None:
        """Take note of a run that was about this fold."""
        self.iterations[fold] = max(self.iterations[fold], solution.iterations)

    @property
    def whole(self) -> bool:
        """Whether every run ended by itself."""
        return all(s.status.name not in ("INTERRUPTED", "TIME_LIMIT") for s in self.solutions)

    def after(self, first: Solved) -> Solved:
        """Return the same with the work of an earlier try at the same C."""
        return replace(
            self,
            solutions=[*first.solutions, *self.solutions],
            iterations=first.iterations + self.iterations,
        )

    @property
    def passes(self) -> float:
        """Passes over the data, summed over the runs; a pass over folds in lanes counts once."""
        return float(sum(s.passes for s in self.solutions))


class Engine(ABC):
    """Solves all folds and classes at one C, starting from the C before."""

    folds: Folds

    @abstractmethod
    def solve(self, C: float, effort: Effort, start: Sequence[Point] | None = None) -> Solved:
        """Solve at C; from points that are feasible there, one a run, if they are given."""

    @abstractmethod
    def ratios(self, C: float) -> tuple[Vector, Vector]:
        """Return ‖∇f(w; C)‖ / ‖∇f(0; C)‖ at the present weights, and max(min(n₊, n₋), 1)/n."""

    @abstractmethod
    def lines(self) -> Iterator[tuple[int, int, Vector, float]]:
        """Yield fold, place, weights and intercept of each trained weight vector, by folds."""

    @abstractmethod
    def restart(self, C: float, w: Any, b: Vector) -> None:
        """Go on from weights (folds, k, weights) and intercepts (folds, k) that were found at C."""

    @abstractmethod
    def step_back(self) -> None:
        """Forget the latest C, whose solutions were not finished."""

    def weights(self) -> tuple[Any, Vector]:
        """Return the present weights (folds, k, weights) and intercepts (folds, k).

        The weights are a list of arrays if they are not `Folds.even`.
        """
        w, b = self.folds.empty_weights(), self.folds.fixed.copy()
        for fold, place, weights, intercept in self.lines():
            w[fold][place], b[fold, place] = weights, intercept
        return w, b

    def mean_weights(self) -> tuple[Vector, Vector] | None:
        """Return their means over the folds that train them, (k, weights) and (k,).

        Those are never in memory. None if the folds' weights belong to features of their own.
        """
        if not self.folds.even:
            return None
        lines = self.folds.shape[1]
        count = np.maximum(np.isnan(self.folds.fixed).sum(axis=0), 1)
        w, b = np.zeros((lines, self.folds.data.rows.weights)), np.zeros(lines)
        apart = self.folds.own is not None
        for fold, place, weights, intercept in self.lines():
            w[place] += weights
            shift = self.folds.rows_of(fold).shift if apart else None
            b[place] += given_intercepts(np.asarray(weights), intercept, shift)
        w, b = w / count[:, None], b / count
        return w, own_intercepts(w, b, self.folds.data.rows.shift if apart else None)


def minority(signed: Vector) -> Vector:
    """Return max(min(n₊, n₋), 1)/n of each column of signed costs."""
    plus, minus = (signed > 0.0).sum(axis=0), (signed < 0.0).sum(axis=0)
    return np.maximum(np.minimum(plus, minus), 1) / np.maximum(plus + minus, 1)


def relative(now: Vector, zero: Vector) -> Vector:
    """Return now / zero, and zero where that is zero."""
    return np.divide(now, zero, out=np.zeros_like(now), where=zero > 0.0)
