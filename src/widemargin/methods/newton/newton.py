"""Newton's method on the primal, for losses with a (generalised) second derivative.

While the weights are few, the Hessian I + Σ h_i x_i x_iᵀ is formed and factorised; otherwise the
step comes from preconditioned conjugate gradients. When there are many more examples than weights,
the first steps are taken on growing samples of the examples: a sample of m of them finds the
weights to within their statistical error, of order d/m, at m/n of the price, so that the whole data
are left with the last two or three steps. Where examples are not so many, and so clean that a sweep
of dual coordinate descent soon predicts those still to come, sweeps lead nearer than samples.

A loss that is quadratic on pieces has its solution in one step once the piece of each example is
known. Where costs are large and the weights many, steps from afar put most examples on the wrong
one, and a hundred steps may pass before they are sorted. The solution at a tenth of the costs has
nearly the same examples on each piece: where the first steps prove nothing, but lower the objective
by far, costs are lowered until an example alone hardly moves its own margin, and raised again
tenfold at a time.

On other losses the curvature moves with every step, and a factor that costs many steps has to serve
more than one of them: what follows it are steps of L-BFGS that begin with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings, State
from widemargin.methods.coordinate.dual_cd import DualCD, DualCDState
from widemargin.methods.newton._full_costs import RAISE, RAISE_GAP, SORTED, FullCosts
from widemargin.methods.newton._line_search import line_search, worthwhile_multiple
from widemargin.methods.newton._opening import sweeps_go_on, sweeps_lead_near
from widemargin.methods.newton._samples import SAMPLE_ERROR, growing_samples
from widemargin.methods.newton._secant_steps import QuasiNewtonState, begin, step
from widemargin.methods.newton._system import (
    NewtonSystem,
    is_small,
    matrix_is_dear,
    small_step_work,
)
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.losses import Line

Vector = NDArray[np.float64]
_WHOLE: list[NDArray[np.int64] | None] = [None]

_ACCURACY = 0.02
"""Share of the gap asked for that may come from a direction's own error."""


@dataclass(eq=False)
class NewtonState(State):
    """Weights and their scores on the stage's examples; `stages` are still to come.

    `opening` are the sweeps that come before the first step, if there are any.
    """

    whole: BinaryProblem
    settings: Settings
    problem: BinaryProblem
    stages: list[NDArray[np.int64] | None]
    w: Vector
    b: float
    alpha: Vector | None
    scores: Vector
    primal: float = 0.0
    system: NewtonSystem = field(default_factory=NewtonSystem)
    opening: DualCDState | None = None
    share: float = 1.0
    """Of the costs that the steps are made at."""
    rest: QuasiNewtonState | None = None
    """The steps that follow the first factor of a matrix that is dear."""
    full: FullCosts = field(default_factory=FullCosts)
    may_lower: bool = False

    @property
    def on_all(self) -> bool:
        """Whether the present stage has all examples, if not at their full costs."""
        return self.problem.rows is self.whole.rows

    @property
    def point(self) -> Point:
        """The current point; between stages the dual variables are those of the start."""
        if self.opening is not None:
            return self.opening.point
        if self.rest is not None:
            return self.rest.point
        if self.alpha is None:
            problem = self.problem
            self.alpha = problem.loss.terms(problem.y, problem.cost, self.scores, self.b)[0]
        return Point(self.w, self.b, self.alpha)


class Newton:
    """Minimise the primal by second-order steps with an exact line search."""

    name = "newton"
    streams: ClassVar[bool] = True
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve the losses that have second derivatives."""
        if not problem.loss.smooth:
            return (
                f"solver 'newton' needs a loss with second derivatives, which '{problem.loss.name}'"
                " has not; the nearest solver that supports it is 'interior_point'"
            )
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> NewtonState:
        """Start with sweeps, at w = 0 on a sample, or at the warm point on all examples."""
        point = problem.cold_point() if warm is None else warm
        opening, stages = None, _WHOLE
        if warm is None and sweeps_lead_near(problem, settings):
            opening = DualCD().start(problem, None, settings)
        elif warm is None:
            stages = growing_samples(problem, settings.seed)
        state = NewtonState(
            problem,
            settings,
            problem,
            list(stages),
            point.w.copy(),
            point.b if problem.free_intercept else 0.0,
            point.alpha,
            scores=np.empty(0),
            opening=opening,
            may_lower=problem.loss.curvature_level is not None and len(stages) == 1,
        )
        if opening is None:
            self._enter_stage(state)
        if warm is not None and state.w.any():
            length = worthwhile_multiple(problem, warm, state.b, state.scores)
            state.w, state.b, state.scores = (
                length * state.w,
                length * state.b,
                length * state.scores,
            )
        return state

    def advance(self, state: NewtonState) -> None:
        """Take one Newton step on the examples of the present stage, or sweep before the first."""
        if state.opening is not None:
            if state.expected_gap > state.settings.tol:
                self._sweep(state, state.opening)
                return
            self._end_opening(state, state.opening)  # the gap that it showed was not the true one
        if state.rest is None:
            self._short_steps(state)
            if state.made:
                return
        if self._factor_serves_many_steps(state):
            self._step_between_factors(state)
        else:
            self._step(state)

    def _step(self, state: NewtonState) -> None:
        """Take a step in Python."""
        problem, state.made = state.problem, 1
        loss, y, cost = problem.loss, problem.y, problem.cost
        problem.meter.add(MACHINE.step + problem.rows.size.vectors(MACHINE.newton_vectors))

        # 1) gradient and curvature
        if state.on_all:
            state.alpha = None  # a step that is broken off needs it no more: the scores give it
        alpha, curvature = loss.terms(y, cost, state.scores, state.b)
        image = state.system.combine(problem, curvature, "combine", alpha, y)
        gradient = problem.rows.plus(state.w, image, -1.0)
        gradient_b = -problem.residual(alpha) if problem.free_intercept else 0.0
        state.active = problem.rows.nonzeros(curvature)
        # Vectors over the examples take most of the memory: each is freed as early as possible, and
        # computed again if it is needed once more.
        del alpha

        # 2) direction
        direction, direction_b = state.system.direction(
            problem,
            curvature,
            gradient,
            gradient_b,
            _ACCURACY * state.settings.tol * state.primal,
            level=loss.curvature_level,
        )
        del curvature
        slopes = state.system.scores(problem, direction)
        share = problem.rows.count / state.whole.rows.count
        state.passes += 3 * share

        # 3) exact line search; it reads scores and slopes, not the data
        line = Line(y, cost, state.scores, state.b, slopes, direction_b)
        penalty = float(state.w @ direction), float(direction @ direction)
        at_zero = loss.derivatives_along(line, 0.0)[0] + penalty[0]
        if at_zero >= 0.0:
            if problem is state.whole:
                state.finished = True
            elif state.on_all:
                self._set_costs(state, RAISE * state.share)
            else:
                self._enter_stage(state)
            return

        step = line_search(lambda t: loss.derivatives_along(line, t), penalty, at_zero)

        # 4) move, and take the dual point of the linearised conditions, α − h y (Xp + p_b): exactly
        # w(α) = w + p, but for what has to be clipped. In place: there is no checkpoint before the
        # state is whole again.
        loss.linearised_move(line, step)
        alpha = slopes
        state.w = problem.rows.plus(state.w, direction, step)
        state.b += step * direction_b
        problem.rows.remember(state.w, state.scores)
        primal = state.primal = problem.primal(state.w, state.b, state.scores)
        if state.on_all:
            image = problem.rows.plus(state.w, direction, 1.0 - step)
            if state.system.residual is not None:
                image += state.system.residual[: image.size]
            state.alpha = loss.clip(alpha, cost)
            clipped = problem.rows.subtract(alpha, state.alpha)
            gap = primal - problem.dual(state.alpha, image)
            # What was clipped counts where the gap may be small; in blocks it costs a pass.
            near = problem.relative(abs(gap), primal) <= state.settings.tol
            if (near or not problem.rows.blocked) and clipped:
                image -= problem.rows.combine(alpha, y)
                gap = primal - problem.dual(state.alpha, image)
            self._judge(state, state.alpha, image, gap)
        elif (
            -0.5 * at_zero
            <= 2.0 * SAMPLE_ERROR * primal * problem.rows.weights / problem.rows.count
        ):
            # The next step would gain much less than this one, and so less than the sample's own
            # error: a larger sample has more to say.
            self._enter_stage(state)

    @staticmethod
    def _factor_serves_many_steps(state: NewtonState) -> bool:
        """Whether a factor comes next, and costs so much that it has to serve many steps."""
        problem = state.problem
        if state.rest is not None:
            return True
        if problem is not state.whole or problem.rows.blocked or not matrix_is_dear(problem):
            return False
        moves = problem.loss.curvature_level is None
        return moves and state.system.factorises(problem, state.active)

    def _step_between_factors(self, state: NewtonState) -> None:
        """Take a step of L-BFGS that begins with a factor: that of the last step, or a new one."""
        rest, state.made = state.rest, 1
        if rest is None:
            problem = state.whole
            rest = begin(problem, state.w, state.b, state.scores, state.settings)
            rest.metric.factor = state.system.factor
            if rest.metric.factor is None:
                rest.metric = rest.metric.renewed(problem, rest.curvature)
            state.rest, state.scores, state.alpha = rest, np.empty(0), None
        before = rest.passes
        step(rest)
        state.passes += rest.passes - before
        state.w, state.b, state.primal = rest.w, rest.b, rest.primal
        state.active, state.finished = rest.active, rest.finished
        state.expected_gap = rest.expected_gap

    def _judge(self, state: NewtonState, alpha: Vector, image: Vector | None, gap: float) -> None:
        """Estimate the gap; lower the costs if steps lead nowhere, or raise them if they do.

        `gap` is that at the costs of the steps.
        """
        whole, problem = state.whole, state.problem
        before, state.expected_gap = state.expected_gap, problem.relative(abs(gap), state.primal)
        state.system.led(before, state.expected_gap)
        if problem is whole:
            lost = state.full.lost(state.primal, before, state.expected_gap)
            if lost and state.may_lower:
                nothing = np.zeros(whole.rows.count)
                at_zero = whole.loss.total(whole.y, whole.cost, nothing, 0.0)
                if state.primal <= SORTED * at_zero:
                    self._lower_costs(state)
            return
        solved = state.expected_gap <= RAISE_GAP
        if image is None:
            image = problem.rows.combine(alpha, problem.y)
        primal = whole.primal(state.w, state.b, state.scores)
        state.expected_gap = whole.relative(abs(primal - whole.dual(alpha, image)), primal)
        if solved:
            self._set_costs(state, RAISE * state.share)

    def _lower_costs(self, state: NewtonState) -> None:
        """Begin again at costs that let an example hardly move its own margin."""
        problem, state.may_lower = state.whole, False
        mean = float(problem.cost.mean()) * problem.rows.mean_squared_norm
        share = 1.0 / max(1.0, problem.loss.stiffness * mean)
        if share < 1.0 / RAISE:
            state.w, state.b = np.zeros_like(state.w), 0.0
            state.scores = np.zeros(problem.rows.count)
            state.system = NewtonSystem()  # what it kept is far from the matrix at such costs
            self._set_costs(state, share)

    def _set_costs(self, state: NewtonState, share: float) -> None:
        """Go on at this share of the costs; weights and scores stay what they are."""
        state.share = min(1.0, share)
        state.problem = state.whole if share >= 1.0 else state.whole.rescaled(state.share)
        state.primal = state.problem.primal(state.w, state.b, state.scores)

    def _sweep(self, state: NewtonState, opening: DualCDState) -> None:
        """Sweep over all examples; after the last time, steps go on from there."""
        before = opening.expected_gap
        DualCD().advance(opening)
        state.passes, state.active = opening.passes, opening.active
        if opening.expected_gap <= state.settings.tol:
            state.expected_gap = opening.expected_gap
        elif not sweeps_go_on(state.whole, opening, before):
            self._end_opening(state, opening)

    def _end_opening(self, state: NewtonState, opening: DualCDState) -> None:
        """Take over where the sweeps have got to."""
        state.w, state.b = opening.w, opening.point.b if state.whole.free_intercept else 0.0
        state.alpha, state.opening, state.expected_gap = opening.alpha, None, np.inf
        state.whole.rows.forget_norms()
        self._enter_stage(state)

    def _short_steps(self, state: NewtonState) -> None:
        """Take steps in one compiled call each, until they are worth one in Python.

        Where the next step is too long for that, none is taken and `state.made` is zero.
        """
        state.made, spent, done, enough = 0, 0.0, False, MACHINE.small_steps * MACHINE.step
        while spent <= enough and state.made < state.allowed and not done:
            problem, products, most = state.problem, 0, 1
            if not is_small(problem):
                products = state.system.products_in_a_call(problem, state.active)
                if products == 0:
                    break
            elif problem is state.whole:
                more = int((enough - spent) / small_step_work(problem))
                most = min(1 + more, state.allowed - state.made)
            before = problem.meter.nanoseconds
            steps = self._short_step(state, products, most)
            if steps == 0:
                break
            state.made, spent = state.made + steps, spent + problem.meter.nanoseconds - before
            done = state.finished or state.expected_gap <= state.settings.tol

    def _short_step(self, state: NewtonState, products: int, most: int) -> int:
        """Take the same step in one compiled call, or several: arithmetic is less than the calls'.

        With at most so many products, or by a factor. Return how many steps were taken: zero if
        the products did not suffice.
        """
        problem, system = state.problem, state.system
        # On copies, so that a point that was handed out stays as it was.
        w, scores, alpha = state.w.copy(), state.scores.copy(), np.empty(problem.rows.count)
        accuracy, free = _ACCURACY * state.settings.tol * state.primal, problem.free_intercept
        point = (free, w, state.b, scores, alpha)
        if products:
            report = problem.core.newton_step(*point, products, accuracy)
            problem.meter.add(problem.rows.size.short_newton_step(report.products))
            system.took(report.products, products)
            if not report.solved:
                return 0
        else:
            report = problem.core.newton_steps(*point, most, state.settings.tol)
            problem.meter.add(report.steps * small_step_work(problem))
            state.full.steps += report.steps - 1
        state.w, state.b, state.scores = w, report.b, scores
        state.active = report.active
        state.passes += report.steps * 3 * problem.rows.count / state.whole.rows.count
        if not state.on_all:
            error = SAMPLE_ERROR * report.primal * problem.rows.weights / problem.rows.count
            if not report.moved or report.gap <= error:
                self._enter_stage(state)
            return 1
        state.alpha = alpha
        problem.rows.remember(w, scores)
        if report.moved:
            state.primal = report.primal
            self._judge(state, alpha, None, report.gap)
        elif problem is state.whole:
            state.finished = True
        else:
            self._set_costs(state, RAISE * state.share)
        return int(report.steps)

    def _enter_stage(self, state: NewtonState) -> None:
        subset = state.stages.pop(0)
        problem = state.whole if subset is None else state.whole.subproblem(subset)
        count = problem.rows.count
        scores = problem.rows.scores(state.w) if state.w.any() else np.zeros(count)
        state.problem, state.scores, state.active = problem, scores, count
