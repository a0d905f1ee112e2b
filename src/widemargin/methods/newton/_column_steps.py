"""Newton's method on working sets of columns: what its two ways to minimise a model share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.columns import Columns, LastColumns, column_squares
from widemargin.data.work import Size
from widemargin.methods.base import Settings
from widemargin.methods.newton._column_state import ColumnState
from widemargin.methods.newton._elastic_net_model import Minimum, Penalty, QuadraticModel
from widemargin.methods.newton._foreseen import Foreseen
from widemargin.methods.newton._lowered_columns import by_lowered_costs, lost_at_full_costs
from widemargin.methods.newton._samples import SAMPLE_ERROR, balanced_sample, spread_sample
from widemargin.problems.certificate import Point
from widemargin.problems.sparse_weights import SparseProblem, leads_near

Vector = NDArray[np.float64]

_SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must reach (Armijo)."""

_HALVINGS = 30
"""Steps shorter than this many halvings change nothing in floating point."""

_ROUNDING = 4e-15
"""Share of the objective below which a decrease is rounding."""

_BLIND = 4
"""Steps whose decrease cannot be seen; after so many the slopes do not change either."""

_INNER_STEPS = 8
"""Steps on one working set before the columns outside are looked at."""

_SAMPLE = 8
"""The sample that goes before all rows has one in so many."""

_WIDER = 4.0
"""A working set of guessed slopes allows for so many times the error of the last guess."""

_REDUCED = 0.3
"""Share of the violation to which steps on a working set bring it before others are looked at."""

_FORETOLD = 0.1
"""Largest relative error of a predicted decrease for a model to be trusted."""

_INNER = 0.1
"""A model is minimised to this share of the violation that it starts from."""

_IN_SIGHT = 0.03
"""A model that has so little left to gain is the last one: it costs less than another one."""


class ColumnNewton(ABC):
    """Quadratic models on a working set of columns, each minimised with the penalty as it is."""

    name: ClassVar[str]
    serves: ClassVar[type[Any]]
    leaves_weights: ClassVar[bool] = True
    """A step makes new weights: those of the last one belong to nobody else."""

    def refuses(self, problem: Any) -> str | None:
        """Serve the losses that have second derivatives."""
        if not problem.loss.smooth:
            return (
                f"solver '{self.name}' needs a loss with second derivatives, which "
                f"'{problem.loss.name}' has not"
            )
        return None

    @abstractmethod
    def minimise(self, state: ColumnState, model: QuadraticModel, wanted: float) -> Minimum:
        """Minimise a model, about as well as wanted."""

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> ColumnState:
        """Begin at the warm weights, or at zero with the best constant."""
        point = problem.cold_point() if warm is None else warm
        w = np.array(point.w, dtype=np.float64)
        last = problem.last_columns if isinstance(problem, SparseProblem) else LastColumns()
        empty = np.empty(0)
        state = ColumnState(
            problem=problem,
            settings=settings,
            penalty=Penalty(problem.l1_ratio, 1.0 - problem.l1_ratio),
            w=w,
            b=float(point.b) if problem.free_intercept else 0.0,
            scores=last.scores(problem.rows, point.w),
            alpha=empty,
            curvature=empty,
            v=empty,
            total=np.inf,
            active=problem.rows.weights,
            began=problem.meter.nanoseconds,
            last=last,
        )
        state.penalised = state.penalty.of(w)
        self._look(state)
        if warm is None or not state.guess():
            self._look_at_all(state)
        if warm is None:
            self._take_sample(state)
        return state

    def advance(self, state: ColumnState) -> None:
        """Grow the working set, take steps on it, and look at all columns again.

        If rows are many, steps on a sample of them come first and lead near the solution.
        """
        problem = state.problem
        if state.sample is not None:
            self._step_on_sample(state, state.sample)
            return
        before = state.expected_gap
        if state.blurred:
            self._look_at_all(state)
        worst = self._grow(state)
        columns, guessed = state.columns, state.guessed
        assert columns is not None
        if guessed:
            moved = self._steps_by_guess(state, columns)
        else:
            moved = self._inner_steps(state, columns, worst)
        if not moved and guessed:
            self._look_at_all(state)
            return
        if not moved:
            state.finished = columns.all or state.expected_gap <= 0.0
            if not state.finished:
                state.columns = Columns(problem.rows, np.arange(problem.rows.weights))
            return
        state.blurred = columns.all and self._foresees(state) <= state.settings.tol
        if state.blurred:
            state.leave_slopes()
        else:
            self._judge(state, before)

    def _judge(self, state: ColumnState, before: float) -> None:
        """Look at all columns after steps from a relative gap; lower the costs if they are lost."""
        self._look_at_all(state)
        if state.expected_gap > state.settings.tol:
            self._foresees(state)
        if lost_at_full_costs(state, before):
            self._take(state, by_lowered_costs(state, self))

    def _steps_by_guess(self, state: ColumnState, columns: Columns) -> bool:
        """Take steps to the end: if the guess is right, the set has all columns of the answer."""
        inside = self._slopes(columns, state.alpha * state.problem.y)
        state.v[columns.places], state.margin = inside, np.nan
        return self._inner_steps(state, columns, min(state.worst(columns), state.enough / _REDUCED))

    def _inner_steps(self, state: ColumnState, columns: Columns, worst: float) -> bool:
        """Take steps on a working set; return whether any lowered the objective."""
        # Where columns are read among all others, looking at all costs nothing more.
        steps = 1 if columns.all or self._in_place(columns) else _INNER_STEPS
        problem, moved, before = state.problem, False, state.spent
        most = max(2.0 * before, before + problem.rows.size.product())
        for step in range(steps):
            inside, violation = state.v[columns.places], state.worst(columns)
            # No more than all that was done before, or than a look at all columns: the policy has
            # a say in time.
            if step and (violation <= _REDUCED * worst or state.spent > most):
                break
            if not self._step(state, columns, inside, self._accuracy(state, violation)):
                break
            moved = True
            self._look(state)
            if step + 1 < steps:
                state.v[columns.places] = self._slopes(columns, state.alpha * problem.y)
        return moved

    def _accuracy(self, state: ColumnState, violation: float) -> float:
        """Return to what violation to minimise a model that starts from one.

        To a share of it; to what the tolerance asks for, if that is in sight.
        """
        penalty, wanted = state.penalised, _INNER * violation
        if penalty == 0.0:
            return wanted
        last = max(_INNER * state.enough, state.enough_by_gap(violation))
        return last if _IN_SIGHT * wanted <= last < violation else wanted

    def _foresees(self, state: ColumnState) -> float:
        """Take the dual variables of the last model, where they are better; return the gap."""
        foreseen, problem = state.foreseen, state.problem
        if foreseen is None or state.sampled:
            return np.inf
        primal = state.total + state.penalised
        if not foreseen.allows(state.penalty, state.v, state.settings.tol * primal):
            return np.inf
        alpha, clipped = foreseen.duals(problem)
        # The longest column is no shorter than the mean one: clipping may turn it by so much.
        mean = np.sqrt(problem.rows.mean_squared_norm * problem.rows.count / problem.rows.weights)
        if clipped * mean * state.penalised > state.settings.tol * primal:
            state.foreseen = None
            return np.inf
        turned = clipped * np.sqrt(column_squares(problem.rows)) if clipped else 0.0
        slopes = foreseen.slopes(state.penalty, state.v, turned)
        gap = self._gap(state, alpha, slopes)
        if gap < state.expected_gap:
            state.expected_gap, state.better = gap, alpha
        return gap

    def _take_sample(self, state: ColumnState) -> None:
        """Begin with a sample of the rows, if they are so many that it leads near the solution."""
        problem, rows = state.problem, state.problem.rows
        size = rows.count // _SAMPLE
        if size < MACHINE.least_sample or not leads_near(rows):
            return
        draw = balanced_sample if isinstance(problem, SparseProblem) else spread_sample
        sample = draw(problem, size, np.random.default_rng(state.settings.seed))
        if sample is not None:
            part = problem.subproblem(sample)
            if rows.array is not None:
                # Read again and again: side by side in memory.
                near = replace(rows.copied(sample), checkpoint=rows.checkpoint, meter=rows.meter)
                part = replace(part, rows=near)
            state.sample = self.start(part, state.point, state.settings)
            state.sample.sampled = True

    def _step_on_sample(self, state: ColumnState, part: ColumnState) -> None:
        """Advance on the sample; take its weights once they are as good as its size allows."""
        before = part.passes
        self.advance(part)
        state.active = part.active
        state.passes += (part.passes - before) / _SAMPLE
        error = SAMPLE_ERROR * (1.0 + np.count_nonzero(part.w != 0.0)) / part.problem.rows.count
        if part.finished or part.expected_gap <= max(error, state.settings.tol):
            state.sample = None
            self._take(state, part)

    def _take(self, state: ColumnState, part: ColumnState) -> None:
        """Go on from the weights that a sample, or lower costs, led to, if they are better."""
        problem = state.problem
        scores = problem.rows.scores(part.w)
        state.passes += 1.0
        after = problem.loss.total(problem.y, problem.cost, scores, part.b)
        if after + part.penalised < state.total + state.penalised:
            state.w, state.b, state.scores = part.w, part.b, scores
            state.penalised = part.penalised
            self._look(state)
            self._look_at_all(state)

    @abstractmethod
    def _slopes(self, columns: Columns, a: Vector) -> Vector:
        """Return Σ_i x_ij a_i for the columns of a working set."""

    @abstractmethod
    def _scores(self, columns: Columns, change: Vector) -> Vector:
        """Return Σ_j x_ij change_j over the columns of a working set."""

    def _in_place(self, columns: Columns) -> bool:
        """Whether steps read the columns of a working set among all others."""
        return False

    @abstractmethod
    def _size(self, columns: Columns) -> Size:
        """Count rows, columns and stored values of a working set."""

    def _grow(self, state: ColumnState) -> float:
        """Choose the working set; return the largest violation of all columns."""
        if state.guessed and state.goes_on():
            return 0.0
        penalty = state.penalty
        if state.guessed:
            # Wider than needed: some more columns come in at the next values of C.
            penalty = replace(penalty, rho=max(0.0, penalty.rho - _WIDER * state.margin))
        violations = penalty.violations(state.v, state.w)
        worst = float(violations.max(initial=0.0))
        if state.columns is not None:
            covered = np.zeros(state.w.size, dtype=bool)
            covered[state.columns.places] = True
            if state.columns.all or not violations[~covered].any():
                return worst
        places = self._chosen(state, violations)
        places = places if places.size else np.arange(1)
        state.columns = Columns.of(state.problem.rows, places, state.last)
        state.active = max(places.size, self._in_work(state, violations))
        return worst

    def _in_work(self, state: ColumnState, violations: Vector) -> int:
        """Count the columns that work goes on with, if more than the working set."""
        return 0

    @abstractmethod
    def _chosen(self, state: ColumnState, violations: Vector) -> NDArray[np.int64]:
        """Return the columns of the next working set."""

    def _step(self, state: ColumnState, columns: Columns, inside: Vector, wanted: float) -> bool:
        """Take one step on the working set; return whether it lowered the objective."""
        problem = state.problem
        old = state.w[columns.places]
        rest = state.alpha * problem.y
        model = QuadraticModel(columns, old, inside, state.curvature, rest, problem.free_intercept)
        z, move, passes, left = self.minimise(state, model, wanted)
        share = self._size(columns).values / max(1, problem.rows.size.values)
        state.passes += (passes + 2.0) * share
        state.foreseen = state.better = None
        change = z - old
        if not (change.any() or move != 0.0):
            return False
        slopes = self._scores(columns, change)
        expected = float(inside @ change) + model.excess * move
        expected += state.penalty.of(old) - state.penalty.of(z)
        bend = float(state.curvature @ (slopes + move) ** 2)
        before = state.total + state.penalty.of(old)
        found = self._searched(state, (old, z), slopes, move, expected)
        if found is None:
            return False
        fresh, state.scores, state.b, after, state.found = found
        missed = abs(before - after - expected + 0.5 * bend)
        if fresh is z:
            moves = slopes + move if move else slopes
            terms = state.alpha, state.curvature
            state.foreseen = Foreseen(*terms, moves, columns, z, left, missed)
        if state.last.along is not None and not state.sampled:
            state.last.along.gain = (before - after) / before
        # A model that foretold the decrease is worth more sweeps than one that did not.
        state.trust = 2.0 * state.trust if missed <= _FORETOLD * (before - after) else 1.0
        w = state.w.copy()
        w[columns.places] = fresh
        # A working set has all weights that are not zero.
        state.w, state.penalised = w, state.penalty.of(fresh)
        return True

    def _searched(
        self,
        state: ColumnState,
        ends: tuple[Vector, Vector],
        slopes: Vector,
        move: float,
        expected: float,
    ) -> tuple[Vector, Vector, float, float, float] | None:
        """Return a step that lowers the objective, if one does.

        Weights, scores, intercept, the objective there but for weights of other columns, and the
        sum of the losses, NaN where it was not computed.
        """
        problem, loss = state.problem, state.problem.loss
        old, z = ends
        before, length = state.total + state.penalty.of(old), 1.0
        if expected <= _ROUNDING * (before + state.penalised):
            # Near the optimum a whole step is right although the objective cannot tell.
            state.blind += 1
            whole = z, state.scores + slopes, state.b + move, before - expected, np.nan
            return whole if state.blind <= _BLIND else None
        for _ in range(_HALVINGS):
            fresh = old + length * (z - old) if length < 1.0 else z
            scores, b = state.scores + length * slopes, state.b + length * move
            total = loss.total(problem.y, problem.cost, scores, b)
            after = total + state.penalty.of(fresh)
            problem.meter.add(problem.rows.size.vectors(4.0))
            if before - after >= _SUFFICIENT * length * expected - _ROUNDING * before:
                return fresh, scores, b, after, total
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
        # The line search computed it where no better intercept was taken.
        known = not (problem.free_intercept or np.isnan(state.found))
        state.total = state.found if known else loss.total(y, cost, state.scores, state.b)
        state.found = np.nan
        problem.meter.add(MACHINE.step + problem.rows.size.vectors(MACHINE.newton_vectors))

    def _look_at_all(self, state: ColumnState) -> None:
        """Compute the slopes of all columns, and estimate the gap."""
        problem = state.problem
        if isinstance(problem, SparseProblem) and not state.w.any():
            state.v = problem.slopes_at_zero.copy()
        else:
            state.v = problem.rows.combine(state.alpha, problem.y)
            if isinstance(problem, SparseProblem):
                # The certificate of this point has no need to compute them again.
                problem.rows.remember_combination(state.alpha, state.v, problem.y)
        state.margin = np.nan
        state.leave_slopes()
        state.passes += 1.0
        state.better, state.blurred = None, False
        state.expected_gap = self._gap(state, state.alpha, state.v)

    def _gap(self, state: ColumnState, alpha: Vector, slopes: Vector) -> float:
        """Estimate the relative gap of the weights with some dual variables."""
        primal = state.total + state.penalised
        gap = primal - float(state.problem.estimated_dual(alpha, slopes))
        return max(gap, 0.0) / primal if primal > 0.0 else 0.0
