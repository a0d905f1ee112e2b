"""Newton's method for the hinge, smoothed around the dual point (method of multipliers).

Each step is a Newton step on the hinge with its corner rounded over an interval of margins, see
core/losses/proximal_hinge.hpp. Only the examples inside that interval have curvature, so the matrix
is cheap, and only dual variables that moved change the gradient, so a step costs about one pass
over the data. Centring the rounding at the latest dual point removes its error in the limit; the
interval is halved only when that goes too slowly, and the rounding is what the gap consists of,
since steps over a wide interval are better.
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
from widemargin.methods.newton._samples import SAMPLE_ERROR, growing_samples
from widemargin.methods.newton._system import NewtonSystem, is_small, small_step_work
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_SOLVED = 0.1
"""A smoothed problem counts as solved when the last step gained this share of the mismatch, and the
rounding as what is left of the gap when ½‖w − w(α)‖² is no more than this share of it."""

_PATIENCE = 40
"""Steps without a better gap after which no further progress is expected."""

_GOOD_RATE = 0.3
"""Moving the centre should cut the mismatch to this; if it does not, the interval is halved."""


@dataclass(eq=False)
class ProximalNewtonState(State):
    """Weights, their scores, and the centre of the rounding on the stage's examples."""

    whole: BinaryProblem
    settings: Settings
    problem: BinaryProblem
    stages: list[NDArray[np.int64] | None]
    w: Vector
    b: float
    start_alpha: Vector
    h: float
    scores: Vector
    center: Vector
    alpha: Vector
    combination: Vector
    combined: Vector | None = None
    """The dual variables that `combination` is the image of, where they are not `alpha`."""
    primal: float = 0.0
    system: NewtonSystem = field(default_factory=NewtonSystem)
    last_mismatch: float = 0.0
    best_gap: float = np.inf
    stalled_steps: int = 0

    @property
    def point(self) -> Point:
        """The current point; on a sample the dual variables are those of the start."""
        alpha = self.alpha if self.problem is self.whole else self.start_alpha
        return Point(self.w, self.b, alpha)


class ProximalNewton:
    """Minimise the hinge's primal by Newton steps on its proximal smoothing."""

    name = "proximal_newton"
    streams: ClassVar[bool] = True
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Support the hinge only: the other losses need no smoothing."""
        if not problem.loss.linear_dual:
            return (
                f"solver 'proximal_newton' supports the loss 'hinge', not '{problem.loss.name}'; "
                "the nearest solver that supports it is 'newton'"
            )
        return None

    def start(
        self, problem: BinaryProblem, warm: Point | None, settings: Settings
    ) -> ProximalNewtonState:
        """Start at w = 0 on a sample, or at the warm point on all examples."""
        problem.rows.forget_norms()  # sweeps may have wanted them; steps do not
        point = problem.cold_point() if warm is None else warm
        stages: list[NDArray[np.int64] | None] = (
            [None] if warm is not None else growing_samples(problem, settings.seed)
        )
        empty = np.empty(0)
        state = ProximalNewtonState(
            problem,
            settings,
            problem,
            stages,
            point.w.copy(),
            point.b if problem.free_intercept else 0.0,
            point.alpha,
            # Wide enough for every example to be inside it at w = 0.
            h=(2.5 if warm is None else 1.0) * problem.loss.unit,
            scores=empty,
            center=empty,
            alpha=empty,
            combination=empty,
        )
        self._enter_stage(state, point.alpha if warm is not None else None)
        return state

    def advance(self, state: ProximalNewtonState) -> None:
        """Take one Newton step on the rounded hinge; then move its centre if the step was good."""
        problem, state.made = state.problem, 1
        if is_small(problem) and self._small_steps(state):
            return
        y, rows = problem.y, problem.rows
        share = rows.count / state.whole.rows.count
        call = MACHINE.proximal_call * MACHINE.step
        problem.meter.add(call + rows.size.vectors(MACHINE.proximal_vectors))

        # 1) dual variables and curvature; the gradient changes only by what moved. Vectors over the
        # examples take most of the memory: none is made before the one it replaces is freed.
        alpha = np.empty(rows.count)
        state.active, state.h = problem.corner.proximal_alpha(
            state.center, state.h, state.scores, state.b, alpha
        )
        curvature = np.empty(rows.count)
        problem.corner.proximal_curvature(state.h, alpha, curvature)
        before = state.alpha if state.combined is None else state.combined
        change = state.system.combine(problem, curvature, "combine_change", alpha, before, y)
        state.combination = rows.plus(state.combination, change)
        state.alpha, state.combined = alpha, None
        del before
        gradient = rows.plus(state.w, state.combination, -1.0)
        gradient_b = -problem.residual(alpha) if problem.free_intercept else 0.0

        # 2) direction and exact line search
        direction, direction_b = state.system.direction(
            problem,
            curvature,
            gradient,
            gradient_b,
            0.02 * state.settings.tol * problem.magnitude(state.primal),
            level=1.0 / state.h,
        )
        del curvature
        slopes = state.system.scores(problem, direction)
        state.passes += 2 * share
        at_zero = float(gradient @ direction) + gradient_b * direction_b
        if not at_zero < 0.0:
            self._recentre(state, 0.0)
            return

        def derivatives(t: float) -> tuple[float, float]:
            return problem.corner.proximal_derivatives_along(
                state.center, state.h, state.scores, state.b, slopes, direction_b, t
            )

        penalty = (
            float(state.w @ direction) + problem.linear_intercept * direction_b,
            float(direction @ direction),
        )
        step = line_search(derivatives, penalty, at_zero)

        # 3) move, and take the dual point of the linearised conditions: w(α) = w + p, but for what
        # is clipped. In place: no checkpoint comes before the scores belong to the weights again.
        problem.corner.proximal_move(
            state.center, state.h, state.scores, state.b, slopes, direction_b, step
        )
        state.w = rows.plus(state.w, direction, step)
        state.b += step * direction_b
        state.alpha = slopes
        rest = rows.scaled(direction, 1.0 - step)
        self._recentre(state, -0.5 * at_zero, self._move_image(state, alpha, rest))

    def _move_image(self, state: ProximalNewtonState, old: Vector, rest: Vector) -> Vector:
        """Return ±(w − w(α)) after α has moved, `rest` being what is left of the direction.

        To know what was clipped takes a pass over the data. In blocks it waits for the next step's
        own one, unless the gap may be as small as what is asked for.
        """
        problem, system = state.problem, state.system
        if problem.rows.blocked and not system.has_copies:
            guess = rest  # but for its sign, which does not matter
            if system.residual is not None:
                guess = problem.rows.plus(rest, system.residual[: rest.size])
            gap = problem.corner.mismatch(state.scores, state.b, state.alpha)
            gap += 0.5 * float(guess @ guess)
            if problem.relative(gap, state.primal) > state.settings.tol:
                state.combined = old
                return guess
        change = system.combine_change(problem, state.alpha, old, problem.y)
        state.combination = problem.rows.plus(state.combination, change)
        return problem.rows.plus(state.w, state.combination, -1.0)

    def _small_steps(self, state: ProximalNewtonState) -> bool:
        """Take small steps in one compiled call until they are worth one in Python.

        Return False if the first matrix has no factor.
        """
        problem, rows = state.problem, state.problem.rows
        price, whole = small_step_work(problem), state.problem is state.whole
        course = core.ProximalCourse()
        course.h, course.last_mismatch = state.h, state.last_mismatch
        enough = MACHINE.small_steps * MACHINE.step
        course.most = min(1 + int(enough / price), state.allowed)
        if whole:
            course.best_gap, course.stalled = state.best_gap, state.stalled_steps
            course.wanted = state.settings.tol
        else:
            course.enough = SAMPLE_ERROR * rows.weights / rows.count
        # On copies, so that a point that was handed out stays as it was.
        w, scores, center = state.w.copy(), state.scores.copy(), state.center.copy()
        alpha, combination = np.empty_like(scores), np.empty_like(w)
        report = problem.core.proximal_steps(
            problem.free_intercept, course, center, w, state.b, scores, alpha, combination
        )
        if not report.solved:
            return False
        state.w, state.b, state.scores, state.center = w, report.b, scores, center
        state.alpha, state.combination = alpha, combination
        state.h, state.active, state.primal = course.h, report.active, report.primal
        state.last_mismatch, state.made = course.last_mismatch, report.steps
        state.passes += report.steps * 2 * rows.count / state.whole.rows.count
        problem.meter.add(report.steps * price)
        if whole:
            state.expected_gap = problem.relative(max(report.gap, 0.0), state.primal)
            state.best_gap, state.stalled_steps = course.best_gap, course.stalled
            state.finished = state.stalled_steps >= _PATIENCE
        self._leave_sample(state, report.gap, report.mismatch + report.decrease)
        return True

    def _recentre(
        self, state: ProximalNewtonState, decrease: float, difference: Vector | None = None
    ) -> None:
        """Judge the new point; move the centre when the rounding is what holds it back."""
        problem = state.problem
        mismatch = problem.corner.mismatch(state.scores, state.b, state.alpha)
        if difference is None:
            difference = state.w - state.combination
        state.primal = problem.primal(state.w, state.b, state.scores)
        gap = mismatch + 0.5 * float(difference @ difference)
        self._judge(state, gap, mismatch, decrease)

    def _judge(
        self, state: ProximalNewtonState, gap: float, mismatch: float, decrease: float
    ) -> None:
        problem, primal = state.problem, state.primal
        if problem is state.whole:
            state.expected_gap = problem.relative(max(gap, 0.0), primal)
            state.stalled_steps = state.stalled_steps + 1 if gap > 0.9 * state.best_gap else 0
            if state.combined is None:  # else the gap is a guess
                state.best_gap = min(gap, state.best_gap)
            state.finished = state.stalled_steps >= _PATIENCE
        if decrease <= _SOLVED * mismatch or decrease == 0.0:
            state.center = state.alpha
            # Not where the gap is in the weights because a direction was broken off: it promises
            # little, and a narrower interval would only make the next ones harder to find.
            exact = state.system.residual is None
            rounded = exact or gap - mismatch <= _SOLVED * mismatch
            if rounded and mismatch > _GOOD_RATE * state.last_mismatch:
                state.h *= 0.5
            state.last_mismatch = mismatch
        self._leave_sample(state, gap, mismatch + decrease)

    def _leave_sample(self, state: ProximalNewtonState, gap: float, left: float) -> None:
        """Go on with more examples once what is `left` to gain is less than a sample's error."""
        problem, primal = state.problem, state.primal
        error = SAMPLE_ERROR * problem.magnitude(primal) * problem.rows.weights
        error /= problem.rows.count
        # Of a sample only the weights count: they may be good long before the dual variables are.
        if problem is not state.whole and min(gap, left) <= error:
            # The sample's own error is larger than what is left: more examples have more to say.
            self._enter_stage(state, None)

    def _enter_stage(self, state: ProximalNewtonState, alpha: Vector | None) -> None:
        subset = state.stages.pop(0)
        problem = state.whole if subset is None else state.whole.subproblem(subset)
        count = problem.rows.count
        scores = problem.rows.scores(state.w) if state.w.any() else np.zeros(count)
        # All together, after the last checkpoint, so that an interrupt finds a whole state.
        state.problem, state.scores = problem, scores
        if alpha is None:
            state.center = problem.loss.middle(problem.cost)
        else:
            clipped = problem.loss.clip(alpha, problem.cost)
            state.center = alpha if np.array_equal(clipped, alpha) else clipped
        state.alpha = np.zeros(count)
        if subset is None:
            state.start_alpha = np.empty(0)  # the point has dual variables of its own from here on
        state.combination, state.combined = np.zeros(problem.rows.weights), None
        state.last_mismatch = 0.0
        if state.primal > 0.0:
            # Where a sample fits too well, its interval is as much too narrow for more examples.
            state.h *= max(1.0, problem.primal(state.w, state.b, scores) / state.primal)
