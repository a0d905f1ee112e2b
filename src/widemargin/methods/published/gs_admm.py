"""GS-ADMM: golden-section search over λ, alternating directions for w (DRSVM, appendix C).

The rival that DRSVM extends from logistic regression, kept for comparison. For fixed λ it splits
Zw = u, with Z the rows times their labels:

    min Σ p_i max(1 − u_i, 1 + u_i − κλ, 0) + c/2 ‖w‖²   over ‖w‖ ≤ λ,  Zw = u.

The w-step takes accelerated projected gradients, the u-step has a closed form, and the multipliers
of Zw = u are the dual variables that certificates need. They also bound the value at λ from below,
with a slope: a λ whose bound exceeds the best value is left at once, and one that is solved cuts
the bracket on the side of its slope.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.linalg.power_iteration import largest_eigenvalue
from widemargin.methods.base import Settings, State
from widemargin.problems.certificate import Point
from widemargin.problems.norms import dual_norm, norm_of
from widemargin.problems.robust import RobustProblem
from widemargin.projections.epigraph import onto_ball

Vector = NDArray[np.float64]

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_ROUNDS = 10
"""Alternating rounds a step."""
_INNER, _INNER_ON_GRAM = 5, 25
"""Accelerated gradient steps per round: two passes over the data each, or a product with ZᵀZ."""
_STEPS_PER_PRICE = 60
"""Steps that a λ gets at most."""
_BEYOND = 1.6
"""Over-relaxation: convergence holds below 2, and experience is best near 1.6."""
_UNEVEN = 5.0
"""How far apart residuals are let before the penalty follows."""
_SOLVED = 1e-3
"""Residuals, relative to what they are differences of, at which a λ is solved; smaller later."""
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
    rounds: int = 0
    gram: Any = None
    """ZᵀZ, bordered by the intercept, where weights are few."""
    accuracy: float = _SOLVED
    residuals: tuple[float, float] = (np.inf, np.inf)
    """Of the last round: Zw − u, and ρ times the change of u, relative to Zw and to g."""
    sides: dict[bool, tuple[float, Vector]] = field(default_factory=dict)
    """Slope in λ and multipliers at the ends of the bracket: where it falls, and where it rises."""
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
        if w.size <= MACHINE.largest_factorised:
            state.gram = problem.rows.gram(ones, problem.free_intercept)
            state.passes += float(w.size) / 2.0
        state.price = state.high - _GOLDEN * (state.high - state.low)
        return state

    def advance(self, state: GSADMMState) -> None:
        """Do some rounds for the present λ; search on where they have told enough."""
        for _ in range(_ROUNDS):
            self._round(state)
            if max(state.residuals) <= state.accuracy:
                break
        self._balance(state)
        state.rounds += 1
        self._judge(state)
        self._search(state)

    def _round(self, state: GSADMMState) -> None:
        problem, rho = state.problem, state.penalty
        # 1) w: accelerated projected gradients on ρ/2 ‖Zw − u + g/ρ‖² + c/2 ‖w‖²
        target = state.u - state.g / rho
        w, b = self._weights(state, target)
        # 2) u: example by example, from a point beyond the new margins (over-relaxation)
        margins = problem.y * (problem.rows.scores(w) + b)
        beyond = _BEYOND * margins + (1.0 - _BEYOND) * state.u
        u = _nearest(beyond + state.g / rho, problem.weight / rho, problem, state.price)
        # 3) multipliers
        state.g = state.g + rho * (beyond - u)
        state.residuals = (
            float(np.linalg.norm(margins - u)) / max(float(np.linalg.norm(margins)), 1e-300),
            rho * float(np.linalg.norm(u - state.u)) / max(float(np.linalg.norm(state.g)), 1e-300),
        )
        state.w, state.b, state.u = w, b, u
        state.passes += 2.0 if state.gram is not None else 2.0 * _INNER + 1.0

    def _balance(self, state: GSADMMState) -> None:
        """Change the penalty where one residual is far above the other."""
        of_split, of_change = state.residuals
        if of_split > _UNEVEN * of_change:
            state.penalty *= 2.0
        elif of_change > _UNEVEN * of_split:
            state.penalty /= 2.0

    def _weights(self, state: GSADMMState, target: Vector) -> tuple[Vector, float]:
        problem, d = state.problem, state.w.size
        free = problem.free_intercept
        length = 1.0 / (state.penalty * state.smoothness + problem.l2)
        here = np.append(state.w, state.b) if free else state.w
        wanted = problem.rows.combine(target, problem.y)
        wanted = np.append(wanted, float(target @ problem.y)) if free else wanted
        ahead, t = here, 1.0
        for _ in range(_INNER if state.gram is None else _INNER_ON_GRAM):
            gradient = state.penalty * (self._curved(state, ahead) - wanted)
            gradient[:d] += problem.l2 * ahead[:d]
            new = ahead - length * gradient
            new[:d] = onto_ball(new[:d], state.price, problem.norm)
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            ahead, here, t = new + (t - 1.0) / following * (new - here), new, following
        return here[:d], float(here[d]) if free else 0.0

    def _curved(self, state: GSADMMState, v: Vector) -> Vector:
        """Return ZᵀZ v, with the intercept in its last place if it is free."""
        if state.gram is not None:
            return state.gram @ v
        rows, d = state.problem.rows, state.w.size
        if not state.problem.free_intercept:
            return rows.combine(rows.scores(v))
        scores = rows.scores(np.ascontiguousarray(v[:d])) + v[d]
        return np.append(rows.combine(scores), scores.sum())

    def _judge(self, state: GSADMMState) -> None:
        self._offer(state, Point(state.w, state.b, _multipliers(state)))

    def _offer(self, state: GSADMMState, point: Point) -> None:
        """Keep what is better of a point."""
        kept, certificate = state.problem.certify(point)
        state.passes += 1.0
        if certificate.primal < state.best_primal:
            state.best_primal = certificate.primal
            state.best = Point(point.w, kept.b, state.best.alpha)
        if certificate.dual > state.best_dual:
            state.best_dual = certificate.dual
            state.best = Point(state.best.w, state.best.b, kept.alpha)
        state.expected_gap = (state.best_primal - state.best_dual) / state.best_primal

    def _bound(self, state: GSADMMState) -> tuple[float, float]:
        """Return a lower bound of the value at λ from the multipliers, and its slope in λ.

        min over ‖w‖ ≤ λ of c/2 ‖w‖² − v·w is at the projection of v/c; without a penalty it is
        −λ‖v‖ in the dual norm.
        """
        problem = state.problem
        keep, flip = _multipliers(state)
        v = problem.rows.combine(keep - flip, problem.y)
        slope = problem.radius - (problem.label_cost * float(flip.sum()) if problem.flips else 0.0)
        total = float(keep.sum() + flip.sum()) + slope * state.price
        if problem.l2 == 0.0:
            length = norm_of(v, dual_norm(problem.norm))
            return total - state.price * length, slope - length
        nearest = onto_ball(v / problem.l2, state.price, problem.norm)
        rest = v - problem.l2 * nearest
        inner = 0.5 * problem.l2 * float(nearest @ nearest) - float(v @ nearest)
        return total + inner, slope - norm_of(rest, dual_norm(problem.norm))

    def _search(self, state: GSADMMState) -> None:
        """Cut the bracket at λ where its own bound excludes it, or where it is solved."""
        bound, slope = self._bound(state)
        state.passes += 1.0
        solved = max(state.residuals) <= state.accuracy or state.rounds >= _STEPS_PER_PRICE
        if bound < state.best_primal and not solved:
            return
        state.sides[slope > 0.0] = (slope, _multipliers(state))
        if slope > 0.0:
            state.high = state.price
        else:
            state.low = state.price
        self._mix(state)
        state.rounds, state.residuals = 0, (np.inf, np.inf)
        problem = state.problem
        best = problem.worst_loss(state.best.w, state.best.b, problem.rows.scores(state.best.w))[1]
        if state.high - state.low < state.accuracy * max(best, state.low):
            # Unfinished inner solutions can mislead: look again around the best, more closely.
            state.accuracy *= 0.1
            state.low, state.high = 0.9 * best, min(1.1 * best + 1e-3, 1.0 / problem.radius)
        width = state.high - state.low
        nearer = best < 0.5 * (state.low + state.high)
        state.price = state.high - _GOLDEN * width if nearer else state.low + _GOLDEN * width

    def _mix(self, state: GSADMMState) -> None:
        """Combine the multipliers of both ends so that the bound is flat in λ.

        The optimal λ is often at a kink, 2/κ, where those of no single side are optimal.
        """
        if len(state.sides) < 2:
            return
        (falling, left), (rising, right) = state.sides[False], state.sides[True]
        share = rising / (rising - falling) if rising > falling else 0.5
        self._offer(state, Point(state.w, state.b, share * left + (1.0 - share) * right))


def _multipliers(state: GSADMMState) -> Vector:
    """Return those of the pieces 1 − u and 1 + u − κλ, from that of Zw = u.

    Below κλ = 2 one of the two is always positive, and they share the whole weight; above, at most
    one of them counts.
    """
    problem, weight = state.problem, state.problem.weight
    g = np.clip(state.g, -weight, weight * problem.flips)
    if problem.flips and problem.label_cost * state.price < 2.0:
        keep, flip = 0.5 * (weight - g), 0.5 * (weight + g)
    else:
        keep, flip = np.maximum(-g, 0.0), np.maximum(g, 0.0)
    if problem.free_intercept:
        keep, flip = _balanced(problem.y, keep, flip)
    return np.stack([keep, flip])


def _balanced(y: Vector, keep: Vector, flip: Vector) -> tuple[Vector, Vector]:
    """Scale the heavier side of Σ (keep − flip) y down, so that it vanishes."""
    pull = np.stack([keep * (y > 0) + flip * (y < 0), keep * (y < 0) + flip * (y > 0)])
    up, down = float(pull[0].sum()), float(pull[1].sum())
    least = min(up, down)
    factors = least / up if up > 0.0 else 0.0, least / down if down > 0.0 else 0.0
    of_keep, of_flip = np.where(y > 0, *factors), np.where(y < 0, *factors)
    return keep * of_keep, flip * of_flip


def _nearest(v: Vector, pull: Vector, problem: RobustProblem, price: float) -> Vector:
    """Return argmin over u of pull · max(1 − u, 1 + u − κλ, 0) + ½ (u − v)², entry by entry."""
    if not problem.flips:
        return np.where(v < 1.0, np.minimum(v + pull, 1.0), v)
    raised = problem.label_cost * price
    low, high = min(1.0, 0.5 * raised), max(raised - 1.0, 0.5 * raised)
    up, down = np.minimum(v + pull, low), np.maximum(v - pull, high)
    return np.where(v < low, up, np.where(v > high, down, v))
