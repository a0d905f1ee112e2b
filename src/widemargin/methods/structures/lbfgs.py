"""L-BFGS for conditional random fields (Liu and Nocedal, 1989), with the dual point for free.

At the weights w the marginals are a feasible dual point, and the gap there is ½‖∇P(w)‖²: the
gradient that the method needs anyway is its certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.limited_memory import LimitedMemory
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.conditional import ConditionalProblem

Matrix = NDArray[np.float64]

_MEMORY = 6
"""Pairs of changes of weights and gradients that are kept."""

_DECREASE = 1e-4
"""Armijo's share of the predicted decrease."""

_MOST_TRIALS = 30
"""Halvings of a step that no rounding explains."""


@dataclass(eq=False)
class LBFGSState(State):
    """The weights, the objective and its gradient there, and the last moves."""

    problem: ConditionalProblem
    w: Matrix
    value: float
    gradient: Matrix
    memory: LimitedMemory = field(default_factory=partial(LimitedMemory, _MEMORY))

    @property
    def point(self) -> Point:
        """The weights, and the marginals at them."""
        return Point(self.w, None, self.w)


class LBFGS(SupportsAll):
    """Quasi-Newton steps on the primal objective."""

    name = "lbfgs"
    serves: ClassVar[type[ConditionalProblem]] = ConditionalProblem

    def start(
        self, problem: ConditionalProblem, warm: Point | None, settings: Settings
    ) -> LBFGSState:
        """Start at w = 0 or at the warm weights."""
        w = np.zeros(problem.shape) if warm is None else np.array(warm.w)
        state = LBFGSState(problem, w, *_evaluated(problem, w), active=problem.count)
        state.passes = 1.0
        return state

    def advance(self, state: LBFGSState) -> None:
        """Search along the quasi-Newton direction."""
        direction = state.memory.solve(-state.gradient, np.copy)
        slope = float(np.vdot(direction, state.gradient))
        step = 1.0
        if not state.memory.pairs:
            # The curvature is at least one, and along the first gradient far more.
            step = min(1.0, 10.0 * abs(state.value) / max(-slope, 1e-300) / state.problem.count)
        for _ in range(_MOST_TRIALS):
            w = state.w + step * direction
            value, gradient = _evaluated(state.problem, w)
            state.passes += 1.0
            if value <= state.value + _DECREASE * step * slope:
                break
            # The minimum of the parabola through both values and the slope.
            bend = value - state.value - step * slope
            step *= min(max(-0.5 * step * slope / bend, 0.1), 0.5) if bend > 0.0 else 0.1
        else:
            state.finished = True
            return
        state.memory.add(w - state.w, gradient - state.gradient)
        state.w, state.value, state.gradient = w, value, gradient
        gap = 0.5 * float(np.vdot(gradient, gradient))
        state.expected_gap = gap / value if value > 0.0 else np.inf
        state.finished = gap == 0.0


def _evaluated(problem: ConditionalProblem, w: Matrix) -> tuple[float, Matrix]:
    """Return P(w) and its gradient."""
    excess, _, combination = problem.gibbs(w)
    value = 0.5 * float(np.vdot(w, w)) + float(problem.cost @ excess)
    return value, w - combination
