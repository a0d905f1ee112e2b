"""widemargin against the rivals at equal true suboptimality.

The target is (P(w) − P*)/P ≤ 1e-4. A tight fit of widemargin gives a lower bound D on P*, so a
point counts when (P(w) − D)/P(w) is within the target; the bound's own error is at most a
hundredth of it. widemargin runs with ``tol`` = target, so its certificate proves what it reached.
Each rival climbs its ladder of tolerances, whole decades and then half a step back, until it has
reached the target; the seconds of that rung count, not those of the ladder. widemargin and the
fastest rivals then take turns.

Rivals that do not penalise the intercept differently are few (see `benchmarks.atlas.peers`): cells
with a free intercept are compared for the logistic loss only. For the hinges the seconds of
scikit-learn's `LinearSVC` with its defaults are noted, for information.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from ..peers.base import LOGISTIC
from .children import Child, DiedError, OutOfTimeError, timed
from .design import JOINT, Cell
from .peers import Rival, objective, rivals, small_part
from .regret import AUTO, WARM_SECONDS, estimator, outcome, solvers, warm_up

TARGET = 1e-4
OPTIMUM_GAP = 1e-7
# Bounds that are not as tight as asked still serve while their error does not show.
OPTIMUM_ENOUGH = 1e-6
OPTIMUM_SECONDS = 30.0
OURS_SECONDS = 60.0
# A rival slower than this multiple of widemargin is recorded as slower than that; where widemargin
# itself takes seconds, a smaller multiple must do.
FAR, FAR_SECONDS, LEAST_FAR = 10.0, 10.0, 2.0
HOPELESS = 3.0
LEAST_SECONDS = 0.05
# All fits of one rival together, in multiples of the longest it may take, and at least.
BUDGET, LEAST_BUDGET = 2.5, 1.0
PREPARE_SECONDS = 120.0
CONTENDERS = 2
CLOSE = 1.5
LONG_SECONDS = 2.0
SHORT_SECONDS = 0.05


@dataclass
class Rung:
    """One fit of a rival that reached the target."""

    rival: Rival
    level: float
    seconds: float


class Comparison:
    """widemargin and its rivals on one cell."""

    def __init__(self, cell: Cell, X: Any, y: np.ndarray, core: int | None = None) -> None:
        self.cell, self.X, self.y, self.core = replace(cell, tol=TARGET), X, y, core
        self.bound = -math.inf
        self.optimum_gap = math.inf
        self.ours = math.nan
        self.status = "over"
        self.failed: list[str] = []
        """Rivals that raised or crashed, and how."""

    # -- widemargin

    def certify(self) -> bool:
        """Find a tight lower bound on the optimum; the solvers try in turn."""
        upper = math.inf
        for solver in (AUTO, *solvers(self.cell)):

            def work(solver: str = solver) -> Iterator[tuple[float, float]]:
                limit = OPTIMUM_SECONDS / (1 if self.cell.kind in JOINT else self.cell.classes)
                model = estimator(self.cell, solver, tol=OPTIMUM_GAP, time_limit=limit)
                found = model.fit(self.X, self.y).certificates_
                yield sum(c.primal for c in found), sum(c.dual for c in found)

            try:
                with Child(work, self.core) as child:
                    above, below = child.get(1.5 * OPTIMUM_SECONDS)
            except (OutOfTimeError, DiedError):
                continue
            upper, self.bound = min(upper, above), max(self.bound, below)
            self.optimum_gap = (upper - self.bound) / upper if upper > 0.0 else math.inf
            if self.optimum_gap <= OPTIMUM_ENOUGH:
                break
        return self.optimum_gap <= OPTIMUM_ENOUGH

    def fit_ours(self) -> float:
        """Fit once with the defaults of a user who asks for the target."""
        model = estimator(self.cell, AUTO)
        seconds = timed(lambda: model.fit(self.X, self.y))[0]
        self.status = outcome(AUTO, seconds, model).status
        return seconds

    def time_ours(self) -> None:
        """Time widemargin, the second fit where the first is short."""

        def work() -> Iterator[tuple[float, str]]:
            for _ in range(2):
                yield self.fit_ours(), self.status

        self.ours = OURS_SECONDS
        try:
            with Child(work, self.core) as child:
                self.ours, self.status = child.get(OURS_SECONDS)
                if self.ours < WARM_SECONDS:
                    self.ours, self.status = child.get(OURS_SECONDS)
        except OutOfTimeError:
            pass
        except DiedError as error:
            self.status = f"died: {error}"

    # -- rivals

    @property
    def far(self) -> float:
        """The seconds after which a rival is recorded as slower than that."""
        return min(FAR * self.ours, max(LEAST_FAR * self.ours, FAR_SECONDS))

    def suboptimality(self, weights: tuple[np.ndarray, np.ndarray]) -> float:
        """Measure how far above the bound a rival's point is, relative to its objective."""
        value = objective(self.cell, self.X, self.y, weights)
        return (value - self.bound) / value if math.isfinite(value) and value > 0 else math.inf

    def ladder(self, rival: Rival) -> Iterator[tuple[float, float, bool]]:
        """Climb: every other rung until the target is reached, then the one skipped.

        Items are level, seconds and whether the target was reached; the first says only that the
        rival is ready.
        """
        small = small_part(self.y)
        rival.fit(rival.prepare(self.X[small], self.y[small]), rival.levels[0])
        prepared = rival.prepare(self.X, self.y)
        yield math.nan, 0.0, False

        def fit(level: float) -> tuple[float, float, bool]:
            seconds, weights = timed(lambda: rival.fit(prepared, level))
            return level, seconds, self.suboptimality(weights) <= TARGET

        for place in range(0, len(rival.levels), 2):
            rung = fit(rival.levels[place])
            yield rung
            if rung[2]:
                if place:
                    yield fit(rival.levels[place - 1])
                return

    def climb(self, rival: Rival, best: float) -> Rung | None:
        """Let a rival climb within its time; its fastest fit that reached the target."""
        found: list[Rung] = []
        limit = max(min(self.far, HOPELESS * best), LEAST_SECONDS)
        left = max(BUDGET * self.far, LEAST_BUDGET)
        try:
            with Child(lambda: self.ladder(rival), self.core) as child:
                child.get(PREPARE_SECONDS)
                while left > 0.0 and (rung := child.get(1.2 * limit + 0.05)) is not None:
                    level, seconds, reached = rung
                    left -= seconds
                    if seconds > limit:
                        break
                    if reached:
                        found.append(Rung(rival, level, seconds))
        except OutOfTimeError:
            pass
        except DiedError as error:
            self.failed.append(f"{rival.name}: {error}")
        return min(found, key=lambda rung: rung.seconds, default=None)

    def search(self) -> list[Rung]:
        """Let all rivals climb; those that reached the target, fastest first."""
        found: list[Rung] = []
        for rival in rivals(self.cell):
            best = min((rung.seconds for rung in found), default=math.inf)
            rung = self.climb(rival, best)
            if rung is not None:
                found.append(rung)
        return sorted(found, key=lambda rung: rung.seconds)

    def turns(self, ranking: list[Rung]) -> None:
        """Let widemargin and the fastest rivals take turns; medians replace the first seconds."""
        near = [r for r in ranking[:CONTENDERS] if r.seconds <= CLOSE * ranking[0].seconds]
        longest = max([self.ours, *(rung.seconds for rung in near)])
        if longest > LONG_SECONDS or self.status != "converged":
            return
        count = 7 if longest < SHORT_SECONDS else 3

        def work() -> Iterator[list[float]]:
            prepared = [rung.rival.prepare(self.X, self.y) for rung in near]
            measured: list[list[float]] = [[] for _ in range(len(near) + 1)]
            for _ in range(count + 1):
                measured[0].append(self.fit_ours())
                for place, rung in enumerate(near):
                    fit, data, level = rung.rival.fit, prepared[place], rung.level
                    seconds = timed(lambda fit=fit, data=data, level=level: fit(data, level))[0]
                    measured[place + 1].append(seconds)
            # The first round warms up.
            yield [median(found[1:]) for found in measured]

        try:
            with Child(work, self.core) as child:
                medians = child.get(PREPARE_SECONDS + 9 * (count + 1) * longest)
        except (OutOfTimeError, DiedError):
            return
        self.ours = medians[0]
        for rung, seconds in zip(near, medians[1:], strict=True):
            rung.seconds = seconds


def scikit_learn_default(cell: Cell, X: Any, y: np.ndarray, core: int | None) -> float:
    """Time scikit-learn's `LinearSVC` with its defaults, which solves another problem."""
    from sklearn.svm import LinearSVC

    def work() -> Iterator[float]:
        for _ in range(2):
            yield timed(lambda: LinearSVC(loss=cell.loss, C=cell.C, random_state=0).fit(X, y))[0]

    try:
        with Child(work, core) as child:
            seconds = child.get(OURS_SECONDS)
            return child.get(OURS_SECONDS) if seconds < WARM_SECONDS else seconds
    except (OutOfTimeError, DiedError):
        return math.nan


def measure(cell: Cell, X: Any, y: np.ndarray, core: int | None = None) -> dict[str, Any]:
    """Compare on one cell; the row of the table."""
    warm_up()
    comparison = Comparison(cell, X, y, core)
    row: dict[str, Any] = {"ours": math.nan, "ours_status": "", "rival": "", "note": ""}
    row |= {"rival_seconds": math.nan, "level": math.nan, "ratio": math.nan, "bound": False}
    row |= {"second": "", "second_seconds": math.nan, "sklearn_default": math.nan}
    row["optimum_gap"] = math.nan
    if not rivals(cell):
        row["note"] = "no rival solves this problem"
        if cell.intercept and cell.loss != LOGISTIC and cell.kind not in JOINT:
            comparison.time_ours()
            row["sklearn_default"] = scikit_learn_default(cell, X, y, core)
            row |= {"ours": comparison.ours, "ours_status": comparison.status}
        return row
    if not comparison.certify():
        row |= {"note": "optimum not known", "optimum_gap": comparison.optimum_gap}
        return row
    comparison.time_ours()
    ranking = comparison.search()
    if ranking:
        comparison.turns(ranking)
        ranking.sort(key=lambda rung: rung.seconds)
        best = ranking[0]
        row |= {"rival": best.rival.name, "rival_seconds": best.seconds, "level": best.level}
        if len(ranking) > 1:
            row |= {"second": ranking[1].rival.name, "second_seconds": ranking[1].seconds}
    else:
        # Nobody reached the target in that time, or at any tolerance.
        row |= {"rival": "none", "rival_seconds": comparison.far, "bound": True}
    row |= {"ours": comparison.ours, "ours_status": comparison.status}
    row["note"] = "; ".join(comparison.failed)[:300]
    row["optimum_gap"] = comparison.optimum_gap
    row["ratio"] = row["rival_seconds"] / comparison.ours
    return row
