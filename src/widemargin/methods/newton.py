"""Newton's method on the primal, for losses with a (generalised) second derivative.

While the weights are few, the Hessian I + Σ h_i x_i x_iᵀ is formed and factorised; otherwise the
step comes from preconditioned conjugate gradients. When there are many more examples than weights,
the first steps are taken on growing samples of the examples: a sample of m of them finds the
weights to within their statistical error, of order d/m, at m/n of the price, so that the whole data
are left with the last two or three steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.methods.base import Settings
from widemargin.methods.newton_system import (
    SAMPLE_ERROR,
    NewtonSystem,
    growing_samples,
    line_search,
)
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]


@dataclass(eq=False)
class NewtonState:
    """Weights and their scores on the stage's examples; `stages` are still to come."""

    whole: BinaryProblem
    settings: Settings
    problem: BinaryProblem
    stages: list[NDArray[np.int64] | None]
    w: Vector
    b: float
    alpha: Vector | None
    scores: Vector
    active: int = 0
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False
    primal: float = 0.0
    system: NewtonSystem = field(default_factory=NewtonSystem)

    @property
    def point(self) -> Point:
        """The current point; between stages the dual variables are those of the start."""
        if self.alpha is None:
            problem = self.problem
            self.alpha = problem.loss.terms(problem.y, problem.cost, self.scores, self.b)[0]
        return Point(self.w, self.b, self.alpha)


class Newton:
    """Minimise the primal by second-order steps with an exact line search."""

    name = "newton"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve the losses that have second derivatives."""
        if not problem.loss.smooth:
            return (
                f"solver 'newton' needs a loss with second derivatives, which '{problem.loss.name}'"
                " has not; the nearest solver that serves it is 'interior_point'"
            )
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> NewtonState:
        """Start at w = 0 on a sample, or at the warm point on all examples."""
        point = problem.cold_point() if warm is None else warm
        stages: list[NDArray[np.int64] | None] = (
            [None] if warm is not None else growing_samples(problem, settings.seed)
        )
        state = NewtonState(
            problem,
            settings,
            problem,
            stages,
            point.w.copy(),
            point.b if problem.free_intercept else 0.0,
            point.alpha,
            scores=np.empty(0),
        )
        self._enter_stage(state)
        return state

    def advance(self, state: NewtonState) -> None:
        """Take one Newton step on the examples of the present stage."""
        problem = state.problem
        if problem is state.whole and _is_small(problem):
            self._small_step(state)
            return
        loss, y, cost = problem.loss, problem.y, problem.cost

        # 1) gradient and curvature
        if problem is state.whole:
            state.alpha = None  # a step that is broken off needs it no more: the scores give it
        alpha, curvature = loss.terms(y, cost, state.scores, state.b)
        gradient = state.w - problem.rows.combine(alpha, y)
        gradient_b = -float(alpha @ y) if problem.free_intercept else 0.0
        state.active = int(np.count_nonzero(curvature))
        # Vectors over the examples are what memory goes to: each is let go as soon as it has served
        # and computed again where it is wanted once more.
        del alpha

        # 2) direction
        direction, direction_b = state.system.direction(
            problem,
            curvature,
            gradient,
            gradient_b,
            0.02 * state.settings.tol * state.primal,
            level=2.0 if loss.name == "squared_hinge" else None,
        )
        del curvature
        slopes = problem.rows.scores(direction)
        share = problem.rows.count / state.whole.rows.count
        state.passes += 3 * share

        # 3) exact line search; it reads scores and slopes, not the data
        step, decrease = _line_search(problem, state, direction, direction_b, slopes)
        if step == 0.0:
            if problem is state.whole:
                state.finished = True
            else:
                self._enter_stage(state)
            return

        # 4) move, and take the dual point of the linearised conditions, α − h y (Xp + p_b): exactly
        # w(α) = w + p, but for what has to be clipped. In place: there is no checkpoint before the
        # state is whole again.
        core.linearised_move(loss.name, y, cost, state.scores, state.b, slopes, direction_b, step)
        alpha = slopes
        state.w = state.w + step * direction
        state.b += step * direction_b
        problem.rows.remember(state.w, state.scores)
        primal = state.primal = problem.primal(state.w, state.b, state.scores)
        if problem is state.whole:
            image = state.w + (1.0 - step) * direction
            if state.system.residual is not None:
                image += state.system.residual[: image.size]
            state.alpha = loss.clip(alpha, cost)
            alpha -= state.alpha
            if alpha.any():
                image -= problem.rows.combine(alpha, y)
            state.expected_gap = abs(primal - problem.dual(state.alpha, image)) / primal
        elif decrease <= 2.0 * SAMPLE_ERROR * primal * problem.rows.weights / problem.rows.count:
            # The next step would gain much less than this one, and so less than the sample's own
            # error: a larger sample has more to say.
            self._enter_stage(state)

    def _small_step(self, state: NewtonState) -> None:
        """Take the same step in one compiled call: its arithmetic is less than the calls'."""
        problem = state.problem
        # On copies, so that a point that was handed out stays as it was.
        w, scores, alpha = state.w.copy(), state.scores.copy(), np.empty(problem.rows.count)
        moved, b, primal, gap, state.active = core.newton_step(
            problem.rows.view,
            problem.loss.name,
            problem.y,
            problem.cost,
            problem.free_intercept,
            w,
            state.b,
            scores,
            alpha,
        )
        state.w, state.b, state.scores, state.alpha = w, b, scores, alpha
        problem.rows.remember(w, scores)
        state.passes += 3
        state.finished = not moved
        if moved:
            state.primal = primal
            state.expected_gap = gap / primal

    def _enter_stage(self, state: NewtonState) -> None:
        subset = state.stages.pop(0)
        problem = state.whole if subset is None else state.whole.subproblem(subset)
        count = problem.rows.count
        scores = problem.rows.scores(state.w) if state.w.any() else np.zeros(count)
        state.problem, state.scores = problem, scores


def _is_small(problem: BinaryProblem) -> bool:
    weights, count = problem.rows.weights, problem.rows.count
    return weights <= 64 and count * weights <= 40_000


def _line_search(
    problem: BinaryProblem,
    state: NewtonState,
    direction: Vector,
    direction_b: float,
    slopes: Vector,
) -> tuple[float, float]:
    """Return a step along the direction, and the decrease that the quadratic model promises."""
    wd, dd = float(state.w @ direction), float(direction @ direction)

    def derivative(t: float) -> tuple[float, float]:
        first, second = core.derivatives_along(
            problem.loss.name,
            problem.y,
            problem.cost,
            state.scores,
            state.b,
            slopes,
            direction_b,
            t,
        )
        return first + wd + t * dd, second + dd

    at_zero, _ = derivative(0.0)
    if at_zero >= 0.0:
        return 0.0, 0.0
    return line_search(derivative, at_zero), -0.5 * at_zero
