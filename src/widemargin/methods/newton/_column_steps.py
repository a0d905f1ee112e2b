"""Newton's method on working sets of columns: what its two ways to minimise a model share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.columns import Columns
from widemargin.data.work import Size
from widemargin.methods.base import Settings, State
from widemargin.methods.newton._elastic_net_model import Model, Penalty, by_columns, by_matrix
from widemargin.methods.newton._samples import SAMPLE_ERROR, spread_sample
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must reach (Armijo)."""

_HALVINGS = 30
"""Steps shorter than this many halvings change nothing in floating point."""

_ROUNDING = 4e-15
"""Share of the objective below which a decrease is rounding."""

_BLIND = 4
"""Steps whose decrease cannot be seen; after so many the slopes do not change either."""

_GROWTH = 2.0
"""A working set is this many times its weights that are not zero, or more."""

_MORE = 1.1
"""It grows by this much more with every change, so that no sequence of sets goes on for ever."""

_INNER_STEPS = 8
"""Steps on one working set before the columns outside are looked at."""

_SAMPLE, _SAMPLE_STEPS = 8, 20
"""The sample that goes before all rows has one in so many; steps on it at most."""

_TAKEN_OUT = 4.0
"""Products that taking columns out costs: two to count and copy them, two for what follows."""

_INNER = 0.1
"""A model is minimised to this share of the violation that it starts from."""


@dataclass(eq=False, kw_only=True)
class ColumnState(State):
    """Weights, intercept, scores, and what the losses say at these."""

    problem: Any
    settings: Settings
    penalty: Penalty
    w: Vector
    b: float
    scores: Vector
    alpha: Vector
    curvature: Vector
    v: Vector
    total: float
    columns: Columns | None = None
    sampled: bool = True
    """Whether a sample has been used, or is of no use."""
    blind: int = 0
    changes: int = 0
    """Of the working set so far."""

    @property
    def point(self) -> Point:
        """The current weights and the dual variables that belong to them."""
        return Point(self.w, self.b, self.alpha)


class ColumnNewton(ABC):
    """Quadratic models on a working set of columns, each minimised with the penalty as it is."""

    name: ClassVar[str]
    serves: ClassVar[type[Any]]

    def refuses(self, problem: Any) -> str | None:
        """Serve the losses that have second derivatives."""
        if not problem.loss.smooth:
            return (
                f"solver '{self.name}' needs a loss with second derivatives, which "
                f"'{problem.loss.name}' has not"
            )
        return None

    @abstractmethod
    def minimise(
        self, state: ColumnState, model: Model, wanted: float
    ) -> tuple[Vector, float, float]:
        """Return the weights that minimise a model, the intercept's move, and the passes taken."""

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> ColumnState:
        """Begin at the warm weights, or at zero with the best constant."""
        point = problem.cold_point() if warm is None else warm
        w = np.array(point.w, dtype=np.float64)
        scores = problem.rows.scores(w) if w.any() else np.zeros(problem.rows.count)
        empty = np.empty(0)
        state = ColumnState(
            problem=problem,
            settings=settings,
            penalty=Penalty(problem.l1_ratio, 1.0 - problem.l1_ratio),
            w=w,
            b=float(point.b) if problem.free_intercept else 0.0,
            scores=scores,
            alpha=empty,
            curvature=empty,
            v=empty,
            total=np.inf,
            active=problem.rows.weights,
            sampled=warm is not None,
        )
        self._look(state)
        self._look_at_all(state)
        return state

    def advance(self, state: ColumnState) -> None:
        """Grow the working set, take steps on it, and look at all columns again.

        The first time, a sample of the rows leads near the solution if rows are many.
        """
        problem = state.problem
        if not state.sampled:
            self._begin_on_sample(state)
            if state.expected_gap <= state.settings.tol:
                return
        worst = self._grow(state)
        columns = state.columns
        assert columns is not None
        everything = columns.rows is problem.rows
        steps = 1 if everything else _INNER_STEPS
        moved = False
        for step in range(steps):
            inside = state.v[columns.places]
            violation = float(
                state.penalty.violations(inside, state.w[columns.places]).max(initial=0.0)
            )
            if step and violation <= 0.3 * worst:
                break
            if not self._step(state, columns, inside, _INNER * violation):
                break
            moved = True
            self._look(state)
            if step + 1 < steps:
                state.v[columns.places] = columns.rows.combine(state.alpha, problem.y)
        if not moved:
            state.finished = everything or state.expected_gap <= 0.0
            if not state.finished:
                state.columns = Columns.of(problem.rows, np.arange(problem.rows.weights))
            return
        self._look_at_all(state)

    def _begin_on_sample(self, state: ColumnState) -> None:
        """Take the weights that a sample of the rows gives, if they are better."""
        state.sampled = True
        problem, rows = state.problem, state.problem.rows
        size = rows.count // _SAMPLE
        if size < MACHINE.least_sample or rows.count < MACHINE.rows_of_samples * rows.weights:
            return
        sample = spread_sample(problem, size, np.random.default_rng(state.settings.seed))
        if sample is None:
            return
        part = self.start(problem.subproblem(sample), state.point, state.settings)
        for _ in range(_SAMPLE_STEPS):
            error = SAMPLE_ERROR * (1.0 + np.count_nonzero(part.w)) / size
            if part.finished or part.expected_gap <= max(error, state.settings.tol):
                break
            self.advance(part)
        before = state.total + state.penalty.of(state.w)
        scores = rows.scores(part.w)
        after = problem.loss.total(problem.y, problem.cost, scores, part.b)
        state.passes += part.passes / _SAMPLE + 1.0
        if after + state.penalty.of(part.w) < before:
            state.w, state.b, state.scores = part.w, part.b, scores
            self._look(state)
            self._look_at_all(state)

    def _grow(self, state: ColumnState) -> float:
        """Choose the working set; return the largest violation of all columns."""
        violations = state.penalty.violations(state.v, state.w)
        support = np.flatnonzero(state.w)
        old = state.columns
        wanted = max(MACHINE.first_columns, int(_GROWTH * support.size))
        if old is not None:
            covered = np.zeros(state.w.size, dtype=bool)
            covered[old.places] = True
            outside = np.where(covered, 0.0, violations)
            if not outside.any() or old.rows is state.problem.rows:
                return float(violations.max(initial=0.0))
            # Sets that had to change again and again were too small.
            state.changes += 1
            wanted = int(wanted * _MORE**state.changes)
        violations_or_support = violations.copy()
        violations_or_support[support] = np.inf
        if old is not None:
            violations_or_support[old.places] = np.maximum(
                violations_or_support[old.places], np.finfo(float).tiny
            )
        if self._takes_all(state.problem.rows.size, wanted):
            places = np.arange(state.w.size)
        else:
            places = np.argpartition(-violations_or_support, wanted)[:wanted]
            places = np.sort(places[violations_or_support[places] > 0.0])
        if places.size == 0:
            places = np.arange(1)
        state.columns = Columns.of(state.problem.rows, places)
        state.active = places.size
        state.passes += 1.0
        return float(violations.max(initial=0.0))

    def _takes_all(self, size: Size, wanted: int) -> bool:
        """Whether to work on all columns, though so many would do: taking them out has a price."""
        return 4 * wanted >= size.weights

    def _step(self, state: ColumnState, columns: Columns, inside: Vector, wanted: float) -> bool:
        """Take one step on the working set; return whether it lowered the objective."""
        problem = state.problem
        old = state.w[columns.places]
        rest = state.alpha * problem.y
        model = Model(columns, old, inside, state.curvature, rest, problem.free_intercept)
        z, move, passes = self.minimise(state, model, wanted)
        share = columns.rows.size.values / max(1, problem.rows.size.values)
        state.passes += (passes + 2.0) * share
        change = z - old
        if not (change.any() or move != 0.0):
            return False
        slopes = columns.rows.scores(change)
        expected = float(inside @ change) + model.excess * move
        expected += state.penalty.of(old) - state.penalty.of(z)
        found = self._searched(state, (old, z), slopes, move, expected)
        if found is None:
            return False
        fresh, state.scores, state.b = found
        w = state.w.copy()
        w[columns.places] = fresh
        state.w = w
        return True

    def _searched(
        self,
        state: ColumnState,
        ends: tuple[Vector, Vector],
        slopes: Vector,
        move: float,
        expected: float,
    ) -> tuple[Vector, Vector, float] | None:
        """Return weights, scores and intercept of a step that lowers the objective, if one does."""
        problem, loss = state.problem, state.problem.loss
        old, z = ends
        before, length = state.total + state.penalty.of(old), 1.0
        if expected <= _ROUNDING * (before + state.penalty.of(state.w)):
            # Near the optimum a whole step is right although the objective cannot tell.
            state.blind += 1
            return (z, state.scores + slopes, state.b + move) if state.blind <= _BLIND else None
        for _ in range(_HALVINGS):
            fresh = old + length * (z - old) if length < 1.0 else z
            scores, b = state.scores + length * slopes, state.b + length * move
            after = loss.total(problem.y, problem.cost, scores, b) + state.penalty.of(fresh)
            problem.meter.add(problem.rows.size.vectors(4.0))
            if before - after >= _SUFFICIENT * length * expected - _ROUNDING * before:
                return fresh, scores, b
            length *= 0.5
        return None

    def _look(self, state: ColumnState) -> None:
        """Take the best intercept, and the losses' terms there."""
        problem, loss = state.problem, state.problem.loss
        y, cost = problem.y, problem.cost
        if problem.free_intercept:
            best = loss.best_intercept(y, cost, state.scores, state.b)
            state.b = best if np.isfinite(best) else state.b
        state.alpha, state.curvature = loss.terms(y, cost, state.scores, state.b)
        state.total = loss.total(y, cost, state.scores, state.b)
        problem.meter.add(MACHINE.step + problem.rows.size.vectors(MACHINE.newton_vectors))

    def _look_at_all(self, state: ColumnState) -> None:
        """Compute the slopes of all columns, and estimate the gap."""
        problem = state.problem
        state.v = problem.rows.combine(state.alpha, problem.y)
        state.passes += 1.0
        primal = state.total + state.penalty.of(state.w)
        gap = primal - problem.estimated_dual(state.alpha, state.v)
        state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else 0.0


class ByMatrix(ColumnNewton):
    """Models are minimised with the Gram matrix of the working set."""

    def _takes_all(self, size: Size, wanted: int) -> bool:
        """The same where the matrix of all columns costs little: it grows with their square."""
        part = Size(size.rows, wanted, size.values * wanted // size.weights)
        dear = size.gram() - part.gram() > size.product(_TAKEN_OUT)
        return super()._takes_all(size, wanted) and (2 * wanted >= size.weights or not dear)

    def minimise(
        self, state: ColumnState, model: Model, wanted: float
    ) -> tuple[Vector, float, float]:
        """Form the matrix and minimise the model."""
        matrix = model.columns.rows.gram(model.curvature, model.free)
        z, move = by_matrix(model, state.penalty, wanted, matrix)
        return z, move, 1.0


class ByColumns(ColumnNewton):
    """Models are minimised by sweeps over the columns of the working set."""

    def minimise(
        self, state: ColumnState, model: Model, wanted: float
    ) -> tuple[Vector, float, float]:
        """Sweep over the columns until the model is minimised."""
        z, move, sweeps = by_columns(model, state.penalty, wanted)
        return z, move, float(sweeps)
