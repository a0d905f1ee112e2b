"""Steps of L-BFGS on the primal objective: see `widemargin.methods.newton.quasi_newton`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.linalg.limited_memory import LimitedMemory
from widemargin.methods.base import Settings, State
from widemargin.methods.newton._line_search import line_search
from widemargin.methods.newton._metric import Metric
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.losses import Line

Vector = NDArray[np.float64]


@dataclass(eq=False)
class QuasiNewtonState(State):
    """Weights, their scores, and what belongs to these."""

    problem: BinaryProblem
    w: Vector
    b: float
    scores: Vector
    alpha: Vector
    curvature: Vector
    gradient: Vector
    primal: float = np.inf
    tol: float = 0.0
    metric: Metric = field(default_factory=Metric)
    memory: LimitedMemory = field(default_factory=partial(LimitedMemory, MACHINE.quasi_pairs))

    @property
    def point(self) -> Point:
        """The weights, and the dual variables that belong to their scores."""
        return Point(self.w, self.b, self.alpha)


def begin(
    problem: BinaryProblem, w: Vector, b: float, scores: Vector, settings: Settings
) -> QuasiNewtonState:
    """Start at weights whose scores are known."""
    if problem.free_intercept:
        b = problem.loss.best_intercept(problem.y, problem.cost, scores, b)
    alpha, curvature = problem.loss.terms(problem.y, problem.cost, scores, b)
    gradient = w - problem.rows.combine(alpha, problem.y)
    state = QuasiNewtonState(problem, w, b, scores, alpha, curvature, gradient, tol=settings.tol)
    state.passes, state.active = 1.0, problem.rows.nonzeros(curvature)
    _judge(state)
    state.metric = Metric(began=problem.meter.nanoseconds)
    return state


def step(state: QuasiNewtonState) -> None:
    """Search along the quasi-Newton direction."""
    problem = state.problem
    loss, y, cost, rows = problem.loss, problem.y, problem.cost, problem.rows
    problem.meter.add(rows.size.quasi_newton_step() - rows.size.product(2.0))

    # 1) direction: the first one, along the gradient, is often enough; that of the intercept
    # keeps it the best one to first order
    metric = state.metric
    if metric.is_due(problem, state.expected_gap, state.active, state.tol):
        state.metric = metric.renewed(problem, state.curvature)
        state.memory.clear()
    elif state.memory.pairs and metric.is_plain and rows.count >= rows.weights:
        metric.scale = _inverse_variances(problem, state.curvature)
    has_factor = state.metric.factor is not None
    if has_factor:
        problem.meter.add(work.solve(rows.weights))
    direction = state.memory.solve(-state.gradient, state.metric.solve, scaled=has_factor)
    at_zero = float(state.gradient @ direction)
    if not at_zero < 0.0:
        state.finished = not state.memory.pairs
        state.memory.clear()
        return
    slopes = rows.scores(direction)
    slope_b = 0.0
    if problem.free_intercept:
        total = float(state.curvature.sum())
        slope_b = -float(state.curvature @ slopes) / total if total > 0.0 else 0.0

    # 2) exact line search; the first length is that of a parabola
    first = 1.0
    if not state.memory.pairs and not has_factor:
        bend = float(state.curvature @ (slopes + slope_b) ** 2) + float(direction @ direction)
        first = -at_zero / bend
    line = Line(y, cost, state.scores, state.b, first * slopes, first * slope_b)
    penalty = first * float(state.w @ direction), first**2 * float(direction @ direction)
    derivatives = partial(loss.derivatives_along, line)
    step = first * line_search(derivatives, penalty, first * at_zero)

    # 3) move, and take what belongs to the new scores
    move = step * direction
    w, scores, b = state.w + move, state.scores + step * slopes, state.b + step * slope_b
    if problem.free_intercept:
        b = loss.best_intercept(y, cost, scores, b)
    alpha, curvature = loss.terms(y, cost, scores, b)
    gradient = w - rows.combine(alpha, y)
    still = np.array_equal(w, state.w)
    state.memory.add(move, gradient - state.gradient)
    state.w, state.b, state.scores, state.alpha = w, b, scores, alpha
    state.curvature, state.gradient = curvature, gradient
    rows.remember(w, scores)
    state.passes += 2.0
    state.active = problem.rows.nonzeros(curvature)
    _judge(state)
    state.finished |= still


def _judge(state: QuasiNewtonState) -> None:
    """Take the gap at the new point, which the gradient gives."""
    problem = state.problem
    state.primal = problem.primal(state.w, state.b, state.scores)
    gap = 0.5 * float(state.gradient @ state.gradient)
    state.expected_gap = problem.relative(gap, state.primal)
    state.finished = gap == 0.0 or not np.isfinite(gap)


def _inverse_variances(problem: BinaryProblem, curvature: Vector) -> Vector:
    """Return the inverse of 1 + Σ h_i (x_ij − m_j)², with the mean m under the weights h.

    Without an intercept the mean is one direction more, which the first steps find. If it were not
    left out, columns far from zero would hide all others.
    """
    variances = problem.rows.curvature_diagonal(curvature)
    total = float(curvature.sum())
    if total > 0.0:
        variances -= problem.rows.combine(curvature) ** 2 / total
    # Rounding may leave less than nothing of the difference of two large sums.
    return 1.0 / (1.0 + np.maximum(variances, 0.0))
