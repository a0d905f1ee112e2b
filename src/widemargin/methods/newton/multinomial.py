"""Newton's method for multinomial logistic regression.

Each step solves for the weights of all classes at once, by conjugate gradients, and searches along
the direction. Where examples are many, the first steps are taken on growing samples of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.work import factor
from widemargin.methods.base import Settings, State
from widemargin.methods.newton._line_search import line_search
from widemargin.methods.newton._multinomial_system import MultinomialSystem
from widemargin.problems.certificate import Point
from widemargin.problems.multinomial import MultinomialProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_LAST_DIGITS = 1e-15
"""The relative decrease at which rounding leaves nothing to gain."""

_FREE = 1e-14
"""The relative gap to which small problems are solved, where digits cost nothing."""

_PATIENCE = 4
"""Steps without a smaller gradient after which no further progress is expected."""

_INTERCEPT_STEPS = 3
"""Newton steps in the intercepts alone, after each step in everything."""

_GROWTH = 4
"""Each sample has so many times the rows of the one before."""

_SAMPLE_ERROR = 2.0
"""A sample is left when less than this times its statistical error is to be gained."""


def is_small(problem: MultinomialProblem) -> bool:
    """Whether a pass over the data costs no more than the Python calls around it."""
    size = problem.rows.size
    return max(size.values, size.rows) * problem.classes <= MACHINE.small_problem


@dataclass(eq=False)
class MultinomialNewtonState(State):
    """Weights, their scores and dual variables on the examples of the stage.

    All matrices are padded; the intercepts are the last row of the weights where they are free.
    `stages` are the samples still to come.
    """

    whole: MultinomialProblem
    settings: Settings
    problem: MultinomialProblem
    stages: list[NDArray[np.int64] | None]
    weights: Matrix
    start: Point
    scores: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    duals: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    gradient: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    primal: float = 0.0
    system: MultinomialSystem = field(default_factory=lambda: MultinomialSystem(0))
    gap: float = np.inf
    best: float = np.inf
    stalled: int = 0

    @property
    def tol(self) -> float:
        """The relative gap to reach: all digits where a step costs little more than its calls."""
        return min(self.settings.tol, _FREE) if is_small(self.whole) else self.settings.tol

    @property
    def point(self) -> Point:
        """The current point; on a sample the dual variables are those of the start."""
        k, d = self.whole.classes, self.whole.rows.weights
        w = np.ascontiguousarray(self.weights[:d, :k].T)
        b = self.weights[d, :k].copy() if self.whole.free_intercept else np.zeros(k)
        alpha = self.duals[:, :k] if self.problem is self.whole else self.start.alpha
        return Point(w, b, alpha)


class MultinomialNewton:
    """Minimise the primal by second-order steps with a line search."""

    name = "newton"
    serves: ClassVar[type[MultinomialProblem]] = MultinomialProblem
    streams: ClassVar[bool] = True

    def refuses(self, problem: MultinomialProblem) -> str | None:
        """Support problems whose scores and directions fit into memory."""
        if problem.rows.elsewhere:
            return None  # the data have a memory limit of their own
        values = (problem.rows.count + problem.rows.weights) * problem.stride
        if values > MACHINE.most_matrices:
            return (
                f"solver 'newton' keeps the scores of all classes, here {problem.rows.count} x "
                f"{problem.classes}, and directions of {problem.rows.weights} x {problem.classes}, "
                "which is too much; 'dual_cd' keeps less"
            )
        return None

    def start(
        self, problem: MultinomialProblem, warm: Point | None, settings: Settings
    ) -> MultinomialNewtonState:
        """Start at W = 0, on a sample where examples are many, or at the warm point."""
        point = problem.cold_point() if warm is None else warm
        k, d = problem.classes, problem.rows.weights
        weights = np.zeros((d + problem.free_intercept, problem.stride))
        weights[:d, :k] = point.w.T
        if problem.free_intercept:
            weights[d, :k] = point.b
        stages: list[NDArray[np.int64] | None] = [None]
        if warm is None:
            stages = _growing_samples(problem, settings.seed)
        state = MultinomialNewtonState(problem, settings, problem, stages, weights, point)
        self._enter_stage(state)
        return state

    def advance(self, state: MultinomialNewtonState) -> None:
        """Take one Newton step on the examples of the present stage."""
        problem, d = state.problem, state.whole.rows.weights
        if problem is state.whole and _in_one_call(problem) and self._small_step(state):
            return
        accuracy = 0.1 * state.tol * state.primal
        if problem is not state.whole:
            accuracy = max(accuracy, 0.1 * _sample_error(problem) * state.primal)
        direction = state.system.direction(problem, state.duals, state.gradient, accuracy)
        slopes = self._scores(problem, direction)
        at_zero = float(np.vdot(state.gradient, direction))
        if at_zero < 0.0:
            head, ahead = state.weights[:d], direction[:d]
            penalty = float(np.vdot(head, ahead)), float(np.vdot(ahead, ahead))
            passes = problem.passes

            def derivatives(t: float) -> tuple[float, float]:
                problem.meter.add(problem.rows.size.softmax(problem.stride))
                return passes.derivatives(state.scores, slopes, t)

            step = line_search(derivatives, penalty, at_zero)
            state.weights = state.weights + step * direction
            slopes *= step
            state.scores += slopes
        problem.meter.add(MACHINE.multinomial_call * MACHINE.step)
        share = problem.rows.count / max(1, state.whole.rows.count)
        state.passes += (2.0 * state.system.products + 2.0) * share
        self._evaluate(state)
        self._judge(state, at_zero)

    def _small_step(self, state: MultinomialNewtonState) -> bool:
        """Take the same step in one compiled call; return False if the matrix has no factor."""
        problem = state.problem
        size, side = problem.rows.size, state.weights.shape[0] * problem.classes
        problem.meter.add(MACHINE.small_call * MACHINE.step + size.class_pass(problem.stride))
        problem.meter.add(MACHINE.tile_multiply * size.rows * side**2 + factor(side))
        # On copies, so that a point that was handed out stays as it was.
        weights, scores = state.weights.copy(), state.scores.copy()
        duals, gradient = state.duals.copy(), state.gradient.copy()
        report = problem.core.newton_step(
            problem.free_intercept, weights, scores, duals, gradient, _intercept_accuracy(state)
        )
        if not report.solved:
            return False
        state.weights, state.scores = weights, scores
        state.duals, state.gradient = duals, gradient
        state.passes += 4.0
        state.primal = report.primal
        state.gap = report.gap / report.primal if report.primal > 0.0 else np.inf
        state.expected_gap = state.gap
        self._judge(state, report.at_zero)
        return True

    def _enter_stage(self, state: MultinomialNewtonState) -> None:
        """Evaluate the weights on the next sample, or on all examples."""
        subset = state.stages.pop(0)
        problem, count = state.whole, state.whole.rows.count
        if subset is not None:
            problem = problem.take(subset, count / subset.size)
        state.problem = problem
        state.scores = self._scores(problem, state.weights)
        state.duals = np.zeros((problem.rows.count, problem.stride))
        state.system = MultinomialSystem(state.settings.seed, wanted=state.system.wanted)
        state.active = problem.rows.count
        state.best, state.stalled = np.inf, 0
        self._evaluate(state)

    def _scores(self, problem: MultinomialProblem, weights: Matrix) -> Matrix:
        d = problem.rows.weights
        start = weights[d] if problem.free_intercept else np.zeros(problem.stride)
        return problem.scores(weights[:d], start)

    def _evaluate(self, state: MultinomialNewtonState) -> None:
        """Find the dual variables, the gradient and the gap at the present scores."""
        problem, d = state.problem, state.whole.rows.weights
        losses = problem.terms(state.scores, state.duals)
        if problem.free_intercept and problem is state.whole:
            losses = self._move_intercepts(state, losses)
        combination, residual = problem.combine(state.duals)
        features = state.weights[:d]
        state.gradient = np.empty_like(state.weights)
        np.subtract(features, combination, out=state.gradient[:d])
        gap = 0.5 * float(np.vdot(state.gradient[:d], state.gradient[:d]))
        if problem.free_intercept:
            state.gradient[d] = -residual
            gap += abs(float(residual @ state.weights[d]))
        state.primal = 0.5 * float(np.vdot(features, features)) + losses
        known = problem is state.whole and state.primal > 0.0
        state.gap = gap / state.primal if known else np.inf
        state.expected_gap = state.gap

    def _move_intercepts(self, state: MultinomialNewtonState, losses: float) -> float:
        """Bring the intercepts to their best for these weights, by Newton's method.

        The gap has a term of first order in what is left of their slopes; of everything else its
        terms are of second order.
        """
        problem, b = state.problem, state.weights[-1]
        enough = _intercept_accuracy(state)
        for _ in range(_INTERCEPT_STEPS):
            residual = problem.residual(state.duals)
            size = float(np.abs(residual).sum())
            if size * (1.0 + np.ptp(b)) <= enough * losses:
                break
            moved = problem.padded(problem.intercept_step(state.duals, residual))
            scores = state.scores + moved
            fresh = problem.terms(scores, state.duals)
            if not fresh <= losses:
                return problem.terms(state.scores, state.duals)
            state.scores, losses = scores, fresh
            b += moved
        return losses

    def _judge(self, state: MultinomialNewtonState, at_zero: float) -> None:
        """Go on to the next sample, or see that nothing more can be gained."""
        if state.problem is not state.whole:
            if -at_zero <= _SAMPLE_ERROR * _sample_error(state.problem) * state.primal:
                self._enter_stage(state)
            return
        size = float(np.vdot(state.gradient, state.gradient))
        state.stalled = 0 if size < 0.9 * state.best else state.stalled + 1
        state.best = min(size, state.best)
        nothing = not at_zero < -_LAST_DIGITS * state.primal
        if state.tol < state.settings.tol and state.gap > state.tol and state.stalled < 2:
            state.expected_gap = np.inf
        state.finished = nothing and state.stalled >= _PATIENCE


def _in_one_call(problem: MultinomialProblem) -> bool:
    """Whether a whole step is one compiled call: its arithmetic is less than the calls'."""
    side = (problem.rows.weights + problem.free_intercept) * problem.classes
    if problem.rows.blocked:
        return False
    return side <= MACHINE.small_weights and problem.rows.count * side <= MACHINE.small_values


def _intercept_accuracy(state: MultinomialNewtonState) -> float:
    """Return the share of the losses that the slopes of the intercepts may be worth.

    Steps far from the solution leave more than a few steps in the intercepts could make good.
    """
    return 0.05 * max(state.tol, min(0.1 * state.gap**2, 0.1))


def _growing_samples(problem: MultinomialProblem, seed: int) -> list[NDArray[np.int64] | None]:
    """Return row numbers of growing samples, ending with None for all rows."""
    count = problem.rows.count
    smallest = max(MACHINE.sample_rows * problem.rows.weights, MACHINE.least_sample)
    stages: list[NDArray[np.int64] | None] = [None]
    random, size = np.random.default_rng(seed), count // _GROWTH
    while size >= smallest:
        edges = np.linspace(0, count, size + 1).astype(np.int64)
        subset = edges[:-1] + (random.random(size) * np.diff(edges)).astype(np.int64)
        subset = subset[problem.cost[subset] > 0.0]
        present = np.bincount(problem.label[subset], minlength=problem.classes)
        if subset.size < size // 2 or not present.all():
            break
        if size <= problem.rows.largest_sample:
            stages.insert(0, subset)
        size //= _GROWTH
    return stages


def _sample_error(problem: MultinomialProblem) -> float:
    """Return how far a sample's solution is from that of all examples, relative to P."""
    side = problem.rows.weights * (problem.classes - 1)
    return side / max(1, problem.rows.count)
