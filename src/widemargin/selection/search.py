"""The search over C: solve all folds, score what was held out, go on until it no longer matters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.auto.search import Accuracy, SearchShape, engine
from widemargin.data.training_set import TrainingSet
from widemargin.interrupt import Interrupt
from widemargin.problems.rules import joint_problem
from widemargin.run import Record
from widemargin.selection.engines.base import Effort, Engine, Solved
from widemargin.selection.engines.class_lanes import ClassLanes
from widemargin.selection.engines.fold_lanes import FoldLanes
from widemargin.selection.engines.separate import Separate, one_vs_rest
from widemargin.selection.folds import Folds
from widemargin.selection.stopping import (
    LARGEST_C,
    GradientRule,
    first_C,
    smallest_joint_C,
)

Vector = NDArray[np.float64]
Scorer = Callable[[Solved], Vector]
"""From held-out scores to one number per fold; higher is better."""

CUT_SHORT = ("it was interrupted", "the time limit was reached")
"""Reasons for a search to end before its time."""

_UNSCORED = np.array([np.nan])
"""The scores at a C that are still to come."""

_COLUMNS = ("Cs", "scores", "primal", "dual", "passes", "seconds", "iterations", "weights")


@dataclass(eq=False)
class Search:
    """What a search has seen so far, C by C.

    Attributes
    ----------
    iterations : list of ndarray of shape (folds,)
        The most that a run of each fold took.
    weights : list
        Weights and intercepts of all folds, as an engine gives them; None where they are not kept.
    keeps_weights : bool
        Whether to keep those of every C, not only the last ones.
    reason : str
        One sentence that says why it ended.
    best_score : float
        The best mean score.
    start : tuple of ndarray, or None
        Weights (k, weights) and intercepts (k,) to train from at the best C so far: the means over
        the folds; None if these have features of their own.
    decided : tuple of float and list of ndarray, or None
        The best C, if it was looked at in this search, and the scores of the held-out rows there.
    """

    Cs: list[float] = field(default_factory=list)
    scores: list[Vector] = field(default_factory=list)
    primal: list[Vector] = field(default_factory=list)
    dual: list[Vector] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    iterations: list[NDArray[np.intp]] = field(default_factory=list)
    weights: list[tuple[Any, Vector] | None] = field(default_factory=list)
    keeps_weights: bool = False
    reason: str = ""
    best_score: float = -np.inf
    start: tuple[Vector, Vector] | None = None
    decided: tuple[float, list[Vector]] | None = None

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
        self.iterations.append(solved.iterations)
        self.weights.append(engine.weights() if self.keeps_weights else None)
        best = self.best
        self.best_score = float(np.mean(self.scores[best]))
        if best == len(self.Cs) - 1:
            self.start = engine.mean_weights()
            self.decided = (solved.C, solved.decisions)

    def add_work(self, C: float, passes: float, seconds: float) -> None:
        """Take note that a C that was looked at took more work."""
        place = self.Cs.index(C)
        self.passes[place] += passes
        self.seconds[place] += seconds

    def score_later(self, places: list[int], scores: Vector, folds: Folds) -> None:
        """Take scores of shape (places, folds) for values of C that were looked at without."""
        for place, values in zip(places, scores, strict=True):
            self.scores[place] = values
        self.best_score = float(np.mean(self.scores[self.best]))
        self.decided = None
        kept = self.weights[self.best]
        self.start = None if kept is None else _mean_weights(*kept, folds)

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
class Limits:
    """What bounds the work of a search."""

    accuracy: Accuracy
    max_iter: int = 1000
    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    callback: Callable[[str, Record], object] | None = None


def engine_for(folds: Folds, shape: SearchShape, solver: str) -> Engine:
    """Make the engine that `widemargin.auto.search` has decided for."""
    chosen = engine(shape, solver).method
    if chosen == "separate":
        return Separate(folds, solver)
    return {"fold_lanes": FoldLanes, "class_lanes": ClassLanes}[chosen](folds)


def _first_C(folds: Folds) -> float:
    """Return the smallest C that matters to any fold."""
    sets = [folds.data]
    if folds.own is not None:
        sets = [folds.training(fold) for fold in range(len(folds.splits))]
    if folds.l1_ratio:
        return min(_first_sparse_C(folds, data) for data in sets)
    if folds.rule == "ovr":
        return min(first_C(data, p, folds.loss) for data in sets for p in data.positives)
    return min(smallest_joint_C(data, folds.rule) for data in sets)


def _first_sparse_C(folds: Folds, data: TrainingSet) -> float:
    """Return the C below which all weights are zero."""
    if folds.rule == "ovr":
        units: list[Any] = [one_vs_rest(data, positive, folds) for positive in data.positives]
    else:
        units = [joint_problem(data, folds.rule, folds.l1_ratio)]
    return float(min(unit.smallest_factor() for unit in units))


def _mean_weights(w: Any, b: Vector, folds: Folds) -> tuple[Vector, Vector]:
    """Return the means over the folds that train them."""
    trained = np.isnan(folds.fixed)
    count = np.maximum(trained.sum(axis=0), 1)
    given = folds.given_intercepts(w, b)
    return np.sum(w, axis=0) / count[:, None], np.sum(given, axis=0, where=trained) / count


def automatic_Cs(folds: Folds) -> Iterator[float]:
    """Yield C from the smallest that matters, doubled until the largest."""
    C = _first_C(folds)
    while C <= LARGEST_C:
        yield C
        C *= 2.0


@dataclass(eq=False)
class Driver:
    """Looks at one C after the other with an engine, and keeps what it has seen.

    Attributes
    ----------
    engine : Engine
    scorer : Scorer
    limits : Limits
    search : Search
        What was seen, now or before.
    told : callable, optional
        Called with the search after each C.
    later : callable, optional
        Scores a fold at its weights and intercepts. All values of C are then scored at the end,
        fold after fold, and ``scorer`` is not asked.
    watch : Interrupt
    began : float
        When the time limit began to run, by ``time.perf_counter``.
    """

    engine: Engine
    scorer: Scorer
    limits: Limits
    search: Search = field(default_factory=Search)
    told: Callable[[Search], None] | None = None
    later: Callable[[int, Any, Vector], float] | None = None
    watch: Interrupt = field(default_factory=Interrupt)
    began: float = field(default_factory=time.perf_counter)

    @property
    def cut_short(self) -> str:
        """Why no other C may be begun, if there is a reason."""
        if self.watch.requested:
            return CUT_SHORT[0]
        limit = self.limits.time_limit
        late = limit is not None and time.perf_counter() - self.began >= limit
        return CUT_SHORT[1] if late else ""

    def effort(self, C: float, tol: float, max_iter: int | None = None) -> Effort:
        """Return how hard to work at one C."""
        limits = self.limits
        return Effort(
            tol,
            limits.max_iter if max_iter is None else min(limits.max_iter, max_iter),
            None if limits.time_limit is None else self.began + limits.time_limit,
            limits.seed,
            limits.threads,
            self.watch,
            None if limits.callback is None else partial(limits.callback, f"C={C:g}"),
        )

    def go_on(self, Cs: Iterable[float], rule: GradientRule | None = None) -> Search:
        """Look at further values of C until they end, the rule is satisfied, or time is up.

        A value of C that was begun and not finished is left out, unless it is the only one: what
        was found before an interrupt is kept.
        """
        search = self.search
        search.reason = "all values of C were tried"
        with self.watch:
            for count, C in enumerate(Cs):
                if count > 0 and self.cut_short:
                    search.reason = self.cut_short
                    break
                began = time.perf_counter()
                enough = rule is not None and count > 0 and rule.enough(*self.engine.ratios(C))
                if not self._look_at(C, began):
                    search.reason = CUT_SHORT[0 if self.watch.requested else 1]
                    break
                if enough and rule is not None:
                    search.reason = (
                        "the solution no longer changed over three values of C (gradient rule, "
                        f"epsilon {rule.epsilon:g})"
                    )
                    break
            if self.later is not None:
                self._score_folds(self.later)
        return search

    def _score_folds(self, score: Callable[[int, Any, Vector], float]) -> None:
        """Score what was looked at without, fold after fold, at one C after the other."""
        search, folds = self.search, self.engine.folds
        places = [place for place, values in enumerate(search.scores) if values is _UNSCORED]
        scores = np.empty((len(places), len(folds.splits)))
        for fold in range(len(folds.splits)):
            for row, place in enumerate(places):
                kept = search.weights[place]
                assert kept is not None
                scores[row, fold] = score(fold, kept[0][fold], kept[1][fold])
        search.score_later(places, scores, folds)

    def _look_at(self, C: float, began: float) -> bool:
        """Solve and score all folds at C; return whether every run ended by itself."""
        search = self.search
        solved, scores = self._solved(C)
        if not solved.whole and search.Cs:
            self.engine.step_back()
            return False
        self.add(solved, scores, time.perf_counter() - began)
        return solved.whole

    def add(self, solved: Solved, scores: Vector, seconds: float) -> None:
        """Take note of one C, and tell of it."""
        self.search.add(self.engine, solved, scores, seconds)
        if self.told is not None:
            self.told(self.search)

    def held_out_scores(self) -> list[Vector] | None:
        """Return the scores of the rows that each fold held out, at the best C.

        None if only an earlier search has looked at that C, and time is up.
        """
        search = self.search
        C = search.Cs[search.best]
        if search.decided is None or search.decided[0] != C:
            if self.cut_short:
                return None
            # An earlier search has not kept them.
            solved = self.engine.solve(C, self.effort(C, self.limits.accuracy.tol))
            search.decided = (C, solved.decisions)
        return search.decided[1]

    def _solved(self, C: float) -> tuple[Solved, Vector]:
        """Solve at C, first coarsely where it seems out of the question."""
        accuracy, first = self.limits.accuracy, None
        if accuracy.coarse_tol is not None and self.search.far_below(accuracy.slack):
            coarse = self.effort(C, accuracy.coarse_tol, MACHINE.coarse_steps)
            first = self.engine.solve(C, coarse)
            scores = self.scorer(first)
            if not first.whole or self.search.far_below(accuracy.slack, scores):
                return first, scores
        solved = self.engine.solve(C, self.effort(C, accuracy.tol))
        if self.later is not None:
            return solved, _UNSCORED
        return solved if first is None else solved.after(first), self.scorer(solved)
