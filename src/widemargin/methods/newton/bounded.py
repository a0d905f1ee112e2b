"""Newton's method between bounds, for losses with second derivatives and for rounded hinges.

Each step minimises the quadratic model within the bounds (`_box_model`) and searches along the line
to its minimiser: all points of it are within the bounds. A loss with a corner is rounded around the
dual point, and the centre moves on, as in `proximal_newton`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings, State
from widemargin.methods.newton._box_model import BoxModel
from widemargin.methods.newton._line_search import line_search
from widemargin.problems.bounded import Bounded
from widemargin.problems.certificate import Point
from widemargin.problems.losses import Line

Vector = NDArray[np.float64]

_SOLVED = 0.1
"""A rounded problem counts as solved when the last step gained this share of the mismatch."""

_GOOD_RATE = 0.3
"""Moving the centre should cut the mismatch to this; if it does not, the interval is halved."""

_PATIENCE = 40
"""Steps without a better gap after which no further progress is expected."""

_LOWER = 1e-12
"""Share of the objective that a step of a smooth loss has to gain; less is rounding."""


@dataclass(eq=False)
class BoundedState(State):
    """Weights within the bounds, their scores, and the dual variables that belong to them."""

    problem: Any
    w: Vector
    b: float
    scores: Vector
    alpha: Vector
    center: Vector
    h: float
    last_mismatch: float = 0.0
    best_gap: float = np.inf
    primal: float = np.inf
    stalled_steps: int = 0

    @property
    def point(self) -> Point:
        """The current point."""
        return Point(self.w, self.b, self.alpha)


class BoundedNewton:
    """Minimise the primal between bounds by second-order steps."""

    name = "newton"
    serves: ClassVar[type[Any]] = Bounded
    smooth = True

    def refuses(self, problem: Any) -> str | None:
        """Serve losses with second derivatives, or those without, by the name."""
        if problem.loss.smooth == self.smooth:
            return None
        has, other = ("has not", "proximal_newton") if self.smooth else ("has", "newton")
        return (
            f"solver {self.name!r} supports losses {'with' if self.smooth else 'without'} second "
            f"derivatives, which {problem.loss.name!r} {has}; the nearest solver that supports it "
            f"is {other!r}"
        )

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> BoundedState:
        """Start at the weights nearest to zero, or at the warm ones."""
        point = problem.cold_point() if warm is None else warm
        w, clip = problem.inside(point.w), problem.loss.clip
        return BoundedState(
            problem,
            w,
            point.b if problem.free_intercept else 0.0,
            problem.rows.scores(w),
            point.alpha,
            problem.loss.middle(problem.cost) if warm is None else clip(point.alpha, problem.cost),
            h=(2.5 if warm is None else 1.0) * problem.loss.unit,
        )

    def advance(self, state: BoundedState) -> None:
        """Take one step and judge the new point."""
        problem, rows = state.problem, state.problem.rows
        free = problem.free_intercept
        call = MACHINE.bounded_call * MACHINE.step
        problem.meter.add(call + rows.size.vectors(MACHINE.newton_vectors))
        # 1) gradient, curvature, and the minimiser of the model
        alpha, curvature = self._terms(state)
        state.active = int(np.count_nonzero(curvature))
        gradient = state.w - rows.combine(alpha, problem.y)
        low, high = problem.lower - state.w, problem.upper - state.w
        if free:
            gradient = np.append(gradient, -problem.residual(alpha))
            low, high = np.append(low, -np.inf), np.append(high, np.inf)
        p = BoxModel.of(problem, curvature, alpha).minimiser(gradient, low, high)
        at_zero = float(gradient @ p)
        direction, direction_b = (p[:-1], float(p[-1])) if free else (p, 0.0)
        state.passes += 3
        if not at_zero < 0.0:
            self._judge(state, alpha, 0.0)
            state.finished = state.finished or self.smooth
            return
        # 2) search along the line to it, and no further: beyond are the bounds
        slopes = rows.scores(direction)
        penalty = float(state.w @ direction), float(direction @ direction)
        line = Line(problem.y, problem.cost, state.scores, state.b, slopes, direction_b)
        step = min(line_search(self._derivatives(state, line), penalty, at_zero), 1.0)
        # 3) move, and take the dual point of the linearised conditions: w + p is best for it, but
        # for what is clipped
        state.w = problem.inside(state.w + step * direction)
        self._move(state, line, step)
        state.b += step * direction_b
        self._judge(state, problem.loss.clip(slopes, problem.cost), -0.5 * at_zero)

    def _terms(self, state: BoundedState) -> tuple[Vector, Vector]:
        """Return the dual variables and curvatures that belong to the scores."""
        problem = state.problem
        found: tuple[Vector, Vector] = problem.loss.terms(
            problem.y, problem.cost, state.scores, state.b
        )
        return found

    def _derivatives(self, state: BoundedState, line: Line) -> Any:
        """Return what gives both derivatives of the losses along a line."""
        return lambda t: state.problem.loss.derivatives_along(line, t)

    def _move(self, state: BoundedState, line: Line, step: float) -> None:
        """Move the scores, and turn the slopes into dual variables, both in place."""
        state.problem.loss.linearised_move(line, step)

    def _judge(self, state: BoundedState, alpha: Vector, gain: float) -> None:
        """Estimate the gap of the new point."""
        problem = state.problem
        v = problem.rows.combine(alpha, problem.y)
        state.alpha = alpha
        primal = problem.primal(state.w, state.b, state.scores)
        self._take(state, abs(primal - problem.dual(alpha, v)), primal)

    def _take(self, state: BoundedState, gap: float, primal: float) -> None:
        state.expected_gap = state.problem.relative(gap, primal)
        # Steps of a smooth loss may gain for long before the dual point is any good.
        lower = self.smooth and primal < (1.0 - _LOWER) * state.primal
        better = lower or gap <= 0.9 * state.best_gap
        state.stalled_steps = 0 if better else state.stalled_steps + 1
        state.primal = min(primal, state.primal)
        state.best_gap = min(gap, state.best_gap)
        state.finished = state.stalled_steps >= _PATIENCE


class BoundedProximalNewton(BoundedNewton):
    """The same for losses with a corner, rounded around the dual point."""

    name = "proximal_newton"
    smooth = False

    def _terms(self, state: BoundedState) -> tuple[Vector, Vector]:
        problem = state.problem
        alpha, curvature = np.empty(problem.rows.count), np.empty(problem.rows.count)
        corner = problem.corner
        _, state.h = corner.proximal_alpha(state.center, state.h, state.scores, state.b, alpha)
        corner.proximal_curvature(state.h, alpha, curvature)
        return alpha, curvature

    def _derivatives(self, state: BoundedState, line: Line) -> Any:
        corner = state.problem.corner
        return lambda t: corner.proximal_derivatives_along(state.center, state.h, *line[2:], t)

    def _move(self, state: BoundedState, line: Line, step: float) -> None:
        state.problem.corner.proximal_move(state.center, state.h, *line[2:], step)

    def _judge(self, state: BoundedState, alpha: Vector, gain: float) -> None:
        """Estimate the gap; move the centre of the rounding if that holds the point back."""
        problem = state.problem
        mismatch = problem.corner.mismatch(state.scores, state.b, alpha)
        v = problem.rows.combine(alpha, problem.y)
        state.alpha = alpha
        primal = problem.primal(state.w, state.b, state.scores)
        self._take(state, max(mismatch + problem.mismatch_of(state.w, v), 0.0), primal)
        if gain <= _SOLVED * mismatch or gain == 0.0:
            state.center = alpha
            if mismatch > _GOOD_RATE * state.last_mismatch:
                state.h *= 0.5
            state.last_mismatch = mismatch
