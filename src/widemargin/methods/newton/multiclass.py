"""Newton's method for the multiclass hinges, smoothed around the dual point (multipliers).

The sibling of `proximal_newton` for all classes at once. Subtracting a quadratic around a dual
point rounds the corners of the loss, see core/losses/proximal_multiclass.hpp; a Newton step on that
concerns only examples with two or more classes in the corner. Centring the rounding at the latest
dual point removes its error in the limit; the interval is narrowed only when that goes too slowly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.methods.newton._line_search import line_search
from widemargin.methods.newton._multiclass_system import JointSystem, multiclass_step
from widemargin.problems.certificate import Point
from widemargin.problems.compressed_duals import CompressedDuals
from widemargin.problems.multiclass import MulticlassProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_SOLVED = 0.1
"""A smoothed problem counts as solved when the gradient's share of the gap is below this."""

_PATIENCE = 40
"""Steps around one centre, with neither gap nor gradient better, after which it is given up."""

_CENTRES_PATIENCE = 20
"""Centres without a better gap after which no further progress is expected."""

_GOOD_RATE = 0.3
"""Moving the centre should cut the mismatch to this; if it does not, the interval is halved."""

_NARROW = 0.2
"""Factor on the interval when one step solved the problem: it has found its ties."""

_WARM_WIDTH = 4.0
"""The least interval, in margins, around the dual point that another method got to."""

_WIDER = 4.0
"""Factor between the intervals that are tried around such a point: later halvings do the rest."""

_LAST_DIGITS = 1e-15
"""The relative gap at which rounding leaves nothing to gain."""


_LAST_STEP = 1e-22
"""A step that promised to lower the primal by this share of it left only rounding to gain."""


def products(problem: MulticlassProblem) -> int:
    """Return how many products with the data a pass takes; an empty row counts as one entry."""
    return max(problem.rows.size.values, problem.rows.count) * problem.classes


@dataclass(eq=False)
class MulticlassNewtonState(State):
    """Weights, their scores, the centre of the rounding, and the dual point that belongs to them.

    The intercepts are the last row of the weights where they are free.
    """

    problem: MulticlassProblem
    settings: Settings
    weights: Matrix
    scores: Matrix
    center: core.BlockDuals
    duals: core.BlockDuals
    ties: core.Ties
    combination: Matrix
    width: float
    primal: float = 0.0
    mismatch: float = 0.0
    gap: float = np.inf
    last_mismatch: float = 0.0
    best_gap: float = np.inf
    best_here: float = np.inf
    best_decrement: float = np.inf
    stalled_steps: int = 0
    stalled_centres: int = 0
    steps_here: int = 0
    system: JointSystem = field(default_factory=JointSystem)

    @property
    def point(self) -> Point:
        """The current point."""
        k, d = self.problem.classes, self.problem.rows.weights
        b = self.weights[d, :k].copy() if self.problem.free_intercept else np.zeros(k)
        # Where the centre has just moved it is what was judged; the duals belong to the next step.
        judged = self.duals if self.steps_here else self.center
        beta = CompressedDuals.read(judged, self.problem.rows.count)
        return Point(np.ascontiguousarray(self.weights[:d, :k].T), b, beta.sparse(k))


class MulticlassNewton:
    """Minimise the primal by Newton steps on the proximal smoothing of its loss."""

    name = "proximal_newton"
    serves: ClassVar[type[MulticlassProblem]] = MulticlassProblem
    streams: ClassVar[bool] = True

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Support problems whose scores fit into memory and whose weights are not too many."""
        if problem.rows.elsewhere:
            return _refuses_elsewhere(problem)
        if problem.rows.count * problem.stride > MACHINE.most_kept:
            return (
                f"solver 'proximal_newton' keeps all scores, here {problem.rows.count} x "
                f"{problem.classes}, which is too many; 'block_dual_cd' does not"
            )
        if problem.rows.weights > MACHINE.largest_factorised:
            return (
                f"solver 'proximal_newton' supports up to {MACHINE.largest_factorised} features, "
                f"not {problem.rows.weights}; 'block_dual_cd' supports any number"
            )
        if _too_many_matrices(problem):
            features = problem.rows.weights + problem.free_intercept
            return (
                f"solver 'proximal_newton' keeps a matrix of all features for each class, here "
                f"{problem.classes} times {features} x {features}, which is too much memory; "
                "'block_dual_cd' needs none"
            )
        return None

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> MulticlassNewtonState:
        """Start at W = 0 or at the warm point."""
        point = problem.cold_point() if warm is None else warm
        k, d, n = problem.classes, problem.rows.weights, problem.rows.count
        weights = np.zeros((d + problem.free_intercept, problem.stride))
        weights[:d, :k] = point.w.T
        if problem.free_intercept:
            weights[d, :k] = point.b
        center = core.BlockDuals(n, k)
        if warm is not None:
            center.write(*problem.in_range(warm.alpha), k)
        state = MulticlassNewtonState(
            problem,
            settings,
            weights,
            np.zeros((n, problem.stride)),
            center,
            core.BlockDuals(n, k),
            core.Ties(),
            np.zeros_like(weights),
            width=_first_width(problem) if warm is None else _WARM_WIDTH,
        )
        state.scores = self._scores(state, weights)
        self._evaluate(state)
        if warm is not None:
            self._widen(state)
        return state

    def advance(self, state: MulticlassNewtonState) -> None:
        """Take one Newton step on the rounded loss; then move its centre if that is solved."""
        problem = state.problem
        d = problem.rows.weights
        gradient = _penalised(state.weights, d) - state.combination
        direction = state.system.direction(
            problem, state.ties, gradient, 0.02 * state.settings.tol * state.primal
        )
        slopes = self._scores(state, direction)
        at_zero = float(np.vdot(gradient, direction))
        if at_zero < 0.0:
            head, ahead = state.weights[:d], direction[:d]
            penalty = float(np.vdot(head, ahead)), float(np.vdot(ahead, ahead))
            passes = problem.passes

            def derivatives(t: float) -> tuple[float, float]:
                return passes.derivatives(state.center, state.width, state.scores, slopes, t)

            step = line_search(derivatives, penalty, at_zero)
            state.weights = state.weights + step * direction
            state.scores = state.scores + step * slopes
        state.passes += 2.0
        problem.meter.add(multiclass_step(problem.rows.size, problem.stride))
        self._evaluate(state)
        self._recentre(state, at_zero)

    def _widen(self, state: MulticlassNewtonState) -> None:
        """Widen the interval around a warm point until steps have no more to gain than it costs.

        ½‖W − W(β)‖² is what the steps have to gain at this interval, the mismatch what the rounding
        costs. Around a poor dual point the former is larger by orders of magnitude, and as many
        steps are lost on a problem whose solution is no better. The first interval of a cold start
        is wide enough for any point.
        """
        widest = _first_width(state.problem)
        while state.gap > 2.0 * state.mismatch and state.width < widest:
            state.width = min(_WIDER * state.width, widest)
            state.problem.meter.add(_evaluation(state.problem))
            self._evaluate(state)

    def _scores(self, state: MulticlassNewtonState, weights: Matrix) -> Matrix:
        problem, d = state.problem, state.problem.rows.weights
        start = weights[d] if problem.free_intercept else np.zeros(problem.stride)
        return problem.passes.scores(np.ascontiguousarray(weights[:d]), start)

    def _evaluate(self, state: MulticlassNewtonState) -> None:
        """Find the dual point, the ties and the gap at the present scores."""
        problem, d = state.problem, state.problem.rows.weights
        passes = problem.passes
        losses, mismatch = passes.terms(
            state.center, state.width, state.scores, state.duals, state.ties
        )
        combination, residual = passes.combine(state.duals)
        state.combination = combination
        if problem.free_intercept:
            state.combination = np.vstack([combination, residual])
        features = state.weights[:d]
        state.primal = 0.5 * float(np.vdot(features, features)) + losses
        difference = features - combination
        gap = mismatch + 0.5 * float(np.vdot(difference, difference))
        if problem.free_intercept:
            gap += abs(float(residual @ state.weights[d]))
        state.active = state.ties.count
        state.mismatch = mismatch
        state.gap = gap
        state.expected_gap = max(gap, 0.0) / state.primal if state.primal > 0.0 else np.inf

    def _recentre(self, state: MulticlassNewtonState, at_zero: float) -> None:
        """Judge the new point; move the centre when the rounding is what holds it back."""
        gap, mismatch = state.gap, state.mismatch
        better = gap <= 0.9 * state.best_here or -at_zero <= 0.9 * state.best_decrement
        state.stalled_steps = 0 if better else state.stalled_steps + 1
        state.best_here = min(gap, state.best_here)
        state.best_decrement = min(-at_zero, state.best_decrement)
        state.steps_here += 1
        small = products(state.problem) <= MACHINE.small_problem
        solved = gap - mismatch <= _SOLVED * mismatch or not at_zero < 0.0
        # What a last step has left is rounding, unless another centre has more to say.
        last = -at_zero <= _LAST_STEP * state.primal
        settled = state.stalled_centres >= (1 if last else 4) or (last and not solved)
        if small and gap > _LAST_DIGITS * state.primal and not settled:
            # No certificate yet; whoever decides still sees what the steps have got to.
            state.expected_gap = max(state.expected_gap, 2.0 * state.settings.tol)
        if solved:
            self._move_centre(state)
        state.finished = (
            state.stalled_steps >= _PATIENCE or state.stalled_centres >= _CENTRES_PATIENCE
        )

    def _move_centre(self, state: MulticlassNewtonState) -> None:
        """Round around the present dual point, more narrowly where that is called for."""
        gap, mismatch = state.gap, state.mismatch
        if state.steps_here == 1 and gap <= 0.01 * state.primal:
            state.width *= _NARROW
        elif mismatch > _GOOD_RATE * state.last_mismatch > 0.0:
            state.width *= 0.5
        state.width = max(state.width, 1e-6)
        state.last_mismatch, state.steps_here, state.stalled_steps = mismatch, 0, 0
        state.stalled_centres = state.stalled_centres + 1 if gap > 0.9 * state.best_gap else 0
        state.best_gap = min(gap, state.best_gap)
        state.best_here = state.best_decrement = np.inf
        every = np.arange(state.problem.rows.count)
        state.center.copy_from(state.duals, every)
        expected = state.expected_gap
        self._evaluate(state)
        state.expected_gap = expected


def _evaluation(problem: MulticlassProblem) -> float:
    """Price the dual point, its image and the gap at known scores."""
    size, stride = problem.rows.size, problem.stride
    return size.block_product(stride, 1.0) + size.block_terms(stride)


def _too_many_matrices(problem: MulticlassProblem) -> bool:
    """Whether a matrix of all features for each class does not fit into memory."""
    features = problem.rows.weights + problem.free_intercept
    most = max(MACHINE.largest_multiclass, MACHINE.most_matrices / features)
    return features * problem.classes > most


def _refuses_elsewhere(problem: MulticlassProblem) -> str | None:
    """Support few weights: for the numbers of the examples the data have a memory limit."""
    if problem.rows.weights <= MACHINE.largest_factorised and not _too_many_matrices(problem):
        return None
    return (
        f"{problem.rule!r} with {problem.rows.weights} features and {problem.classes} classes "
        "needs data in memory: from disk and on other machines it keeps a matrix of all features "
        "for each class, which is too much; use multi_class='ovr'"
    )


def _first_width(problem: MulticlassProblem) -> float:
    """Return an interval of 2.5 margins, or more: q = ‖x‖² keeps the first problem well-behaved.

    A narrow interval at a large C makes it so stiff that Newton's steps get nowhere.
    """
    stiffness = problem.cost * problem.rows.norms
    return max(2.5, float(stiffness.mean())) if stiffness.size else 2.5


def _penalised(weights: Matrix, features: int) -> Matrix:
    """Return the gradient of ½‖W‖²: the intercepts have none."""
    out = weights.copy()
    out[features:] = 0.0
    return out
