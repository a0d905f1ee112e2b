"""L-BFGS for conditional random fields (Liu and Nocedal, 1989), with the dual point for free.

At the weights w the marginals are a feasible dual point, and the gap there is ½‖∇P(w)‖²: the
gradient that the method needs anyway is its certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.linalg.limited_memory import LimitedMemory
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.conditional import ConditionalProblem

Matrix = NDArray[np.float64]

_FEWEST_PAIRS, _MOST_PAIRS = 6, 20
"""Pairs of changes of weights and gradients that are kept: as many as cost no more than a gradient.
On generated chains 20 take a tenth to two thirds fewer steps than 6."""

_VECTORS = 12.0
"""Operations on all weights in a step, beside four for each pair."""

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
    memory: LimitedMemory

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
        memory = LimitedMemory(_pairs(problem))
        state = LBFGSState(problem, w, *_evaluated(problem, w), memory, active=problem.count)
        state.passes = 1.0
        return state

    def advance(self, state: LBFGSState) -> None:
        """Search along the quasi-Newton direction."""
        problem, kept = state.problem, len(state.memory.pairs)
        problem.meter.add((_VECTORS + 4.0 * kept) * MACHINE.element * state.w.size)
        direction = state.memory.solve(-state.gradient, np.copy)
        slope = float(np.vdot(direction, state.gradient))
        step = 1.0
        if not state.memory.pairs:
            # The curvature is at least one, and along the first gradient far more.
            step = min(1.0, 10.0 * abs(state.value) / max(-slope, 1e-300) / problem.count)
        for _ in range(_MOST_TRIALS):
            w = state.w + step * direction
            value, gradient = _evaluated(problem, w)
            state.passes += 1.0
            there = float(np.vdot(direction, gradient))
            # Where the objective still falls along the direction it has fallen all the way, even if
            # its value is rounded to more than that.
            if value <= state.value + _DECREASE * step * slope or there <= 0.0:
                break
            # The minimum of the parabola with both slopes.
            shorter = slope / (slope - there) if np.isfinite(there) else 0.0
            step *= min(max(shorter, 0.1), 0.5)
        else:
            # Moves from far away may mislead: without them the direction is the gradient.
            state.finished = not state.memory.pairs
            state.memory.clear()
            return
        state.memory.add(w - state.w, gradient - state.gradient)
        state.w, state.value, state.gradient = w, value, gradient
        gap = 0.5 * float(np.vdot(gradient, gradient))
        state.expected_gap = gap / value if value > 0.0 else np.inf
        state.finished = gap == 0.0


def _pairs(problem: ConditionalProblem) -> int:
    operation = 4.0 * MACHINE.element * math.prod(problem.shape)
    return int(min(max(problem.gradient_work / operation, _FEWEST_PAIRS), _MOST_PAIRS))


def step_work(problem: ConditionalProblem) -> float:
    """Price a step with one gradient, once all pairs are there."""
    vectors = _VECTORS + 4.0 * _pairs(problem)
    work = problem.gradient_work + vectors * MACHINE.element * math.prod(problem.shape)
    return float(MACHINE.step + work)


def _evaluated(problem: ConditionalProblem, w: Matrix) -> tuple[float, Matrix]:
    """Return P(w) and its gradient."""
    excess, _, combination = problem.gibbs(w)
    value = 0.5 * float(np.vdot(w, w)) + float(problem.cost @ excess)
    return value, w - combination
