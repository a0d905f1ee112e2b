"""GS-ADMM: golden-section search over λ, alternating directions for w (DRSVM, appendix C).

The rival that DRSVM extends from logistic regression, kept for comparison. For fixed λ it splits
Zw = u, with Z the rows times their labels:

    min Σ p_i max(1 − u_i, 1 + u_i − κλ, 0) + c/2 ‖w‖²   over ‖w‖ ≤ λ,  Zw = u.

The w-step takes accelerated projected gradients, the u-step has a closed form, and the multipliers
of Zw = u are the dual variables that certificates need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.power_iteration import largest_eigenvalue
from widemargin.methods.base import Settings, State
from widemargin.problems.certificate import Point
from widemargin.problems.norms import norm_of
from widemargin.problems.robust import RobustProblem
from widemargin.projections.epigraph import onto_ball

Vector = NDArray[np.float64]

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_ROUNDS = 10
"""Alternating rounds a step."""
_INNER = 5
"""Accelerated gradient steps a round."""
_STEPS_PER_PRICE = 6
_POWER_STEPS = 15


@dataclass(eq=False)
class GSADMMState(State):
    """Split variables, multipliers, and the bracket of λ."""

    problem: RobustProblem
    w: Vector
    b: float
    u: Vector
    g: Vector
    penalty: float
    smoothness: float
    low: float
    high: float
    best: Point
    price: float = 0.0
    values: dict[float, float] = field(default_factory=dict)
    rounds: int = 0
    best_primal: float = np.inf
    best_dual: float = 0.0

    @property
    def point(self) -> Point:
        """The best weights and dual variables so far."""
        return self.best


class GSADMM:
    """Golden-section search outside, alternating directions inside."""

    name = "gs_admm"
    serves: ClassVar[type[Any]] = RobustProblem

    def refuses(self, problem: RobustProblem) -> str | None:
        """Support positive radii: without one there is no λ to search."""
        if problem.radius == 0.0:
            return (
                "solver 'gs_admm' needs a positive radius; "
                "the nearest solver that supports this problem is 'interior_point'"
            )
        return None

    def start(self, problem: RobustProblem, warm: Point | None, settings: Settings) -> GSADMMState:
        """Bracket λ by [0, 1/ε] (DRSVM, proposition 6.10) and estimate the largest eigenvalue."""
        n = problem.rows.count
        point = problem.cold_point() if warm is None else warm
        w, b = np.array(point.w, dtype=np.float64), float(point.b) * problem.free_intercept
        ones = np.ones(n)
        largest = largest_eigenvalue(
            lambda v: problem.rows.curvature_product(ones, v, 0.0)[0],
            w.size,
            settings.seed,
            most_steps=_POWER_STEPS,
            accuracy=0.0,
        )
        state = GSADMMState(
            problem,
            w,
            b,
            u=problem.y * (problem.rows.scores(w) + b),
            g=np.zeros(n),
            penalty=1.0 / n,
            smoothness=1.1 * (max(largest, 1e-300) + (n if problem.free_intercept else 0)),
            low=0.0,
            high=1.0 / problem.radius,
            best=point,
            active=n,
            passes=float(_POWER_STEPS),
        )
        state.price = state.high - _GOLDEN * (state.high - state.low)
        return state

    def advance(self, state: GSADMMState) -> None:
        """Do some rounds for the present λ; when they are many, judge λ and search on."""
        for _ in range(_ROUNDS):
            self._round(state)
        state.rounds += 1
        self._judge(state)
        if state.rounds % _STEPS_PER_PRICE == 0:
            self._search(state)

    def _round(self, state: GSADMMState) -> None:
        problem, rho = state.problem, state.penalty
        # 1) w: accelerated projected gradients on ρ/2 ‖Zw − u + g/ρ‖² + c/2 ‖w‖²
        target = state.u - state.g / rho
        length = 1.0 / (rho * state.smoothness + problem.l2)
        w, b, ahead_w, ahead_b, t = state.w, state.b, state.w, state.b, 1.0
        for _ in range(_INNER):
            scores = problem.rows.scores(ahead_w)
            missing = rho * (problem.y * (scores + ahead_b) - target)
            gradient = problem.rows.combine(missing, problem.y) + problem.l2 * ahead_w
            new_w = onto_ball(ahead_w - length * gradient, state.price, problem.norm)
            new_b = ahead_b - length * float(missing @ problem.y) * problem.free_intercept
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            move = (t - 1.0) / following
            ahead_w, ahead_b = new_w + move * (new_w - w), new_b + move * (new_b - b)
            w, b, t = new_w, new_b, following
        # 2) u: example by example
        margins = problem.y * (problem.rows.scores(w) + b)
        u = _nearest(margins + state.g / rho, problem.weight / rho, problem, state.price)
        # 3) multipliers
        state.g = state.g + rho * (margins - u)
        primal_residual = float(np.linalg.norm(margins - u))
        dual_residual = float(np.linalg.norm(u - state.u))
        state.w, state.b, state.u = w, b, u
        if primal_residual > 5.0 * dual_residual:
            state.penalty = rho * 1.5
        elif dual_residual > 5.0 * primal_residual:
            state.penalty = rho / 1.5
        state.passes += 2.0 * _INNER + 1.0

    def _judge(self, state: GSADMMState) -> None:
        alpha = np.stack([np.maximum(-state.g, 0.0), np.maximum(state.g, 0.0)])
        kept, certificate = state.problem.certify(Point(state.w, state.b, alpha))
        state.passes += 1.0
        if certificate.primal < state.best_primal:
            state.best_primal = certificate.primal
            state.best = Point(state.w, kept.b, state.best.alpha)
        if certificate.dual > state.best_dual:
            state.best_dual = certificate.dual
            state.best = Point(state.best.w, state.best.b, kept.alpha)
        state.expected_gap = (state.best_primal - state.best_dual) / state.best_primal

    def _search(self, state: GSADMMState) -> None:
        """Compare the two inner points of the bracket, and drop the worse end."""
        problem = state.problem
        margins = problem.y * (problem.rows.scores(state.w) + state.b)
        value = problem.radius * state.price
        value += float(problem.weight @ problem.losses(margins, state.price))
        state.values[state.price] = value + 0.5 * problem.l2 * float(state.w @ state.w)
        width = state.high - state.low
        left, right = state.high - _GOLDEN * width, state.low + _GOLDEN * width
        for price in (left, right):
            known = min(state.values, key=lambda p: abs(p - price))
            if abs(known - price) > 1e-9 * state.high:
                state.price = price
                return
        of_left = state.values[min(state.values, key=lambda p: abs(p - left))]
        of_right = state.values[min(state.values, key=lambda p: abs(p - right))]
        if of_left <= of_right:
            state.high = right
            state.price = state.high - _GOLDEN * (state.high - state.low)
        else:
            state.low = left
            state.price = state.low + _GOLDEN * (state.high - state.low)
        if state.high - state.low < 1e-3 / problem.radius:
            # Values of unfinished inner solutions can mislead: look again around the best.
            best = norm_of(state.best.w, problem.norm)
            state.low, state.high = 0.5 * best, min(2.0 * best + 1e-3, 1.0 / problem.radius)
            state.values.clear()
            state.price = state.high - _GOLDEN * (state.high - state.low)


def _nearest(v: Vector, pull: Vector, problem: RobustProblem, price: float) -> Vector:
    """Return argmin over u of pull · max(1 − u, 1 + u − κλ, 0) + ½ (u − v)², entry by entry."""
    if not problem.flips:
        return np.where(v < 1.0, np.minimum(v + pull, 1.0), v)
    raised = problem.label_cost * price
    low, high = min(1.0, 0.5 * raised), max(raised - 1.0, 0.5 * raised)
    up, down = np.minimum(v + pull, low), np.maximum(v - pull, high)
    return np.where(v < low, up, np.where(v > high, down, v))
