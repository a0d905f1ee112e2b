"""Problems in lanes: several binary problems over the same rows, solved as one.

The folds of a cross-validation differ only in which examples take part. Side by side, as lanes
of one matrix, they read X once where one after the other would read it once each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.instruction_sets import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.lane_bounds import (
    Costs,
    dual_errors,
    loss_errors,
    prices,
    sum_error,
)
from widemargin.problems.losses import Loss
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import ACCURACY, UNDERFLOW, Magnitudes, exact_sum, growth

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solved:
    """Weights and intercepts with their scores."""

    w: Matrix
    b: Vector
    scores: Matrix


@dataclass
class Products:
    """The latest products with the data, kept with what they are products of.

    Only results of whole products are kept, never sums that a method updated on its way, so a
    certificate that reads them is still computed from the point and the data alone.
    """

    w: Matrix | None = None
    scores: Matrix | None = None
    alpha: Matrix | None = None
    combination: Matrix | None = None
    losses: tuple[Vector, Vector] | None = None
    """The intercepts and the losses at C = 1 that go with the weights above."""
    start: Solved | None = None
    """The solution at the C before, which this problem starts from."""
    before: Solved | None = None
    """The one before that."""
    preconditioner: Any = None
    """What a method wants to find again at the next C."""
    certified: tuple[Point, Vector, Vector] | None = None
    """The latest certificate: a feasible point, and bounds on P and D of each lane."""
    rounding: float = 0.0
    """What its bounds allow for rounding, over all lanes."""
    predicted: tuple[Matrix, Matrix] | None = None
    """Dual variables and weights that a method may start from; no certificate reads them."""
    costs: Costs | None = None
    """Sums over the costs at C = 1."""


def _same(known: Matrix | None, given: Any) -> bool:
    """Whether two arrays are equal; if not, their first entries mostly tell."""
    if known is None or known is given:
        return known is not None
    return bool(np.array_equal(known[:1], given[:1]) and np.array_equal(known, given))


def lane_squares(matrix: Matrix) -> Vector:
    """Return the squared norm of each lane."""
    out = np.empty(matrix.shape[1])
    core.lane_squares(matrix, out)
    return out


@dataclass(frozen=True, eq=False)
class LanesProblem(OnRows):
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

    kind: ClassVar[str] = "problems side by side"

    signed_cost: Matrix
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

    @cached_property
    def core(self) -> core.LanesCore:
        """The compiled kernels on this problem's arrays."""
        return core.LanesCore(
            self.rows.view, self.loss.name, self.signed_cost, self.C, self.threads
        )

    @property
    def lanes(self) -> int:
        """Number of lanes, with padding."""
        return int(self.signed_cost.shape[1])

    def cold_point(self) -> Point:
        """Return nothing but zeros."""
        return Point(
            np.zeros((self.rows.weights, self.lanes)),
            np.zeros(self.lanes),
            np.zeros((self.rows.count, self.lanes)),
        )

    def rescaled(self, factor: float, solution: Point | None = None) -> LanesProblem:
        """Return the problem with all costs multiplied; products of the solution stay known."""
        known = self.products
        kept = Products(preconditioner=known.preconditioner, costs=known.costs)
        if solution is not None and known.w is not None and known.scores is not None:
            if _same(known.w, solution.w):
                kept.w, kept.scores, kept.losses = known.w, known.scores, known.losses
                kept.start = Solved(known.w, solution.b, known.scores)
                kept.before = known.start
            if known.alpha is not None and known.combination is not None:
                kept.alpha = factor * known.alpha
                kept.combination = factor * known.combination
        return replace(self, C=factor * self.C, products=kept)

    def scores(self, w: Matrix) -> Matrix:
        """Return x_i · w_l for every row and lane."""
        known = self.products
        if known.scores is not None and _same(known.w, w):
            return known.scores
        out = np.empty((self.rows.count, self.lanes))
        for begin, end in self._pieces():
            self.rows.view.lane_scores(w, out, begin, end, self.threads)
        return out

    def combine(self, alpha: Matrix) -> Matrix:
        """Return Σ_i α_il y_il x_i for every lane; α comes times its labels."""
        known = self.products
        if known.combination is not None and _same(known.alpha, alpha):
            return known.combination
        total = np.zeros((self.rows.weights, self.lanes))
        for begin, end in self._pieces():
            self.rows.view.lane_accumulate(alpha, total, begin, end, self.threads)
        return total

    def weights_to_start(self, alpha: Matrix) -> Matrix:
        """Return what `combine` does, or what was predicted for these dual variables."""
        predicted = self.products.predicted
        if predicted is not None and _same(predicted[0], alpha):
            return predicted[1]
        return self.combine(alpha)

    def curvature_product(self, curvature: Matrix, direction: Matrix, shift: Vector) -> Matrix:
        """Return Σ h s x with s = x·direction + shift; the last line is Σ h s."""
        total = np.zeros((self.rows.weights + 1, self.lanes))
        for begin, end in self._pieces():
            self.rows.view.lane_curvature_product(
                curvature, direction, shift, total, begin, end, self.threads
            )
        return total

    def terms(
        self,
        scores: Matrix,
        b: Vector,
        alpha: Matrix | None = None,
        curvature: Matrix | None = None,
    ) -> Vector:
        """Return the loss of each lane; fill in the signed dual variables and the curvatures."""
        totals = np.empty((3, self.lanes))
        self.core.terms(scores, b, alpha, curvature, totals)
        return totals[0]

    def terms_along(
        self,
        scores: Matrix,
        b: Vector,
        slopes: Matrix,
        slope_b: Vector,
        t: Vector,
        fill: Any = None,
    ) -> Matrix:
        """Return loss, slope and curvature of each lane at scores + t (slopes + slope_b)."""
        totals = np.empty((3, self.lanes))
        alpha, curvature = (None, None) if fill is None else fill
        self.core.terms_along(scores, b, slopes, slope_b, t, alpha, curvature, totals)
        return totals

    def known_losses(self, w: Matrix, b: Vector, scores: Matrix) -> Vector:
        """Return the loss of each lane, from memory if the last certificate had the same point."""
        known = self.products
        if known.losses is not None and _same(known.w, w):
            at, losses = known.losses
            if np.array_equal(at, b):
                return self.C * losses
        return self.terms(scores, b)

    def primals(self, w: Matrix, losses: Vector) -> Vector:
        """Return P of each lane."""
        return 0.5 * lane_squares(w) + losses

    def dual_values(self, alpha: Matrix, combination: Matrix) -> Vector:
        """Return D of each lane for signed dual variables, brought into their ranges in place.

        The combination is taken as it is given.
        """
        terms = self.dual_terms(self._dual_sums(alpha, None))
        return np.asarray(terms - 0.5 * lane_squares(combination))

    def dual_terms(self, sums: Matrix) -> Vector:
        """Return Σ φ(α_i) of each lane, from the sums that it is made of."""
        if self.loss.dual_quadratic is None:
            return np.asarray(sums[2])
        return np.asarray(sums[0] + sums[1] - sums[3])

    def bring_into_range(self, alpha: Matrix) -> None:
        """Bring signed dual variables into their ranges, in place."""
        self._dual_sums(alpha, None)

    def dual_sums(self, alpha: Matrix) -> Matrix:
        """Return what D is made of, lane by lane, for dual variables that are in their ranges.

        Σ α_i of either sign, the entropies, and Σ α_i² / (4 C s_i).
        """
        return self._dual_sums(np.array(alpha), None)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute the certificate of the sum of all lanes.

        Rounding is allowed for by norms; where it would cost more than `accuracy`, by the longest
        row and by residuals in exact sums.
        """
        feasible, primals, duals = self.certify_lanes(point, accuracy)
        primal, dual = float(primals.sum()), float(duals.sum())
        slack = growth(self.lanes + 4.0) * float(np.abs(primals).sum() + np.abs(duals).sum())
        proof = Certificate.bounds(primal, slack, dual, slack)
        return feasible, replace(proof, rounding=self.products.rounding + 2.0 * slack)

    def certify_lanes(
        self, point: Point, accuracy: float = ACCURACY
    ) -> tuple[Point, Vector, Vector]:
        """Turn a point into a feasible one; return it with bounds on P and D of each lane.

        The bounds hold in exact arithmetic. α is brought into its range; with a free intercept the
        examples of the heavier class are scaled down until Σ α_i y_i = 0, and for the squared hinge
        the whole by the factor that raises D most.
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
        here, off = self._intercepts_here(point.w, b)
        losses = self.known_losses(point.w, here, scores)
        squared_w = lane_squares(point.w)
        primals = 0.5 * squared_w + losses
        known.w, known.scores, known.losses = point.w.copy(), scores, (here, losses / self.C)
        known.alpha, known.combination = alpha, combination
        # 3) dual value, at the best multiple where that has a closed form
        alpha, sums, squared = self._scaled(alpha, combination, sums)
        if self.loss.dual_quadratic is None:
            duals = sums[2] - 0.5 * squared
        else:
            duals = sums[0] + sums[1] - (0.5 * squared + sums[3])
        # 4) what rounding can be worth
        above, below = self._rounding((here, off), squared_w, losses, sums, squared)
        if self.free_intercept:
            below += self._price(primals + above, sums, accuracy, alpha)
        known.rounding = float(above.sum() + below.sum())
        known.certified = (Point(known.w, b, alpha), primals + above, duals - below)
        return known.certified

    def _scaled(
        self, alpha: Matrix, combination: Matrix, sums: Matrix
    ) -> tuple[Matrix, Matrix, Vector]:
        """Return α, its sums and ‖v‖² at the multiple that raises D most."""
        squared = lane_squares(combination)
        if self.loss.dual_quadratic is None:
            return alpha, sums, squared
        linear, quadratic = sums[0] + sums[1], 0.5 * squared + sums[3]
        best = np.divide(linear, 2.0 * quadratic, out=np.ones(self.lanes), where=quadratic > 0.0)
        if np.all(best == 1.0):
            return alpha, sums, squared
        alpha, sums = alpha * best, sums * best
        sums[3] *= best
        self.products.alpha, self.products.combination = alpha, combination * best
        return alpha, sums, squared * best * best

    def _intercepts_here(self, w: Matrix, b: Vector) -> tuple[Vector, Vector]:
        """Return what the intercepts of the given data come to on these rows, and their errors."""
        if self.rows.shift is None:
            return b, np.zeros_like(b)
        here, off = b.copy(), np.zeros_like(b)
        for lane in range(self.used):
            column = np.ascontiguousarray(w[:, lane])
            here[lane], off[lane] = self.rows.intercept_here(column, float(b[lane]))
        return here, off

    def _rounding(
        self,
        b: tuple[Vector, Vector],
        squared_w: Vector,
        losses: Vector,
        sums: Matrix,
        squared: Vector,
    ) -> tuple[Vector, Vector]:
        """Return what to add to the primal and to take from the dual values of the lanes."""
        rows, known = self.rows, self.products
        if known.costs is None:
            known.costs = Costs.of(self.signed_cost)
        costs = known.costs.at(self.C)
        size = Magnitudes(rows.frobenius, rows.longest + 1.0, rows.count, rows.weights)
        length = (1.0 + 1e-6) * np.sqrt(squared_w + size.width * UNDERFLOW)
        above = loss_errors(self.loss, size, costs, length, b, losses)
        above += growth(size.width + 8.0) * squared_w + size.width * UNDERFLOW
        primals = 0.5 * squared_w + losses
        below = dual_errors(self.loss, size, costs, sums, squared)
        last = growth(8.0)
        return above + last * primals, below + last * (sums[0] + sums[1] + squared)

    def _price(self, upper: Vector, sums: Matrix, accuracy: float, alpha: Matrix) -> Vector:
        """Return what the residuals of the intercepts can be worth."""
        known, rows = self.products, self.rows
        assert known.costs is not None
        costs = known.costs.at(self.C)
        norm = (1.0 + 1e-6) * np.sqrt(2.0 * upper)
        residual = np.abs(sums[0] - sums[1]) * (1.0 + 1e-6)
        residual += sum_error(rows.count) * (sums[0] + sums[1])
        price = prices(self.loss, costs, residual, norm, rows.frobenius)
        if float(price.sum()) > 0.1 * accuracy * float(upper.sum()):
            exact = [exact_sum(np.ascontiguousarray(lane)) for lane in alpha.T]
            residual = np.array([abs(value) + error for value, error in exact])
            longest = float(np.sqrt(rows.norms.max())) * (1.0 + 1e-6) + 1e-150
            price = prices(self.loss, costs, (1.0 + 1e-6) * residual, norm, longest)
        return price

    def certificates(self, point: Point) -> list[Certificate]:
        """Return the certificate of each lane at a point."""
        _, primals, duals = self.certify_lanes(point)
        return [Certificate(float(p), float(d)) for p, d in zip(primals, duals, strict=True)]

    def _dual_sums(self, alpha: Matrix, scale: Matrix | None) -> Matrix:
        totals = np.empty((4, self.lanes))
        self.core.dual_sums(scale, alpha, totals)
        return totals

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Yield row ranges short enough for one compiled call, with a checkpoint after each."""
        return self.rows.pieces(self.rows.size.block_product(self.lanes))
