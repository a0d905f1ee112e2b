"""Sparse weights of all classes at once: Newton steps on working sets, a class after the other.

With all other classes fixed, what is left of the multinomial losses to class l is binary logistic
loss with the margins shifted: log Σ_j exp(s_ij) = log R_i + log(1 + exp(s_il − log R_i)), where R_i
sums over the others. Each class therefore takes the steps of `_column_steps`. Adding
the same vector to the weights of all classes changes no probability; after every round the one with
the least penalty is chosen, which no single class can do. Every few rounds the last points are
combined so that their changes cancel (Bertrand and Massias, Algorithm 1), or a step of all classes
on the support is taken (`_joint_support`), if that lowers P.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.newton._column_sets import ByColumns, ByMatrix
from widemargin.methods.newton._column_state import ColumnState
from widemargin.methods.newton._column_steps import ColumnNewton
from widemargin.methods.newton._elastic_net_model import Penalty, extrapolation
from widemargin.methods.newton._joint_support import candidates, price
from widemargin.problems.certificate import Point
from widemargin.problems.losses import LOGISTIC
from widemargin.problems.sparse_multinomial import SparseMultinomialProblem
from widemargin.problems.sparse_weights import SparseProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_INNER = 0.1
"""A class's model is minimised to this share of the violation that it starts from."""

_STEPS = 3
"""Newton steps of a class before the next one's turn, which changes the losses again."""

_ROUNDING = 4e-15
"""Share of the objective below which a difference is rounding."""

_POINT = ("w", "b", "scores", "duals", "v", "primal", "expected_gap")
"""What a state says of its point."""

_DEPTH = 5
"""Rounds that an extrapolation combines."""


@dataclass(eq=False, kw_only=True)
class RoundsState(State):
    """Weights, intercepts and scores of all classes, and what the losses say at these.

    Attributes
    ----------
    w, b : ndarray of shape (k, d) and (k,)
    scores : ndarray of shape (n, k)
        Without intercepts.
    duals : ndarray of shape (n, stride)
        Those that belong to the weights, padded.
    v : ndarray of shape (k, d)
        The weights that they stand for.
    each : list of ColumnState
        Where each class's steps are.
    primal : float
        P at the weights.
    trail : list
        Weights and intercepts after the last rounds.
    since : float
        What the meter said after the last step of all classes.
    """

    problem: SparseMultinomialProblem
    w: Matrix
    b: Vector
    scores: Matrix
    duals: Matrix
    v: Matrix
    each: list[ColumnState]
    primal: float = np.inf
    trail: list[tuple[Matrix, Vector]] = field(default_factory=list)
    since: float = 0.0

    @property
    def point(self) -> Point:
        """The current weights and the dual variables that belong to them."""
        return Point(self.w, self.b, self.duals[:, : self.problem.classes])


class SparseMultinomialNewton(SupportsAll):
    """Rounds over the classes, each model minimised with the matrix of its working set."""

    name: ClassVar[str] = "proximal_newton"
    serves: ClassVar[type[SparseMultinomialProblem]] = SparseMultinomialProblem
    steps: ClassVar[type[ColumnNewton]] = ByMatrix

    def start(
        self, problem: SparseMultinomialProblem, warm: Point | None, settings: Settings
    ) -> RoundsState:
        """Begin at the warm weights, or at zero."""
        point = problem.cold_point() if warm is None else warm
        rows, k = problem.rows, problem.classes
        w = np.array(point.w, dtype=np.float64)
        b = np.array(point.b, dtype=np.float64) if problem.free_intercept else np.zeros(k)
        scores = _scores(problem, w) if w.any() else np.zeros((rows.count, k))
        empty = np.empty(0)
        penalty = Penalty(problem.l1_ratio, problem.ridge)
        each = [
            ColumnState(
                problem=_class_problem(problem, place),
                settings=settings,
                penalty=penalty,
                w=w[place],
                b=float(b[place]),
                scores=empty,
                alpha=empty,
                curvature=empty,
                v=empty,
                total=np.inf,
            )
            for place in range(k)
        ]
        state = RoundsState(
            problem=problem,
            w=w,
            b=b,
            scores=scores,
            duals=np.empty((rows.count, problem.stride)),
            v=np.zeros_like(w),
            each=each,
            active=rows.weights,
            since=problem.meter.nanoseconds,
        )
        self._look(state)
        return state

    def advance(self, state: RoundsState) -> None:
        """Give every class its turn, then move all of them by what changes no probability."""
        w, b, scores = state.w.copy(), state.b.copy(), state.scores.copy()
        moved = False
        for place, each in enumerate(state.each):
            moved |= self._turn(state, each, place, (w, b, scores))
        moved |= _move_all(state.problem, w, scores)
        if state.problem.free_intercept:
            b -= b.mean()
        # From here on without a checkpoint until all is in place.
        state.w, state.b, state.scores = w, b, scores
        state.active = max(
            0 if each.columns is None else each.columns.places.size for each in state.each
        )
        before = state.primal
        self._look(state)
        state.finished = not moved or (state.expected_gap <= 0.0 and state.primal >= before)
        state.trail.append((w, b))
        spent = state.problem.meter.nanoseconds - state.since
        if price(state.problem, w) <= spent:
            # As much as the rounds before have cost, so that it never costs more than they do.
            options = candidates(state.problem, w, b, state.duals, state.v)
            any(self._take(state, *option) for option in options)
            state.since = state.problem.meter.nanoseconds
            state.trail = [(state.w, state.b)]
        elif len(state.trail) > _DEPTH:
            self._extrapolate(state)
            state.trail = [(state.w, state.b)]

    def _extrapolate(self, state: RoundsState) -> None:
        """Combine the points of the last rounds, if that lowers the objective."""
        weights = extrapolation([(b[0] - a[0]).ravel() for a, b in pairwise(state.trail)])
        if weights is None:
            return
        w = sum(c * point[0] for c, point in zip(weights, state.trail[1:], strict=True))
        b = sum(c * point[1] for c, point in zip(weights, state.trail[1:], strict=True))
        self._take(state, np.asarray(w), np.asarray(b))

    def _take(self, state: RoundsState, w: Matrix, b: Vector) -> bool:
        """Go to a point if the objective is lower there; return whether it is.

        Where rounding hides the difference, the estimated gap decides.
        """
        problem = state.problem
        scores = _scores(problem, w)
        total = problem.terms(problem.padded(scores + b), np.empty_like(state.duals))
        primal = total + problem.penalty(w)
        if primal > state.primal * (1.0 + _ROUNDING):
            return False
        before = {name: getattr(state, name) for name in _POINT}
        state.w, state.b, state.scores = w, b, scores
        self._look(state)
        if primal >= before["primal"] and state.expected_gap >= before["expected_gap"]:
            for name, value in before.items():
                setattr(state, name, value)
            return False
        return True

    def _turn(
        self,
        state: RoundsState,
        each: ColumnState,
        place: int,
        now: tuple[Matrix, Vector, Matrix],
    ) -> bool:
        """Take steps for one class, the others as they are now; return whether it moved."""
        w, b, scores = now
        problem, steps = each.problem, self.steps()
        others = np.delete(scores + b, place, axis=1)
        rest = logsumexp(others, axis=1)
        each.w, each.b, each.scores = w[place].copy(), float(b[place]), scores[:, place] - rest
        each.penalised, each.blind = each.penalty.of(each.w), 0
        steps._look(each)
        each.v = state.v[place].copy()
        steps._grow(each)
        columns = each.columns
        assert columns is not None
        worst, moved = 0.0, False
        for step in range(_STEPS):
            inside = steps._slopes(columns, each.alpha * problem.y)
            each.v[columns.places] = inside
            violation = each.penalty.violations(inside, each.w[columns.places]).max(initial=0.0)
            worst = max(worst, float(violation))
            if step and violation <= 0.3 * worst:
                break
            if not steps._step(each, columns, inside, _INNER * float(violation)):
                break
            moved = True
            steps._look(each)
        if each.b != b[place] or moved:
            w[place], b[place], scores[:, place] = each.w, each.b, each.scores + rest
        state.passes += (each.passes + 1.0) / len(state.each)
        each.passes = 0.0
        return moved

    def _look(self, state: RoundsState) -> None:
        """Compute probabilities and slopes of all classes, and estimate the gap."""
        problem, k = state.problem, state.problem.classes
        duals = np.empty_like(state.duals)
        total = problem.terms(problem.padded(state.scores + state.b), duals)
        combination, _ = problem.combine(duals)
        v = np.ascontiguousarray(combination[:, :k].T)
        state.duals, state.v = duals, v
        state.passes += 1.0
        primal = total + problem.penalty(state.w)
        state.primal = primal
        gap = primal - problem.estimated_dual(duals, v)
        state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else 0.0


class SparseMultinomialCD(SparseMultinomialNewton):
    """The same with sweeps over the columns of the working sets."""

    name: ClassVar[str] = "primal_cd"
    steps: ClassVar[type[ColumnNewton]] = ByColumns


def _scores(problem: SparseMultinomialProblem, w: Matrix) -> Matrix:
    """Return the scores of all classes without intercepts, (n, k)."""
    weights = np.ascontiguousarray(problem.padded(w.T))
    nothing = problem.padded(np.zeros(problem.classes))
    return np.ascontiguousarray(problem.scores(weights, nothing)[:, : problem.classes])


def _class_problem(problem: SparseMultinomialProblem, place: int) -> SparseProblem:
    """Return the problem of one class against the rest; its scores will be shifted."""
    signs = np.where(problem.label == place, 1.0, -1.0)
    return SparseProblem(
        problem.rows, signs, problem.cost, LOGISTIC, problem.free_intercept, problem.l1_ratio
    )


def _move_all(problem: SparseMultinomialProblem, w: Matrix, scores: Matrix) -> bool:
    """Subtract from all classes' weights the vector that leaves the least penalty.

    For each feature Σ_l ρ|w_l − t| + ½(1 − ρ)(w_l − t)² has its minimum at the median of the w_l
    and of the points mean − ρ(2m − k)/(k(1 − ρ)), m = 0 … k, where its slope between the m-th and
    the next w_l would be zero. For ρ = 1 it is the median of the w_l, the one nearest to zero.
    """
    used = np.flatnonzero(w.any(axis=0))
    if used.size == 0:
        return False
    k, at = w.shape[0], w[:, used]
    if problem.ridge > 0.0:
        ranks = np.arange(k + 1)[:, None]
        apart = problem.l1_ratio * (2.0 * ranks - k) / (k * problem.ridge)
        candidates = np.concatenate([at, at.mean(axis=0) - apart])
    else:
        candidates = np.concatenate([at, np.zeros((1 - k % 2, used.size))])
    shift = np.median(candidates, axis=0)
    if not shift.any():
        return False
    common = np.zeros(w.shape[1])
    common[used] = shift
    w -= common
    scores -= problem.rows.scores(common)[:, None]
    return True
