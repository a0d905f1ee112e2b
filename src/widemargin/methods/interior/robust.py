"""Primal-dual interior point for the robust problem, see docs/theory/robust.md.

Each example has the slacks of its three pieces and a multiplier for each; all of them are
eliminated example by example. What is left is one matrix of the weights, Σ g_i x_i x_iᵀ
plus a border for λ (and b), to which the constraint ‖w‖ ≤ λ adds a diagonal and one rank. A step
forms and factorises it once and solves twice, after Mehrotra; with more weights than that allows
for, it multiplies by the matrix instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.interior._norm_cones import CONES, NormCone
from widemargin.methods.interior._robust_system import (
    FactorisedSystem,
    IterativeSystem,
    RobustSystem,
)
from widemargin.problems.certificate import Point
from widemargin.problems.norms import norm_of
from widemargin.problems.robust import RobustProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_TO_BOUNDARY = 0.99

_WEIGHT_OF_CONE = 0.1
"""Of the constraint ‖w‖ ≤ λ on the central path, where the examples together have 2 or 3."""

_MARGINS = 10.0


@dataclass(frozen=True, eq=False)
class Decided:
    """What examples add to the problem whose loss is one linear piece, wherever w goes.

    The sum of their losses is mass − pull·w − pull_b b; what flipped ones take off the price of λ
    stands in the problem's radius already.
    """

    mass: float
    pull: Vector
    pull_b: float


@dataclass(eq=False)
class RobustInteriorPointState(State):
    """The iterate, strictly inside all bounds."""

    problem: RobustProblem
    decided: Decided | None
    w: Vector
    b: float
    price: float
    path: Matrix
    """Slacks above, below, loss and multipliers keep, flip, rest: one row each."""
    margins: Vector
    cone: NormCone | None
    kept: NDArray[np.int64] | None
    count: int
    direction: Matrix = field(repr=False)
    hard: bool = False
    """Whether conjugate gradients have become slow."""
    best: Point | None = None
    best_gap: float = np.inf
    stalled_steps: int = 0

    @property
    def point(self) -> Point:
        """The best point where solutions are not exact, else the present one."""
        return self.present if self.best is None else self.best

    @property
    def present(self) -> Point:
        """The present point, with zeros for the examples that were left out."""
        alpha = np.zeros((2, self.count))
        alpha[:, slice(None) if self.kept is None else self.kept] = self.path[3:5]
        return Point(self.w, self.b, alpha)


class RobustInteriorPoint(SupportsAll):
    """Follow the central path of the robust problem; 15 to 40 steps, whatever the data."""

    name = "interior_point"
    serves: ClassVar[type[Any]] = RobustProblem

    def __init__(self, decided: Decided | None = None) -> None:
        self._decided = decided

    def start(
        self, problem: RobustProblem, warm: Point | None, settings: Settings
    ) -> RobustInteriorPointState:
        """Start at w = 0, or at warm weights if they are better, with products p_i/(Σ 1/slack)."""
        count, kept = problem.rows.count, None
        if not (problem.weight > 0.0).all():
            kept = np.flatnonzero(problem.weight > 0.0).astype(np.int64)
            problem = problem.subproblem(kept)
        n = problem.rows.count
        w, b, scores = np.zeros(problem.rows.weights), 0.0, np.zeros(n)
        if warm is not None:
            warm_b = float(warm.b) if problem.free_intercept else 0.0
            warm_scores = problem.rows.scores(warm.w)
            if problem.primal(warm.w, warm_b, warm_scores) < problem.primal(w, 0.0, scores):
                w, b, scores = warm.w.copy(), warm_b, warm_scores
        margins = problem.y * (scores + b)
        length = norm_of(w, problem.norm)
        price = max(_first_price(problem), 1.5 * length, problem.best_price(margins, length))
        path = np.zeros((6, n))
        loss = problem.losses(margins, price) + 1.0
        path[0], path[2] = margins + loss - 1.0, loss
        inverse = 1.0 / path[0] + 1.0 / loss
        if problem.flips:
            path[1] = loss - 1.0 - margins + problem.label_cost * price
            inverse += 1.0 / path[1]
        product = problem.weight / inverse
        path[3] = product / path[0]
        share = problem.radius
        if problem.flips:
            path[4] = product / path[1]
            flipped = problem.label_cost * float(path[4].sum())
            if flipped > 0.5 * problem.radius:
                path[3:5] *= 0.5 * problem.radius / flipped
            share -= problem.label_cost * float(path[4].sum())
        path[5] = problem.weight - path[3] - path[4]
        cone = CONES[problem.norm](w, price, share) if problem.radius > 0.0 and w.size else None
        return RobustInteriorPointState(
            problem,
            self._decided,
            w,
            b,
            price,
            path,
            margins,
            cone,
            kept,
            count,
            np.zeros_like(path),
            active=n,
        )

    def advance(self, state: RobustInteriorPointState) -> None:
        """Take one predictor-corrector step."""
        problem, cone = state.problem, state.cone
        path = core.RobustPath(state.path, problem.flips)
        rows, y, free = problem.rows, problem.y, problem.free_intercept
        flips, label_cost = problem.flips, problem.label_cost if problem.flips else 0.0
        d, n = rows.weights, rows.count
        raised = label_cost * state.price

        # 1) residuals of the conditions of w, b and λ
        residual = self._residual(state)
        if not self._prepared(state):
            state.finished = True
            return
        # Products are aimed at μ times the weight of the example; the constraint has a weight too.
        share_of_cone = 0.0 if cone is None else _WEIGHT_OF_CONE / cone.degree
        weight = (3.0 if flips else 2.0) * float(problem.weight.sum())
        weight += 0.0 if cone is None else _WEIGHT_OF_CONE
        gap = _products(state.path) + (0.0 if cone is None else cone.gap())
        mu = gap / weight

        # 2) the matrix, once for both solves
        curvature, mixed = np.empty(n), np.zeros(n)
        corner = path.curvature(label_cost, curvature, mixed)
        system: RobustSystem
        if d <= MACHINE.largest_robust:
            system = FactorisedSystem(problem, curvature, mixed, corner, cone)
        else:
            system = IterativeSystem(
                problem, curvature, mixed, corner, cone, state.expected_gap, state.hard
            )
        if not system.solvable:
            state.finished = True
            return
        pulls = np.empty(n)

        def solve(target: float, corrects: bool) -> tuple[Vector, Vector, tuple[float, ...]]:
            """Solve for the step towards equal products; return it, its slopes and its reach."""
            earlier = state.direction if corrects else None
            total = path.pull(state.margins, raised, target, earlier, pulls)
            right = -residual
            right[:d] += rows.combine(pulls, y)
            if free:
                right[d] += float(pulls @ y)
            if cone is not None:
                pull_w, pull_price = cone.pull(share_of_cone * target, corrects)
                right[:d] += pull_w
                right[d + 1] += label_cost * total + pull_price
            step = system.solve(right)
            slopes = y * (rows.scores(step[:d]) + step[d])
            reach = path.direction(
                state.margins,
                raised,
                target,
                corrects,
                slopes,
                label_cost * float(step[d + 1]),
                state.direction,
            )
            falls = (0.0, 0.0) if cone is None else cone.direct(step[:d], float(step[d + 1]))
            slack, multiplier = max(reach[0], falls[0]), max(reach[1], falls[1])
            return step, slopes, (slack, multiplier, *reach[2:])

        # 3) predictor: how far would μ fall if it were aimed at zero?
        _, _, reach = solve(0.0, False)
        slack, multiplier = self._lengths(problem, reach, 1.0)
        aimed = _products(state.path) + slack * reach[2] + multiplier * reach[3]
        aimed += slack * multiplier * reach[4]
        if cone is not None:
            aimed += cone.gap_after(slack, multiplier)
        # 4) corrector; where rounding makes the predictor raise μ, it stays
        share = min(max(aimed, 0.0) / gap, 1.0)
        step, slopes, reach = solve(share**3 * mu, True)
        slack, multiplier = self._lengths(problem, reach, _TO_BOUNDARY)
        if not (np.isfinite(step).all() and np.isfinite(slack * multiplier)):
            state.finished = True
            return
        state.w = state.w + slack * step[:d]
        state.b += slack * float(step[d])
        state.price += slack * float(step[d + 1])
        products = path.move(state.direction, state.margins, slopes, slack, multiplier)
        if cone is not None:
            cone.move(slack, multiplier)
            products += cone.gap()
        state.passes += 6

        if isinstance(system, IterativeSystem):
            state.passes += system.products
            state.hard = state.hard or system.products > MACHINE.easy_products

        # 5) judge; solutions by conjugate gradients leave residuals of their own
        exact = isinstance(system, FactorisedSystem)
        left = (1.0 - multiplier) * residual if exact else self._residual(state)
        better = self._judge(state, products, left)
        if better and not exact:
            state.best = state.present

    @staticmethod
    def _prepared(state: RobustInteriorPointState) -> bool:
        """Prepare the norm's constraint for a step; return whether floating point holds it."""
        if state.cone is None:
            return True
        state.cone.prepare(state.w, state.price)
        return state.cone.in_range

    @staticmethod
    def _residual(state: RobustInteriorPointState) -> Vector:
        problem, path = state.problem, state.path
        d = problem.rows.weights
        difference = path[3] - path[4]
        residual = np.zeros(d + 2)
        residual[:d] = problem.l2 * state.w - problem.rows.combine(difference, problem.y)
        if problem.free_intercept:
            residual[d] = -float(difference @ problem.y)
        if state.decided is not None:
            residual[:d] -= state.decided.pull
            residual[d] -= state.decided.pull_b if problem.free_intercept else 0.0
        if state.cone is not None:
            multipliers, share = state.cone.multipliers()
            residual[:d] -= multipliers
            residual[d + 1] = problem.radius - share
            if problem.flips:
                residual[d + 1] -= problem.label_cost * float(path[4].sum())
        return residual

    @staticmethod
    def _lengths(
        problem: RobustProblem, reach: tuple[float, ...], fraction: float
    ) -> tuple[float, float]:
        slack = min(1.0, fraction / reach[0]) if reach[0] > 0.0 else 1.0
        multiplier = min(1.0, fraction / reach[1]) if reach[1] > 0.0 else 1.0
        if problem.l2 > 0.0 or problem.norm != 1.0:
            # With a penalty w is in the conditions of both sides, and both must share one length;
            # without one, two lengths pay for norm 1 and lose the path for the others (measured).
            slack = multiplier = min(slack, multiplier)
        return slack, multiplier

    @staticmethod
    def _judge(state: RobustInteriorPointState, gap: float, residual: Vector) -> bool:
        """Estimate the relative gap; what is left of the residuals counts as far as w reaches.

        Return whether it is the smallest so far.
        """
        problem = state.problem
        price = max(state.price, 0.0)
        primal = problem.radius * price + 0.5 * problem.l2 * float(state.w @ state.w)
        primal += float(problem.weight @ problem.losses(state.margins, price))
        if state.decided is not None:
            primal += state.decided.mass - float(state.decided.pull @ state.w)
            primal -= state.decided.pull_b * state.b
        gap += float(np.abs(residual[:-2]) @ np.abs(state.w)) + abs(residual[-2] * state.b)
        gap += abs(float(residual[-1])) * price
        state.expected_gap = gap / primal if primal > 0.0 else np.inf
        state.stalled_steps = state.stalled_steps + 1 if gap > 0.97 * state.best_gap else 0
        better = gap < state.best_gap
        state.best_gap = min(gap, state.best_gap)
        # From a bad start the estimate rises before it falls.
        patience = 10 if state.expected_gap < 1.0 else 25
        state.finished = state.stalled_steps >= patience or not np.isfinite(gap)
        return better


def _first_price(problem: RobustProblem) -> float:
    """Return a λ in the units of the data, from which neither side is far.

    λ times the radius is what the products of the constraint should sum to, but no more than a few
    times the λ that gives a row of mean length the margin one.
    """
    rows = problem.rows
    length = np.sqrt(float(problem.weight @ rows.norms) / float(problem.weight.sum()))
    spread = np.sqrt(max(1.0, rows.view.nonzeros / max(1, rows.count)))
    length *= {1.0: 1.0 / spread, 2.0: 1.0, np.inf: spread}[problem.norm]
    most = _MARGINS / length if length > 0.0 else 1.0
    return min(_WEIGHT_OF_CONE / problem.radius, most) if problem.radius > 0.0 else most


def _products(path: Matrix) -> float:
    return float(np.vdot(path[:3], path[3:]))
