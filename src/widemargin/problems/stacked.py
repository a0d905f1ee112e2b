"""Stacked problems: several binary problems over the same rows, solved as one.

The folds of a cross-validation differ in who takes part and in nothing else. Side by side, as lanes
of one matrix, they read X once where one after the other would read it once each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.kernels import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import Loss

Vector = NDArray[np.float64]
Stack = NDArray[np.float64]

_ENTRIES_PER_CALL = 64_000_000
"""Stored values times lanes of one compiled call: some 50 ms of work."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Weights and intercepts with their scores."""

    w: Stack
    b: Vector
    scores: Stack


@dataclass
class Products:
    """The latest products with the data, kept with what they are products of.

    Only results of whole products are kept, never sums that a method updated on its way, so a
    certificate that reads them is still computed from the point and the data alone.
    """

    w: Stack | None = None
    scores: Stack | None = None
    alpha: Stack | None = None
    combination: Stack | None = None
    losses: tuple[Vector, Vector] | None = None
    """The intercepts and the losses at C = 1 that go with the weights above."""
    start: Solved | None = None
    """The solution at the C before, which this problem starts from."""
    before: Solved | None = None
    """The one before that."""
    preconditioner: Any = None
    """What a method wants to find again at the next C."""
    certified: tuple[Point, Vector, Vector] | None = None
    """The latest certificate: a feasible point, and P and D of each lane."""


def _same(known: Stack | None, given: Any) -> bool:
    """Whether two arrays are equal; if not, their first entries mostly tell."""
    if known is None or known is given:
        return known is not None
    return bool(np.array_equal(known[:1], given[:1]) and np.array_equal(known, given))


def lane_squares(stack: Stack) -> Vector:
    """Return the squared norm of each lane."""
    out = np.empty(stack.shape[1])
    core.lane_squares(stack, out)
    return out


@dataclass(frozen=True, eq=False)
class StackedProblem:
    """Binary problems, a lane each: min Σ_l ½‖w_l‖² + C Σ_i s_il ℓ(y_il (w_l·x_i + b_l)).

    Attributes
    ----------
    rows : Rows
        With a constant feature if the intercepts are penalised.
    signed_cost : ndarray of shape (n, lanes)
        y_il s_il: label times cost at C = 1; zero where an example takes no part in a lane. The
        number of lanes is a multiple of four; lanes of zeros are padding.
    C : float
    loss : Loss
        One with second derivatives.
    free_intercept : bool
    threads : int
        Threads of each product with the data; results do not depend on it.
    """

    kind: ClassVar[str] = "stacked problems"

    rows: Rows
    signed_cost: Stack
    C: float
    loss: Loss
    free_intercept: bool
    threads: int = 1
    products: Products = field(default_factory=Products)
    used: int = 0
    """Lanes before the padding; counted unless given."""

    def __post_init__(self) -> None:
        if self.used == 0:
            object.__setattr__(self, "used", max(1, int(self.signed_cost.any(axis=0).sum())))

    @property
    def lanes(self) -> int:
        """Number of lanes, with padding."""
        return int(self.signed_cost.shape[1])

    def watched(self, checkpoint: Callable[[], None]) -> StackedProblem:
        """Return the same problem, calling `checkpoint` between compiled calls."""
        return replace(self, rows=replace(self.rows, checkpoint=checkpoint))

    def cold_point(self) -> Point:
        """Return nothing but zeros."""
        return Point(
            np.zeros((self.rows.weights, self.lanes)),
            np.zeros(self.lanes),
            np.zeros((self.rows.count, self.lanes)),
        )

    def rescaled(self, factor: float, solution: Point | None = None) -> StackedProblem:
        """Return the problem with all costs multiplied; products of the solution stay known."""
        known = self.products
        kept = Products(preconditioner=known.preconditioner)
        if solution is not None and known.w is not None and known.scores is not None:
            if _same(known.w, solution.w):
                kept.w, kept.scores, kept.losses = known.w, known.scores, known.losses
                kept.start = Solved(known.w, solution.b, known.scores)
                kept.before = known.start
            if known.alpha is not None and known.combination is not None:
                kept.alpha = factor * known.alpha
                kept.combination = factor * known.combination
        return replace(self, C=factor * self.C, products=kept)

    def scores(self, w: Stack) -> Stack:
        """Return x_i · w_l for every row and lane."""
        known = self.products
        if known.scores is not None and _same(known.w, w):
            return known.scores
        out = np.empty((self.rows.count, self.lanes))
        for begin, end in self._pieces():
            self.rows.view.stacked_scores(w, out, begin, end, self.threads)
        return out

    def combine(self, alpha: Stack) -> Stack:
        """Return Σ_i α_il y_il x_i for every lane; α comes times its labels."""
        known = self.products
        if known.combination is not None and _same(known.alpha, alpha):
            return known.combination
        total = np.zeros((self.rows.weights, self.lanes))
        for begin, end in self._pieces():
            self.rows.view.stacked_accumulate(alpha, total, begin, end, self.threads)
        return total

    def curvature_product(self, curvature: Stack, direction: Stack, shift: Vector) -> Stack:
        """Return Σ h s x with s = x·direction + shift; the last line is Σ h s."""
        total = np.zeros((self.rows.weights + 1, self.lanes))
        for begin, end in self._pieces():
            self.rows.view.stacked_curvature_product(
                curvature, direction, shift, total, begin, end, self.threads
            )
        return total

    def terms(
        self, scores: Stack, b: Vector, alpha: Stack | None = None, curvature: Stack | None = None
    ) -> Vector:
        """Return the loss of each lane; fill in the signed dual variables and the curvatures."""
        totals, zero = np.empty((3, self.lanes)), np.zeros(self.lanes)
        core.stacked_terms(
            self.loss.name,
            self.signed_cost,
            self.C,
            scores,
            b,
            None,
            zero,
            zero,
            alpha,
            curvature,
            totals,
            self.threads,
        )
        return totals[0]

    def terms_along(
        self, scores: Stack, b: Vector, slopes: Stack, slope_b: Vector, t: Vector, fill: Any = None
    ) -> Stack:
        """Return loss, slope and curvature of each lane at scores + t (slopes + slope_b)."""
        totals = np.empty((3, self.lanes))
        alpha, curvature = (None, None) if fill is None else fill
        core.stacked_terms(
            self.loss.name,
            self.signed_cost,
            self.C,
            scores,
            b,
            slopes,
            slope_b,
            t,
            alpha,
            curvature,
            totals,
            self.threads,
        )
        return totals

    def known_losses(self, w: Stack, b: Vector, scores: Stack) -> Vector:
        """Return the loss of each lane, from memory if the last certificate had the same point."""
        known = self.products
        if known.losses is not None and _same(known.w, w):
            at, losses = known.losses
            if np.array_equal(at, b):
                return self.C * losses
        return self.terms(scores, b)

    def primals(self, w: Stack, losses: Vector) -> Vector:
        """Return P of each lane."""
        return 0.5 * lane_squares(w) + losses

    def dual_values(self, alpha: Stack, combination: Stack) -> Vector:
        """Return D of each lane for signed dual variables, brought into their ranges in place.

        The combination is taken as it is given.
        """
        sums = self._dual_sums(alpha, None)
        terms = sums[2] if self.loss.name == "logistic" else sums[0] + sums[1] - sums[3]
        return np.asarray(terms - 0.5 * lane_squares(combination))

    def bring_into_range(self, alpha: Stack) -> None:
        """Bring signed dual variables into their ranges, in place."""
        self._dual_sums(alpha, None)

    def dual_sums(self, alpha: Stack) -> Stack:
        """Return what D is made of, lane by lane, for dual variables that are in their ranges.

        Σ α_i of either sign, the entropies, and Σ α_i² / (4 C s_i).
        """
        return self._dual_sums(np.array(alpha), None)

    def certify(self, point: Point) -> tuple[Point, Certificate]:
        """Compute the certificate of the sum of all lanes."""
        feasible, primals, duals = self.certify_lanes(point)
        return feasible, Certificate(float(primals.sum()), float(duals.sum()))

    def certify_lanes(self, point: Point) -> tuple[Point, Vector, Vector]:
        """Turn a point into a feasible one; return it with P and D of each lane.

        α is brought into its range; with a free intercept the examples of the heavier class are
        scaled down until Σ α_i y_i = 0, and for the squared hinge the whole by the factor that
        raises D most.
        """
        known = self.products
        if known.certified is not None:
            last = known.certified[0]
            if last.alpha is point.alpha and _same(last.w, point.w) and _same(last.b, point.b):
                return known.certified
        # 1) a feasible dual point
        alpha = np.array(point.alpha)
        sums = self._dual_sums(alpha, None)
        if self.free_intercept:
            with np.errstate(divide="ignore", invalid="ignore"):
                factors = np.minimum(1.0, np.nan_to_num(np.array([sums[1] / sums[0]] * 2)))
                factors[1] = np.minimum(1.0, np.nan_to_num(sums[0] / sums[1]))
            sums = self._dual_sums(alpha, factors)
        if _same(known.alpha, alpha):
            assert known.alpha is not None
            alpha = known.alpha
        combination = self.combine(alpha)
        scores = self.scores(point.w)
        # 2) primal value
        b = np.zeros(self.lanes)
        if self.free_intercept:
            b[: self.used] = np.asarray(point.b)[: self.used]
        losses = self.known_losses(point.w, b, scores)
        primals = self.primals(point.w, losses)
        known.w, known.scores, known.losses = point.w.copy(), scores, (b, losses / self.C)
        known.alpha, known.combination = alpha, combination
        # 3) dual value
        squared = lane_squares(combination)
        if self.loss.name == "logistic":
            known.certified = (Point(known.w, b, alpha), primals, sums[2] - 0.5 * squared)
            return known.certified
        linear, quadratic = sums[0] + sums[1], 0.5 * squared + sums[3]
        best = np.divide(linear, 2.0 * quadratic, out=np.ones(self.lanes), where=quadratic > 0.0)
        duals = best * linear - best**2 * quadratic
        if np.any(best != 1.0):
            alpha = alpha * best
            known.alpha, known.combination = alpha, combination * best
        known.certified = (Point(known.w, b, alpha), primals, duals)
        return known.certified

    def certificates(self, point: Point) -> list[Certificate]:
        """Return the certificate of each lane at a point."""
        _, primals, duals = self.certify_lanes(point)
        return [Certificate(float(p), float(d)) for p, d in zip(primals, duals, strict=True)]

    def _dual_sums(self, alpha: Stack, scale: Stack | None) -> Stack:
        totals = np.empty((4, self.lanes))
        core.stacked_dual_sums(
            self.loss.name, self.signed_cost, self.C, scale, alpha, totals, self.threads
        )
        return totals

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Yield row ranges short enough for one compiled call, with a checkpoint after each."""
        count = self.rows.count
        work = max(1, self.rows.view.nonzeros * self.lanes)
        step = max(1, int(count * min(1.0, _ENTRIES_PER_CALL / work)))
        for begin in range(0, count, step):
            yield begin, min(begin + step, count)
            self.rows.checkpoint()
