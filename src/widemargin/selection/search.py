"""The search over C: solve all folds, score what was held out, go on until it no longer matters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.interrupt import Interrupt
from widemargin.run import Record
from widemargin.selection.folds import Effort, Engine, Solved
from widemargin.selection.stopping import (
    LARGEST_C,
    GradientRule,
    smallest_C,
    smallest_joint_C,
)

Vector = NDArray[np.float64]
Scorer = Callable[[Solved], Vector]
"""From held-out scores to one number a fold; higher is better."""


CUT_SHORT = ("it was interrupted", "the time limit was reached")
"""Reasons for a search to end before its time."""

_COLUMNS = ("Cs", "scores", "primal", "dual", "passes", "seconds")


@dataclass(eq=False)
class Search:
    """What a search has seen so far, C by C.

    Attributes
    ----------
    reason : str
        One sentence that says why it ended.
    best_score : float
        The best mean score.
    start : tuple of ndarray, or None
        Weights (k, weights) and intercepts (k,) to train from at the best C so far: the means over
        the folds.
    """

    Cs: list[float] = field(default_factory=list)
    scores: list[Vector] = field(default_factory=list)
    primal: list[Vector] = field(default_factory=list)
    dual: list[Vector] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reason: str = ""
    best_score: float = -np.inf
    start: tuple[Vector, Vector] | None = None

    def add(self, engine: Engine, solved: Solved, scores: Vector, seconds: float) -> None:
        """Take note of one C, where the engine is now; the latest one may come again."""
        if self.Cs and self.Cs[-1] == solved.C:
            for name in _COLUMNS:
                getattr(self, name).pop()
        self.Cs.append(solved.C)
        self.scores.append(scores)
        self.primal.append(solved.primal)
        self.dual.append(solved.dual)
        self.passes.append(solved.passes)
        self.seconds.append(seconds)
        best = self.best
        self.best_score = float(np.mean(self.scores[best]))
        if best == len(self.Cs) - 1:
            self.start = engine.mean_weights()

    def add_work(self, C: float, passes: float, seconds: float) -> None:
        """Take note that a C that was looked at took more work."""
        place = self.Cs.index(C)
        self.passes[place] += passes
        self.seconds[place] += seconds

    def sort(self) -> None:
        """Bring what was seen into the order of C."""
        order = np.argsort(self.Cs, kind="stable")
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(self, name, [column[place] for place in order])

    def far_below(self, slack: float, scores: Vector | None = None) -> bool:
        """Whether scores, by default the latest, are below the best ones by more than slack.

        Or if the best ones are without an error: of equal ones the smallest C is taken.
        """
        if not self.Cs:
            return False
        if self.best_score >= 1.0:
            return True
        mean = float(np.mean(self.scores[-1] if scores is None else scores))
        return mean < self.best_score - slack

    @property
    def best(self) -> int:
        """The place of the best mean score; of equal ones the smallest C."""
        means = np.array([float(np.mean(s)) for s in self.scores])
        means = np.where(np.isnan(means), -np.inf, means)
        good = np.flatnonzero(means >= means.max() - 1e-12 * max(1.0, abs(means.max())))
        return int(min(good, key=lambda place: self.Cs[place]))


@dataclass(frozen=True)
class Coarse:
    """How well a C is solved that is out of the question.

    Attributes
    ----------
    slack : float
        The score at the C before was below the best one by more than this.
    """

    tol: float
    max_iter: int
    slack: float


@dataclass(frozen=True)
class Limits:
    """What bounds the work of a search."""

    tol: float
    epsilon: float
    max_iter: int = 1000
    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    callback: Callable[[str, Record], object] | None = None
    coarse: Coarse | None = None
    """What is enough beyond the best C."""

    def left(self, began: float) -> float | None:
        """Return the seconds that are left of work that began then."""
        if self.time_limit is None:
            return None
        return self.time_limit - (time.perf_counter() - began)


def automatic_Cs(engine: Engine) -> Iterator[float]:
    """Yield C from the smallest that matters, doubled until the largest."""
    folds = engine.folds
    cost = folds.cost(np.arange(folds.rows.count))
    if folds.rule == "ovr":
        C = min(smallest_C(folds.rows, folds.signs(p), cost, folds.loss) for p in folds.positives)
    else:
        C = smallest_joint_C(folds.rows, folds.codes, cost, folds.classes.size, folds.rule)
    while C <= LARGEST_C:
        yield C
        C *= 2.0


def go_on(
    search: Search,
    engine: Engine,
    Cs: Iterator[float],
    scorer: Scorer,
    limits: Limits,
    *,
    rule: GradientRule | None = None,
    interrupt: Interrupt | None = None,
    told: Callable[[Search], None] | None = None,
) -> Search:
    """Look at further values of C until they end, the rule is satisfied, or time is up.

    A value of C that was begun and not finished is left out, unless it is the only one: what was
    found before an interrupt is kept.
    """
    watch = Interrupt() if interrupt is None else interrupt
    began = time.perf_counter()
    search.reason = "all values of C were looked at"
    with watch:
        first = True
        for C in Cs:
            started = time.perf_counter()
            left = limits.left(began)
            if not first and (watch.requested or (left is not None and left <= 0.0)):
                search.reason = _why(watch)
                break
            enough = rule is not None and not first and rule.enough(*engine.ratios(C))
            coarse, effort = limits.coarse, effort_at(limits, C, left, watch, limits.tol)
            if coarse is not None and not search.far_below(coarse.slack):
                coarse = None
            if coarse is not None:
                effort = replace(effort, tol=coarse.tol, max_iter=coarse.max_iter)
            solved = engine.solve(C, effort)
            scores = scorer(solved)
            if coarse is not None and solved.whole and not search.far_below(coarse.slack, scores):
                again = effort_at(limits, C, limits.left(began), watch, limits.tol)
                solved = engine.solve(C, again).after(solved)
                scores = scorer(solved)
            if not solved.whole and search.Cs:
                engine.step_back()
                search.reason = _why(watch)
                break
            search.add(engine, solved, scores, time.perf_counter() - started)
            first = False
            if told is not None:
                told(search)
            if not solved.whole:
                search.reason = _why(watch)
                break
            if enough:
                search.reason = (
                    "the solution no longer changed over three values of C (gradient rule, "
                    f"epsilon {limits.epsilon:g})"
                )
                break
    return search


def _why(watch: Interrupt) -> str:
    return CUT_SHORT[0] if watch.requested else CUT_SHORT[1]


def effort_at(limits: Limits, C: float, left: float | None, watch: Interrupt, tol: float) -> Effort:
    """Return how hard to work at one C, with so many seconds left."""
    callback: Any = None
    if limits.callback is not None:
        given = limits.callback
        callback = lambda record: given(f"C={C:g}", record)  # noqa: E731
    return Effort(
        tol,
        limits.max_iter,
        None if left is None else time.perf_counter() + left,
        limits.seed,
        limits.threads,
        watch,
        callback,
    )
