"""The interior point on the examples whose loss is not decided yet.

Near the solution the loss of most examples is one linear piece: that of the label as it is, that of
the flipped one, or none. Held there, they add a linear function to the problem, and only those
whose pieces nearly meet are left for the interior point. A linear piece is nowhere above the loss,
so the dual point of the smaller problem, with the bounds of the decided examples, is one of the
whole problem and proves its value, whether the decisions were right or not. Wrong ones are taken
back, and the next round starts at the new point.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings, State
from widemargin.methods.interior.robust import (
    Decided,
    RobustInteriorPoint,
    RobustInteriorPointState,
)
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem

Vector = NDArray[np.float64]

KEEP, FLIP, NONE = 0, 1, 2
"""The pieces of the loss, in the order of the dual variables' rows."""

FIRST_SHARE = 0.125
"""Of the examples that the first round leaves undecided, at least."""

_LEAST_PER_WEIGHT = 4
_MOST = 0.7
"""A share above which all examples are taken."""

_INSIDE = 0.05
"""A dual variable farther than this share from both its bounds says that pieces meet."""

_ASTRAY = 3.0
"""No optimal λ is above P/ε; a round whose λ is above that by this factor has no solution."""


@dataclass(eq=False)
class ReducedState(State):
    """The best points so far, and the round under way."""

    problem: RobustProblem
    settings: Settings
    best: Point
    best_primal: float
    best_dual: float
    start: Point
    """Where the round started: it decided by the pieces that were the largest here."""
    scores: Vector
    undecided: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    pieces: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    """Of the decided examples; NONE for the others."""
    inner: RobustInteriorPointState | None = None
    method: RobustInteriorPoint = field(default_factory=RobustInteriorPoint)

    @property
    def point(self) -> Point:
        """The best weights and the best dual variables so far."""
        return self.best


class ReducedInteriorPoint:
    """Rounds of the interior point, each on the examples that are undecided at its start."""

    name = "reduced_interior_point"
    serves: ClassVar[type[Any]] = RobustProblem

    def refuses(self, problem: RobustProblem) -> str | None:
        """Support problems for which the interior point can form its matrix."""
        if problem.rows.weights > MACHINE.largest_robust:
            return (
                f"'reduced_interior_point' supports at most {MACHINE.largest_robust} weights, "
                f"not {problem.rows.weights}; "
                "the nearest solver that supports this problem is 'interior_point'"
            )
        return None

    def start(self, problem: RobustProblem, warm: Point | None, settings: Settings) -> ReducedState:
        """Decide by the warm point; without one nothing is decided."""
        point, certificate = problem.certify(problem.cold_point() if warm is None else warm)
        state = ReducedState(
            problem,
            settings,
            point,
            certificate.primal,
            certificate.dual,
            point,
            problem.rows.scores(point.w),
        )
        count = problem.rows.count if warm is None else FIRST_SHARE * problem.rows.count
        self._begin_round(state, self._near(state, count))
        return state

    def advance(self, state: ReducedState) -> None:
        """Take one step of the interior point; at the end of a round, judge it."""
        inner, problem = state.inner, state.problem
        assert inner is not None
        state.method.advance(inner)
        state.passes += 6.0 * inner.problem.rows.count / max(1, problem.rows.count)
        whole = state.undecided.size == problem.rows.count
        astray = problem.radius * inner.price > _ASTRAY * state.best_primal and not whole
        if inner.finished or astray or inner.expected_gap <= 0.2 * state.settings.tol:
            self._end_round(state)

    @staticmethod
    def _near(state: ReducedState, count: float) -> NDArray[np.bool_]:
        """Mark at least `count` examples: where pieces nearly meet, or where duals say so."""
        problem, p = state.problem, state.problem.weight
        count = max(count, _LEAST_PER_WEIGHT * (problem.rows.weights + 2.0))
        if count >= _MOST * p.size:
            return np.ones(p.size, dtype=bool)
        values = _piece_values(problem, state.scores, state.start)
        ordered = np.sort(values, axis=0)
        lead = ordered[2] - ordered[1]
        alpha = np.asarray(state.start.alpha)
        inside = np.minimum(alpha, p - alpha).max(axis=0) > _INSIDE * p
        near: NDArray[np.bool_] = lead <= np.partition(lead, int(count))[int(count)]
        return near | inside

    def _begin_round(self, state: ReducedState, open_: NDArray[np.bool_]) -> None:
        """Hold all other examples at their largest piece, and start the interior point."""
        problem, p = state.problem, state.problem.weight
        if np.count_nonzero(open_) >= _MOST * p.size:
            open_ = np.ones(p.size, dtype=bool)
        pieces = np.argmax(_piece_values(problem, state.scores, state.start), axis=0)
        flipped = np.where((pieces == FLIP) & ~open_, p, 0.0)
        paid = problem.label_cost * float(flipped.sum()) if flipped.any() else 0.0
        if paid >= problem.radius > 0.0:
            # More flips than the radius pays for: none of them is decided.
            open_ = open_ | (flipped > 0.0)
            flipped[:], paid = 0.0, 0.0
        pieces[open_] = NONE
        kept = np.where(pieces == KEEP, p, 0.0)
        difference = kept - flipped
        outside = Decided(
            float(kept.sum() + flipped.sum()),
            problem.rows.combine(difference, problem.y),
            float(difference @ problem.y),
        )
        state.pieces, state.undecided = pieces.astype(np.int8), np.flatnonzero(open_)
        state.active = int(state.undecided.size)
        smaller = replace(
            problem,
            rows=problem.rows.take(state.undecided),
            y=problem.y[state.undecided],
            weight=p[state.undecided],
            radius=problem.radius - paid,
        )
        state.method = RobustInteriorPoint(outside)
        state.inner = state.method.start(smaller, state.start, state.settings)

    def _end_round(self, state: ReducedState) -> None:
        problem, inner, p = state.problem, state.inner, state.problem.weight
        assert inner is not None
        whole = state.undecided.size == p.size
        # 1) what the round proves
        alpha = np.zeros((2, p.size))
        alpha[KEEP] = np.where(state.pieces == KEEP, p, 0.0)
        alpha[FLIP] = np.where(state.pieces == FLIP, p, 0.0)
        alpha[:, state.undecided] = inner.point.alpha
        found = Point(inner.w, inner.b, alpha)
        point, certificate = problem.certify(found)
        scores = problem.rows.scores(inner.w)
        state.passes += 2.0
        before = state.best_primal - state.best_dual
        better = certificate.primal < state.best_primal
        if better:
            state.best_primal = certificate.primal
            state.best = Point(point.w, point.b, state.best.alpha)
        if certificate.dual > state.best_dual:
            state.best_dual = certificate.dual
            state.best = Point(state.best.w, state.best.b, point.alpha)
        gap = state.best_primal - state.best_dual
        state.expected_gap = gap / state.best_primal
        if whole or state.expected_gap <= state.settings.tol:
            state.finished = state.expected_gap > state.settings.tol
            return
        # 2) decisions that did not hold, the worst ones first
        values = _piece_values(problem, scores, found)
        wrong = values.max(axis=0) - np.take_along_axis(values, state.pieces[None], axis=0)[0]
        wrong[state.undecided] = 0.0
        most = max(state.undecided.size, int(FIRST_SHARE * p.size))
        if np.count_nonzero(wrong > 0.0) > most:
            wrong[wrong < np.partition(wrong, -most)[-most]] = 0.0
        undecided = wrong > 0.0
        # 3) the next round: from there, or from as far as it was of use
        if better:
            state.start, state.scores = found, scores
        else:
            self._go_part_of_the_way(state, found, scores)
        count = float(state.undecided.size)
        if gap > 0.5 * before:
            # More of them each time, so that there is an end.
            undecided[state.undecided] = True
            count = 1.5 * np.count_nonzero(undecided)
        self._begin_round(state, self._near(state, count) | undecided)

    @staticmethod
    def _go_part_of_the_way(state: ReducedState, found: Point, scores: Vector) -> None:
        """Minimise P between where the round started and where it went astray."""
        problem, start = state.problem, state.start

        def value(t: float) -> float:
            w = start.w + t * (found.w - start.w)
            b = float(start.b) + t * (float(found.b) - float(start.b))
            return problem.primal(w, b, state.scores + t * (scores - state.scores))

        t = float(
            minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"maxiter": 12}).x
        )
        if value(t) < value(0.0):
            state.start = Point(
                start.w + t * (found.w - start.w),
                float(start.b) + t * (float(found.b) - float(start.b)),
                start.alpha,
            )
            state.scores = state.scores + t * (scores - state.scores)


def _piece_values(problem: RobustProblem, scores: Vector, at: Point) -> Vector:
    """Return the values of the three pieces of each example's loss, one row each."""
    b = float(at.b)
    margins = problem.y * (scores + b)
    values = np.zeros((3, margins.size))
    values[KEEP] = 1.0 - margins
    values[FLIP] = -np.inf
    if problem.flips:
        price = problem.worst_loss(at.w, b, scores)[1]
        values[FLIP] = 1.0 + margins - problem.label_cost * price
    return values
