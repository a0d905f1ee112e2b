"""Dual descent in pairs for one class: what one row gives another takes (Chou et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.newton._samples import spread_sample
from widemargin.problems.certificate import Point
from widemargin.problems.one_class import OneClassProblem

Vector = NDArray[np.float64]

_GROWTH = 8
"""Each sample has so many times the rows of the one before: all of them cost a seventh of a pass
for each pass over the last."""

_LEFT = 0.03
"""Share of the violation that work on some rows leaves before all are looked at again: a decade and
a half a look. Three times as much takes more looks, a third of it more visits in between; over the
cells of benchmarks/one_class both cost about a twentieth more."""

_NEAR, _BAND, _FEWEST = 0.01, 0.05, 50
"""Shares of the rows that are worked on because they lie next to ρ, the second where ρ and w are
those of a sample, and the least number. Between 0.003 and 0.03, and between 0.02 and 0.1, nothing
changes by more than the spread of a measurement."""

_MOST_PASSES = 20
"""Visits of a step, in those of all rows: where only rounding moves, the violation stays."""

_MOST_STEPS = 20
"""Steps on a sample at most: a few are common."""

_FINE = 1e-7
"""A tolerance below which the rounding in w counts at every check."""


@dataclass(eq=False)
class Stage:
    """Rows that stand for all of them, or all of them, with their dual variables.

    `seen` are the weights with the lowest primal value of those whose scores were looked at, `edge`
    is their ρ: those of the dual variables are not known to be better before the next look.
    """

    problem: OneClassProblem
    alpha: Vector
    w: Vector
    sweeps: core.PairSweeps
    seen: Vector
    edge: float = 0.0
    primal: float = np.inf
    exact: bool = False
    """Whether w was computed from α, and neither has moved since."""

    @classmethod
    def at(cls, problem: OneClassProblem, alpha: Vector, w: Vector) -> Stage:
        """Work on α and w in place."""
        return cls(problem, alpha, w, core.PairSweeps(problem.core, alpha, w, problem.mass), w)

    @classmethod
    def below(cls, problem: OneClassProblem, w: Vector) -> tuple[Stage, Vector]:
        """Begin with the rows that lie lowest in a direction; return the scores there too.

        The primal value of its best multiple is that of the dual variables, cut down by the angle
        between their weights and it.
        """
        rows = problem.rows
        stage = cls.at(problem, np.empty(rows.count), np.empty(rows.weights))
        scores = rows.scores(w)
        stage.sweeps.place(scores)
        rows.remember(w, scores)
        product, squared = stage.sweeps.product, float(w @ w)
        # No weights at all have a primal value of zero.
        stage.primal = -0.5 * max(product, 0.0) ** 2 / squared if squared > 0.0 else 0.0
        stage.seen, stage.edge = w, stage.sweeps.rho
        stage.refresh()
        return stage, scores

    @property
    def near(self) -> int:
        """How many rows count as next to the edge."""
        return max(_FEWEST, int(_NEAR * self.problem.rows.count))

    @property
    def size(self) -> float:
        """½‖w‖², which is −D."""
        return 0.5 * float(self.w @ self.w)

    def refresh(self) -> None:
        """Compute w from α."""
        self.w[:] = self.problem.rows.combine(self.alpha)
        self.exact = True

    def gap(self, whole: OneClassProblem) -> float:
        """Return the relative gap between what was seen and the dual variables."""
        return whole.relative(self.primal + self.size, self.primal)

    def judge(self, whole: OneClassProblem) -> float:
        """Look at all rows and choose those to work on; return the relative gap at w."""
        rows = self.problem.rows
        scores = rows.scores(self.w)
        gap = self.sweeps.judge(scores, self.near, _LEFT)
        primal = gap - self.size
        if not primal > self.primal:
            self.primal, self.edge, self.seen = primal, self.sweeps.rho, self.w.copy()
            # The certificate of this point needs them once more.
            rows.remember(self.seen, scores)
        return whole.relative(gap, primal)


@dataclass(eq=False)
class PairsState(State):
    """The stage at work, and the samples to come."""

    problem: OneClassProblem
    settings: Settings
    stage: Stage
    to_come: list[NDArray[np.int64]] = field(default_factory=list)
    on_sample: bool = False
    gap: float = np.inf
    visits_per_call: int = 1
    visit_price: float = 0.0
    hoped: bool = False
    """Whether the last step ended with what was asked for."""

    @property
    def point(self) -> Point:
        """The current point; on a sample, the dual variables are equal shares."""
        stage = self.stage
        if self.on_sample:
            return Point(stage.w, 1.0 - stage.sweeps.rho, self.problem.cold_point().alpha)
        return Point(stage.seen, 1.0 - stage.edge, stage.alpha)

    @property
    def error(self) -> float:
        """What ‖w‖² is off, relative to it, because w comes from a sample.

        A row of the sample stands for others that have an α of their own: w is a sum of independent
        terms α_i x_i, each of which is off by about itself.
        """
        stage = self.stage
        spread = float(stage.alpha @ stage.alpha) * self.problem.rows.mean_squared_norm
        return 0.5 * spread / stage.size if stage.size > 0.0 else np.inf


class OneClassDualCD(SupportsAll):
    """Minimise the dual exactly in two α at a time, which keeps their sum."""

    name = "dual_cd"
    serves: ClassVar[type[OneClassProblem]] = OneClassProblem
    leaves_weights = True

    def start(self, problem: OneClassProblem, warm: Point | None, settings: Settings) -> PairsState:
        """Start on a sample from the mean of its rows, or at the warm dual variables."""
        rows = problem.rows
        price = rows.size.sweep(1.0, 1.0)
        samples: list[NDArray[np.int64]] = []
        if warm is not None:
            alpha = _balanced(problem, warm)
            stage = Stage.at(problem, alpha, rows.combine(alpha))
        else:
            samples = _samples(problem, settings.seed)
            part = problem.subproblem(samples.pop(0)) if samples else problem
            stage, _ = Stage.below(part, part.rows.combine(part.cold_point().alpha))
        state = PairsState(
            problem,
            settings,
            stage,
            samples,
            stage.problem is not problem,
            active=rows.count,
            visits_per_call=max(256, int(MACHINE.call / price)),
            visit_price=price,
        )
        state.gap = stage.judge(problem)
        return state

    def advance(self, state: PairsState) -> None:
        """Work on the rows that violate optimality, then look at all of them.

        The first step goes through all samples: together they cost less than a look at all rows.
        """
        steps, tol = 0, state.settings.tol
        while state.on_sample:
            steps += 1
            done = self._work(state) or state.gap <= _error(state.stage.problem)
            if done or steps == _MOST_STEPS:
                self._next_stage(state)
                steps = 0
        # Where the certificate did not agree, there is more to do.
        if state.gap > tol or state.hoped:
            state.finished = self._work(state)
        stage = state.stage
        state.hoped = state.gap <= tol
        if state.hoped and tol < _FINE:
            stage.refresh()
        if state.hoped and stage.exact:
            problem = state.problem
            problem.rows.remember_combination(stage.alpha, stage.w)
        state.expected_gap, state.active = state.gap, stage.sweeps.active

    def _work(self, state: PairsState) -> bool:
        """Work on the chosen rows and judge the result; return whether nothing moves any more."""
        stage, problem = state.stage, state.problem
        # 1) pairs among the members
        visited, before = 0, state.gap
        most = _MOST_PASSES * max(stage.problem.rows.count, _FEWEST)
        while stage.sweeps.violation > stage.sweeps.wanted and visited < most:
            stage.exact = False
            visited += stage.sweeps.work(state.visits_per_call)
            problem.rows.checkpoint()
        problem.meter.add(MACHINE.sweep_call + state.visit_price * visited)
        state.passes += visited / max(1, problem.rows.count)
        # 2) all rows of the stage, unless what was seen of them will do
        nothing_moved = stage.sweeps.violation == 0.0
        state.gap = np.inf if state.on_sample or state.hoped else stage.gap(problem)
        if state.gap > state.settings.tol:
            state.gap = stage.judge(problem)
            if not state.on_sample:
                state.gap = stage.gap(problem)
            state.passes += stage.problem.rows.count / max(1, problem.rows.count)
        return bool(nothing_moved and state.gap >= before)

    def _next_stage(self, state: PairsState) -> None:
        """Go on with more rows, from the weights that were found for some.

        With all of them, once samples are as good as the tolerance.
        """
        problem, before = state.problem, state.stage
        if state.error <= state.settings.tol:
            state.to_come.clear()
        part = problem.subproblem(state.to_come.pop(0)) if state.to_come else problem
        # An interrupt in here finds the old stage whole.
        stage, scores = Stage.below(part, before.w)
        state.passes += part.rows.count / max(1, problem.rows.count)
        # A row of the sample stands for several, and so does one on its edge. The weights that the
        # lowest rows give are further off than those of the sample, and so are their scores.
        nearest = max(int(_BAND * part.rows.count), _FEWEST, _GROWTH * before.sweeps.free)
        on_sample, gap = part is not problem, stage.gap(problem)
        if on_sample or gap > state.settings.tol:
            stage.sweeps.choose(scores, nearest)
            stage.sweeps.rescore(_LEFT)
            problem.meter.add(state.visit_price * stage.sweeps.active)
            gap = np.inf  # if none of these can move, others can
        state.stage, state.gap, state.on_sample = stage, gap, on_sample


def _error(problem: OneClassProblem) -> float:
    """Return the relative gap to which a sample is solved: about d/m."""
    size = problem.rows.size
    return min(size.weights, size.mean) / max(1, size.rows)


def _balanced(problem: OneClassProblem, warm: Point) -> Vector:
    """Return feasible dual variables near those of a start.

    What is missing goes to the rows with the lowest scores, what is too much is taken from those
    with the highest: a projection would move all of them a little off the ends of their ranges.
    """
    alpha = problem.loss.clip(np.nan_to_num(warm.alpha), problem.cost)
    missing = -problem.residual(alpha)
    room = problem.cost - alpha if missing > 0.0 else alpha
    if abs(missing) <= _FINE * problem.mass or not warm.w.any():
        return problem.feasible(alpha)
    order = np.argsort(problem.rows.scores(warm.w))[:: 1 if missing > 0.0 else -1]
    before = np.cumsum(room[order]) - room[order]
    moved = np.clip(abs(missing) - before, 0.0, room[order])
    alpha[order] += np.copysign(moved, missing)
    return problem.feasible(alpha)


def _samples(problem: OneClassProblem, seed: int) -> list[NDArray[np.int64]]:
    """Return row numbers of growing samples; none where all rows are few."""
    random = np.random.default_rng(seed)
    found: list[NDArray[np.int64]] = []
    size = problem.rows.count // _GROWTH
    while size >= MACHINE.least_sample:
        sample = spread_sample(problem, size, random)
        if sample is None:
            break
        found.insert(0, sample)
        size //= _GROWTH
    return found
