"""What ISG and IPPA share: compiled sweeps in stages, averages, extrapolation (DRSVM, section 2).

A stage is a few sweeps in one fixed order and with one step size. Iterates and multipliers are
averaged with weights that rise and fall over the stage (see core/sweeps/robust_sweeps.hpp); the
averages are the primal and the dual point that the stage ends with, which neither iterates nor last
multipliers of an incremental method would be; a small linear system brings the dual one nearer to
its constraints. Between stages, a line search along the way from earlier averages to the last one
shortens what is left of the drift.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.methods.published._dual_correction import corrected
from widemargin.methods.published._step_sizes import Judgement, StepSizes, step_sizes
from widemargin.problems.certificate import Point
from widemargin.problems.norms import norm_of
from widemargin.problems.robust import RobustProblem

Vector = NDArray[np.float64]

_REMEMBERED = 6
_FARTHEST = 10.0
_SMALLEST_STEP = 1e-13


@dataclass(eq=False)
class _Average:
    """Where a stage ended: weights, their scores, intercept, λ."""

    w: Vector
    scores: Vector
    b: float
    price: float


@dataclass(eq=False)
class IncrementalState(State):
    """The iterate, the sums of the stage under way, and the best points so far."""

    problem: RobustProblem
    steps: StepSizes
    random: np.random.Generator
    kernels: core.RobustCore
    w: Vector
    b: float
    price: float
    batch: int
    """Examples between two summed iterates."""
    together: int
    """Examples of one proximal step."""
    smallest: float
    best: Point
    best_primal: float = np.inf
    best_dual: float = 0.0
    averages: list[_Average] = field(default_factory=list)
    stage: core.RobustStage | None = None
    sweeps: int = 0
    """Of the present stage, so far."""
    sum_w: Vector = field(default_factory=lambda: np.empty(0))
    alpha: Vector = field(default_factory=lambda: np.empty((2, 0)))

    @property
    def point(self) -> Point:
        """The best weights and the best dual variables of all stages so far."""
        return self.best


class Incremental(ABC):
    """Sweeps of one kind; the subclasses name it and say how a sweep is cut and how steps start."""

    name: str
    serves: ClassVar[type[Any]] = RobustProblem
    first_step: float
    """Of the first stage, in units of 1 / mean squared length of a row."""
    scheme: ClassVar[str] = "automatic"
    """Of the step sizes, unless another is asked for."""

    def __init__(
        self, scheme: str | None = None, step: float | None = None, batch_size: int | None = None
    ) -> None:
        self._scheme, self._step = scheme or self.scheme, step
        self._batch_size = batch_size
        step_sizes(self._scheme, 1.0)

    def refuses(self, problem: RobustProblem) -> str | None:
        """Support every robust problem whose weights are held by something."""
        if problem.radius == 0.0 and problem.l2 == 0.0:
            return (
                f"solver {self.name!r} needs a positive radius or l2; "
                "the nearest solver that supports this problem is 'interior_point'"
            )
        return None

    @abstractmethod
    def batch_of(self, problem: RobustProblem) -> int:
        """Return how many examples go between two summed iterates."""

    def start(
        self, problem: RobustProblem, warm: Point | None, settings: Settings
    ) -> IncrementalState:
        """Start at w = 0, or at warm weights."""
        n = problem.rows.count
        point = problem.cold_point() if warm is None else warm
        length = float(problem.weight @ problem.rows.norms)
        scale = length + min(problem.label_cost**2, length) if problem.flips else length
        scale = max(scale, problem.l2, 1e-300)
        unit = 1.0 / scale if scale > 1e-290 else 1.0
        step = self._first_step(problem, unit, warm) if self._step is None else self._step
        w = np.array(point.w, dtype=np.float64)
        b = float(point.b) if problem.free_intercept else 0.0
        price = 1.0 / np.sqrt(scale) if scale > 1e-290 else 1.0
        if warm is not None:
            price = problem.worst_loss(w, b, problem.rows.scores(w))[1]
        state = IncrementalState(
            problem,
            step_sizes(self._scheme, step),
            np.random.default_rng(settings.seed),
            core.RobustCore(
                problem.rows.view,
                problem.norm,
                problem.y,
                problem.weight * n,  # with mean one
                problem.radius,
                problem.label_cost,
                problem.l2,
                problem.free_intercept,
            ),
            w,
            b,
            price,
            *self._batches(problem),
            _SMALLEST_STEP * unit,
            point,
            active=n,
        )
        state.best, certificate = problem.certify(point)
        state.best_primal, state.best_dual = certificate.primal, certificate.dual
        self._begin_stage(state)
        return state

    def _batches(self, problem: RobustProblem) -> tuple[int, int]:
        """Return the examples between two summed iterates, and those of one proximal step."""
        asked = self._batch_size
        return (self.batch_of(problem) if asked is None else min(asked, problem.rows.count)), 1

    def _first_step(self, problem: RobustProblem, unit: float, warm: Point | None) -> float:
        return self.first_step * unit

    def advance(self, state: IncrementalState) -> None:
        """Do one sweep, or several short ones; at the end of a stage, judge it."""
        rounds = max(1, MACHINE.examples_per_step // max(1, state.problem.rows.count))
        for _ in range(rounds):
            self._sweep(state)
            if state.sweeps == 2 * state.steps.half:
                self._end_stage(state)
                if state.finished:
                    return
                self._begin_stage(state)

    def _begin_stage(self, state: IncrementalState) -> None:
        n = state.problem.rows.count
        state.sweeps = 0
        state.sum_w = np.zeros(state.w.size)
        state.alpha = np.zeros((2, n))
        state.stage = core.RobustStage(
            state.kernels,
            state.random.permutation(n),
            state.w,
            state.b,
            state.price,
            state.sum_w,
            state.alpha,
        )

    def _sweep(self, state: IncrementalState) -> None:
        problem = state.problem
        rows, half, stage = problem.rows, state.steps.half, state.stage
        assert stage is not None
        n = rows.count
        slope = (1.0 if state.sweeps < half else -1.0) / (n * half)
        additions = max(1.0, rows.size.mean + self._dense_work(problem, state.batch))
        visit = MACHINE.sparse_value * additions
        piece = max(1, int(MACHINE.call / visit / state.batch)) * state.batch
        for begin in range(0, n, piece):
            end = min(begin + piece, n)
            stage.sweep(self.name, begin, end, state.batch, state.together, state.steps.step, slope)
            rows.checkpoint()
        state.b, state.price = stage.b, stage.price
        state.sweeps += 1
        state.passes += 1.0

    def _dense_work(self, problem: RobustProblem, batch: int) -> float:
        """Return how many additions over all weights an example costs."""
        return 4.0 * problem.rows.weights / batch

    def _end_stage(self, state: IncrementalState) -> None:
        problem = state.problem
        rows = problem.rows
        # 1) the averages, and what they prove
        alpha = state.alpha * (problem.weight / state.steps.half)
        stage = state.stage
        assert stage is not None
        w = state.sum_w / stage.total
        b, price = stage.sum_b / stage.total, stage.sum_price / stage.total
        point, certificate = problem.certify(Point(w, b, alpha))
        scores = rows.scores(w)
        state.passes += 2.0
        if not np.isfinite(certificate.primal):
            state.finished = True
            return
        if certificate.primal < state.best_primal:
            state.best_primal = certificate.primal
            state.best = Point(w, point.b, state.best.alpha)
        self._take_dual(state, point, certificate.dual)
        nearer = corrected(problem, w, alpha)
        if nearer is not None:
            point, again = problem.certify(Point(w, b, nearer))
            self._take_dual(state, point, again.dual)
        # 2) noise: what the averaged multipliers miss of the loss at the averaged point
        margins = problem.y * (scores + b)
        matched = float(alpha[0] @ (1.0 - margins))
        if problem.flips:
            matched += float(alpha[1] @ (1.0 + margins - problem.label_cost * price))
        loss = float(problem.weight @ problem.losses(margins, price))
        gap = certificate.primal - state.best_dual
        state.steps.judge(Judgement(gap, loss - matched))
        # 3) go on from the average, or from further along the way
        latest = _Average(w, scores, b, price)
        primal = self._extrapolate(state, latest, certificate.primal)
        state.averages = [*state.averages[1 - _REMEMBERED :], latest]
        state.expected_gap = (min(primal, state.best_primal) - state.best_dual) / state.best_primal
        state.finished = state.steps.step < state.smallest

    @staticmethod
    def _take_dual(state: IncrementalState, point: Point, dual: float) -> None:
        if dual > state.best_dual:
            state.best_dual = dual
            state.best = Point(state.best.w, state.best.b, point.alpha)

    def _extrapolate(self, state: IncrementalState, latest: _Average, primal: float) -> float:
        state.w, state.b, state.price = latest.w.copy(), latest.b, latest.price
        known = state.averages
        if not known:
            return primal
        for earlier in {id(a): a for a in (known[-1], known[len(known) // 2])}.values():
            primal = min(primal, self._search_line(state, earlier, latest, primal))
        if primal < state.best_primal:
            state.best_primal = primal
            state.best = Point(state.w.copy(), state.b, state.best.alpha)
        return primal

    @staticmethod
    def _search_line(
        state: IncrementalState, earlier: _Average, latest: _Average, primal: float
    ) -> float:
        """Minimise P beyond the latest average, seen from an earlier one; move there if it pays."""
        problem = state.problem
        dw, ds, db = latest.w - earlier.w, latest.scores - earlier.scores, latest.b - earlier.b

        def place(t: float) -> tuple[Vector, float, float]:
            w = latest.w + t * dw
            price = latest.price + t * (latest.price - earlier.price)
            return w, latest.b + t * db, max(price, norm_of(w, problem.norm))

        def value(t: float) -> float:
            w, b, price = place(t)
            margins = problem.y * (latest.scores + t * ds + b)
            loss = float(problem.weight @ problem.losses(margins, price))
            return problem.radius * price + loss + 0.5 * problem.l2 * float(w @ w)

        found = minimize_scalar(
            value, bounds=(0.0, _FARTHEST), method="bounded", options={"xatol": 1e-2, "maxiter": 15}
        )
        if found.fun < primal:
            state.w, state.b, state.price = place(float(found.x))
        return float(found.fun)
