"""The squared hinge by projected gradients on its dual, accelerated (FW, Algorithm 1).

    min f(α) = ½ ‖Σ α_i y_i φ(x_i)‖² + Σ α_i²/(4c_i) − Σ α_i,   α ≥ 0,   Σ α_i y_i = 0

Every step projects onto that set, whose one multiplier is the intercept: the dual of the dual. f is
strongly convex with modulus min 1/(2c), so Nesterov's momentum gives a linear rate
1 − √(modulus/L); restarting it whenever it points uphill finds the better modulus that holds
near the solution. L is adapted by backtracking. K is never formed for linear problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem

Vector = NDArray[np.float64]

_SHRINK = 0.98
"""Of L from step to step: one step in some thirty is taken again for it."""


@dataclass(eq=False)
class DualOfDualState(State):
    """α, the step before it, and the scores of both; the weights follow from α."""

    problem: Any
    alpha: Vector
    before: Vector
    scores: Vector
    scores_before: Vector
    w: Vector
    b: float
    lipschitz: float
    modulus: float
    momentum: float = 1.0
    value: float = np.inf

    @property
    def point(self) -> Point:
        """The current point."""
        return Point(self.w, self.b, self.alpha)


class DualOfDual:
    """Accelerated projected gradient steps for the squared hinge.

    Parameters
    ----------
    restart : bool
        Whether momentum grows until it points uphill; else it is the constant one that the
        modulus of strong convexity allows, with the rate that the theory states.
    """

    name = "dual_of_dual"
    serves: ClassVar[type[Any]] = BinaryProblem

    def __init__(self, restart: bool = True) -> None:
        self._restart = restart

    def refuses(self, problem: Any) -> str | None:
        """Support losses whose dual is a strongly concave parabola: the squared hinge."""
        if problem.loss.dual_quadratic:
            return None
        return (
            f"solver 'dual_of_dual' supports the loss 'squared_hinge', not '{problem.loss.name}'; "
            "the nearest solver that supports it is 'dual_cd'"
        )

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> DualOfDualState:
        """Start at α = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        alpha = problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        w, scores = problem.image(alpha)
        used = problem.cost[problem.cost > 0.0]
        q = problem.loss.dual_quadratic
        modulus = q / float(used.max()) if used.size else 1.0
        # No curvature is below the largest diagonal entry.
        smallest = float(used.min()) if used.size else 1.0
        lipschitz = float(problem.diagonal.max(initial=0.0)) + q / smallest
        if not self._restart:
            # The rate that is promised needs one L for all steps.
            lipschitz = problem.largest_curvature(settings.seed) + q / smallest
        return DualOfDualState(
            problem,
            alpha,
            alpha.copy(),
            scores,
            scores.copy(),
            w,
            float(point.b),
            lipschitz,
            modulus,
        )

    def advance(self, state: DualOfDualState) -> None:
        """Take one step with momentum."""
        problem = state.problem
        y, cost = problem.y, problem.cost
        inverse = np.zeros_like(cost)
        np.divide(problem.loss.dual_quadratic, cost, out=inverse, where=cost > 0.0)
        # 1) extrapolate; the scores are linear in α
        growth = self._momentum(state)
        beta = state.alpha + growth * (state.alpha - state.before)
        scores = state.scores + growth * (state.scores - state.scores_before)
        gradient = y * scores + inverse * beta - 1.0
        if self._restart:
            # A curvature met once need not last.
            state.lipschitz *= _SHRINK
        while True:
            # 2) the projected step from there
            alpha = problem.feasible(beta - gradient / state.lipschitz)
            w, new_scores = problem.image(alpha)
            state.passes += 2.0
            # 3) did f curve more than L allows?
            step = alpha - beta
            curve = float((y * step) @ (new_scores - scores)) + float(inverse @ (step * step))
            length = float(step @ step)
            # A curvature that is no number is not more than any L: the loop ends.
            if not self._restart or not curve > state.lipschitz * length * (1 + 1e-10):
                break
            # Squares of a step below the normal numbers say nothing about a curvature.
            if length == 0.0:
                break
            state.lipschitz = max(1.25 * state.lipschitz, curve / length)
        # 4) momentum that leads uphill is dropped
        if self._restart and float((beta - alpha) @ (alpha - state.alpha)) > 0.0:
            state.momentum = 1.0
        state.before, state.alpha = state.alpha, alpha
        state.scores_before, state.scores = state.scores, new_scores
        state.w = w
        self._judge(state)

    def _momentum(self, state: DualOfDualState) -> float:
        if self._restart:
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.momentum**2))
            growth = (state.momentum - 1.0) / following
            state.momentum = following
            return float(growth)
        root = np.sqrt(state.modulus / state.lipschitz)
        return float((1.0 - root) / (1.0 + root))

    def _judge(self, state: DualOfDualState) -> None:
        problem = state.problem
        if problem.free_intercept:
            state.b = problem.loss.best_intercept(problem.y, problem.cost, state.scores, state.b)
        quadratic = float((problem.y * state.alpha) @ state.scores)
        primal = 0.5 * quadratic + problem.loss.total(
            problem.y, problem.cost, state.scores, state.b
        )
        state.value = 0.5 * quadratic - problem.loss.dual_total(state.alpha, problem.cost)
        gap = primal + state.value
        state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else np.inf
        state.active = int(np.count_nonzero(state.alpha))
        state.finished = gap <= 1e-15 * primal


class KernelDualOfDual(DualOfDual):
    """The same, where K is a kernel's."""

    serves: ClassVar[type[Any]] = KernelProblem
