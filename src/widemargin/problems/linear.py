"""Losses of scores: min ½‖w‖² + Σ c_i ℓ_i(y_i (w·x_i + b)), their dual, their certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.power_iteration import largest_eigenvalue
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import DualSums, Loss
from widemargin.problems.margins import Bound, OfMargins
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import (
    ACCURACY,
    ROUNDING_SHARE,
    ScoreError,
    combination_error,
    half_square_error,
    upper_norm,
    worth_repeating,
)

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]

_EXACT = 0.01
"""Share of the gap that is wanted by which the best multiple of the weights may be missed."""


@dataclass(frozen=True, eq=False)
class LinearProblem(OfMargins, OnRows):
    """A loss of the scores of weighted rows, and a penalty on the weights.

    Attributes
    ----------
    rows : Rows
        With a constant feature if the intercept is penalised.
    y : ndarray of shape (n,)
        Signs of the scores, −1 or +1.
    cost : ndarray of shape (n,)
        c_i = C · sample weight · class weight.
    loss : Loss
    free_intercept : bool
        Whether an unpenalised b is part of the problem; the dual then has Σ α_i y_i = 0.
    """

    l1_ratio: ClassVar[float] = 0.0
    """The penalty is ½‖w‖² alone; `SparseProblem` has others."""
    has_sides: ClassVar[bool] = False
    """Whether an example with a negative margin is on the wrong side."""
    has_faces: ClassVar[bool] = False
    """Whether sweeps solve for the dual variables that are at no bound, once these are settled."""

    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool

    def watched(self, checkpoint: Callable[[], None]) -> Self:
        """Return the same problem, calling `checkpoint` between compiled calls.

        What was computed from the data alone holds there too.
        """
        problem = object.__new__(type(self))
        problem.__dict__.update(self.__dict__, rows=self.rows.watched(checkpoint))
        return problem

    @property
    def level(self) -> Any:
        """The margin from which an example has no loss; a number, or one per example."""
        return 1.0

    def cold_point(self) -> Point:
        """Return w = 0, b = 0, α = 0."""
        return Point(np.zeros(self.rows.weights), 0.0, np.zeros(self.rows.count))

    def rescaled(self, factor: float) -> Self:
        """Return the problem with all costs multiplied: another C."""
        return replace(self, cost=factor * self.cost)

    def subproblem(self, subset: NDArray[np.int64]) -> Self:
        """Return the problem on some examples, their costs raised to stand for all of them."""
        rows, cost = self.rows, self.rows.gather(self.cost, subset)
        cost *= rows.sum(self.cost) / rows.sum(cost)
        return replace(self, rows=rows.take(subset), y=rows.gather(self.y, subset), cost=cost)

    def represents(self, subset: NDArray[np.int64]) -> bool:
        """Whether some examples have a say in everything that all of them do."""
        return True

    def primal(self, w: Vector, b: float, scores: Vector) -> float:
        """Return P for weights whose scores are known."""
        return 0.5 * float(w @ w) + self.loss.total(self.y, self.cost, scores, b)

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and intercept, from above, rounding included."""
        bound = self._compensated_at(w, b if self.free_intercept else 0.0)[2]
        return bound.upper

    def primal_below(self, w: Vector, b: float, enough: float) -> Bound:
        """Bound P there, from ordinary sums where they tell whether it is at most `enough`."""
        b = b if self.free_intercept else 0.0
        # Remembered scores may have been added up step by step, which proves nothing.
        squared = float(w @ w)
        loss = self._plain_bound(w, b, self.rows.remembering(False).scores(w), squared)
        bound = _with_weights(loss, squared, w.size)
        if bound.upper <= enough or bound.value - bound.allowance > enough:
            return bound
        return self._compensated_at(w, b)[2]

    def residual(self, alpha: Vector) -> float:
        """Return Σ α_i y_i, which a free intercept wants to be zero."""
        return self.rows.dot(alpha, self.y)

    @property
    def linear_intercept(self) -> float:
        """The slope of P in b, beside that of the losses."""
        return 0.0

    def magnitude(self, primal: float) -> float:
        """Return what gaps at P are relative to."""
        return max(primal, 0.0)

    def relative(self, gap: float, primal: float) -> float:
        """Return a gap as a share of P, which may be zero where nothing is lost."""
        if primal > 0.0:
            return gap / primal
        return 0.0 if gap == 0.0 else np.inf

    def dual(self, alpha: Vector, combination: Vector) -> float:
        """Return D for feasible α whose combination Σ α_i y_i x_i is known."""
        return self.loss.dual_total(alpha, self.cost) - 0.5 * float(combination @ combination)

    def estimated_dual(self, alpha: Vector, combination: Vector) -> float:
        """Return D as `dual` does: any α in its range is feasible but for an intercept."""
        return self.dual(alpha, combination)

    def point_at(self, w: Vector, b: float) -> Point:
        """Return the point with these weights and the dual variables that belong to them."""
        scores = self.rows.scores(w)
        b = b if self.free_intercept else 0.0
        return Point(w, b, self.loss.duals(self.y, self.cost, scores, b))

    @property
    def diagonal(self) -> Vector:
        """The squared norms of the rows: the diagonal of X Xᵀ."""
        return self.rows.norms

    def image(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the weights Xᵀ(yα) of dual variables, and their scores."""
        w = self.rows.combine(alpha, self.y)
        return w, self.rows.scores(w)

    def largest_curvature(self, seed: int) -> float:
        """Return σ₁(X)², raised by one percent."""
        rows, ones = self.rows, np.ones(self.rows.count)
        return 1.01 * largest_eigenvalue(
            lambda v: rows.curvature_product(ones, v, 0.0)[0], rows.weights, seed
        )

    def exact_intercept(self, w: Vector, b: float) -> tuple[float, float, float]:
        """Return what a model's rounded intercept comes to here, in two parts, and its error.

        See `Rows.exact_intercept_here`.
        """
        return self.rows.exact_intercept_here(w, b)

    @property
    def offset_error(self) -> float:
        """How far what the loss compares a score with can be off."""
        return 0.0

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        α is projected onto the dual's feasible set and scaled by the factor that raises D most; b
        becomes the best intercept for w, and w a multiple of itself where that proves what is
        asked for. One pass over the data, half of another where w changes, and one in compensated
        sums where rounding would cost more than `accuracy`.
        """
        # 1) a feasible dual point, and everything the data have to say about (w, α)
        alpha = self.feasible(point.alpha)
        scores, v = self.rows.scores_and_combination(point.w, alpha, self.y)
        # 2) dual variables at their best multiple
        alpha, v, sums = self._scaled(alpha, v)
        # 3) both values, and what rounding can be worth
        b, primal = self._primal_bound(point.w, point.b, scores)
        dual = self._dual_bound(sums, v, False)
        wanted = accuracy / ROUNDING_SHARE * abs(primal.value)
        scale = self._weight_scale(point.w, b, scores, (primal.value, dual.value), wanted)
        if scale != 1.0:
            moved = Point(scale * point.w, scale * b, alpha)
            there = self.rows.scores(moved.w)
            best, lower = self._primal_bound(moved.w, moved.b, there)
            if lower.value - dual.value <= accuracy / ROUNDING_SHARE * abs(lower.value):
                point, scores, b, primal = moved, there, best, lower
        lost = self._lost_by_rounding(point.w, b, scores, accuracy * primal.value)
        del scores
        proof = self._proof(primal, dual, sums, accuracy)
        allowed = accuracy * abs(primal.value)
        if worth_repeating(proof.rounding, primal.value - lost - dual.value, allowed):
            other, primal = self._compensated_primal(point.w, b, allowed)
            dual = self._dual_bound(sums, self.rows.compensated_combination(alpha, self.y), True)
            better = self._proof(primal, dual, sums, accuracy)
            if better.gap < proof.gap:
                lost = lost if other == b else 0.0
                b, proof = other, better
        if lost > 0.0:
            proof = replace(proof, rounding=proof.rounding + lost)
        return Point(point.w, b, alpha), proof

    def with_duals(self, certificate: Certificate, alpha: Vector) -> Certificate:
        """Return a certificate with what other dual variables, in their ranges, prove."""
        sums = self.loss.dual_sums(self.y, self.cost, alpha)
        dual = self._dual_bound(sums, self.rows.combine(alpha, self.y), False)
        proof = self._proof(Bound(certificate.primal, 0.0), dual, sums, ACCURACY)
        rounding = max(certificate.rounding, proof.rounding)
        return Certificate(certificate.primal, proof.dual, rounding)

    def _scaled(self, alpha: Vector, v: Vector) -> tuple[Vector, Vector, DualSums]:
        """Return α, its combination and its sums at the multiple that raises D most."""
        sums, squared = self.loss.dual_sums(self.y, self.cost, alpha), float(v @ v)
        scale = self.loss.best_scale(alpha, self.cost, sums, squared)
        if scale != 1.0:
            other = self.loss.clip(self.rows.scaled(alpha, scale), self.cost)
            there = self.loss.dual_sums(self.y, self.cost, other)
            if there.value - 0.5 * scale * scale * squared > sums.value - 0.5 * squared:
                return other, scale * v, there
        return alpha, v, sums

    def _weight_scale(
        self, w: Vector, b: float, scores: Vector, values: tuple[float, float], wanted: float
    ) -> float:
        """Return the t at which P(tw, tb) may come within a gap of D, or one where none can.

        Where nearly all margins can be reached, C weighs the little by which some are missed; a
        slightly larger w misses none. ½ t² ‖w‖² makes P so convex in t that from the slope g at one
        there is at most g² / (2 ‖w‖²) to gain, within |g| / ‖w‖² of one. Where that is not enough
        to end a run, w stays: methods that take over want weights that belong to α.

        Parameters
        ----------
        w, b, scores
        values : tuple of float
            P and D.
        wanted : float
            The gap that would be enough.
        """
        squared, gap = float(w @ w), values[0] - values[1]
        smooth = self.loss.smooth  # then g is near zero
        if smooth or not (0.0 < squared < np.inf and wanted < gap < np.inf):
            return 1.0
        push = self.linear_intercept * b

        def slope(step: float) -> float:
            t = 1.0 + step
            duals = self.loss.duals(self.y, self.cost, t * scores, t * b)
            return t * squared + push - float(duals @ (self.y * (scores + b)))

        if self.loss.linear_dual and self.loss.of_margins:
            # Without new vectors: Σ c m over m < 1 is Σ c there, less the losses.
            sums = self.loss.sums(self.y, self.cost, scores, b)
            at_one = squared + push - (sums.slopes - sums.total)
        else:
            at_one = slope(0.0)
        if not gap - wanted <= at_one * at_one / (2.0 * squared) < np.inf:
            return 1.0
        near, far = 0.0, -at_one / squared
        while abs(at_one * (far - near)) > _EXACT * wanted:
            middle = 0.5 * (near + far)
            if not min(near, far) < middle < max(near, far):
                break
            near, far = (middle, far) if slope(middle) * at_one > 0.0 else (near, middle)
        found = 1.0 + 0.5 * (near + far)
        return found if found > 0.0 else 1.0

    def _primal_bound(self, w: Vector, b: float, scores: Vector) -> tuple[float, Bound]:
        """Return the best intercept at hand and P there."""
        best, known, squared = np.inf, Bound(np.inf, 0.0), float(w @ w)
        for candidate in self.best_intercept(scores, b):
            # Of a second one it is enough to know that it is no better.
            if known.value < np.inf:
                at = self.exact_intercept(w, candidate)[0]
                if self.loss.total(self.y, self.cost, scores, at) >= known.value:
                    continue
            best, known = candidate, self._plain_bound(w, candidate, scores, squared)
        return best, _with_weights(known, squared, w.size)

    def _plain_bound(self, w: Vector, b: float, scores: Vector, squared: float) -> Bound:
        """Return Σ c_i ℓ_i at an intercept, from ordinary sums; ‖w‖² is `squared`."""
        size, (at, low, error) = self.scale, self.exact_intercept(w, b)
        length = upper_norm(squared, w.size)
        about = ScoreError.plain(size, length, at, error + abs(low) + self.offset_error)
        sums = self.loss.sums(self.y, self.cost, scores, at, about.reach(size))
        return self.loss_bound(sums, size, about)

    def _lost_by_rounding(self, w: Vector, b: float, scores: Vector, allowed: float) -> float:
        """Return what P would be lower by if the intercept of the given data were not rounded.

        It has its last digit where shifted columns lie, and that digit can be worth more than is
        `allowed`.
        """
        if not self.free_intercept:
            return 0.0
        at = self.exact_intercept(w, b)[0]
        if not allowed < abs(at - b) * sum(self.class_costs) < np.inf:
            return 0.0
        here, there = (self.loss.total(self.y, self.cost, scores, c) for c in (at, b))
        return max(0.0, float(here - there))

    def _compensated_primal(self, w: Vector, b: float, allowed: float) -> tuple[float, Bound]:
        """Return P at an intercept from scores in compensated sums, and the intercept.

        Where rounding costs more than is allowed, it moves so that margins at a kink are beyond it
        by what they can be off: that can cost one side little, and spare the other the allowance.
        """
        scores, reach, primal = self._compensated_at(w, b)
        if self.free_intercept and primal.allowance > allowed:
            digit = float(np.spacing(abs(self.rows.given_intercept(w, b))))
            worse = scores - (2.0 * reach + digit) * self.y
            other = b + self.loss.best_intercept(self.y, self.cost, worse, 0.0)
            if math.isfinite(other) and other != b:
                moved = self._compensated_at(w, other)[2]
                if moved.upper < primal.upper:
                    return other, moved
        return b, primal

    def _compensated_at(self, w: Vector, b: float) -> tuple[Vector, float, Bound]:
        """Return the compensated scores with the intercept, how far they can be off, and P."""
        squared, size = float(w @ w), self.scale
        at, low, error = self.exact_intercept(w, b)
        scores = self.rows.compensated_scores(w, (at, low))
        error += self.offset_error
        about = ScoreError.compensated(size, upper_norm(squared, w.size), at, error)
        spread = upper_norm(float(scores @ scores), scores.size)
        reach = about.reach(size, spread)
        sums = self.loss.sums(self.y, self.cost, scores, 0.0, reach)
        bound = self.loss_bound(sums, size, about, spread)
        return scores, reach, _with_weights(bound, squared, w.size)

    def _dual_bound(self, sums: DualSums, v: Vector, compensated: bool) -> Bound:
        """Return D, but for the residual of a free intercept."""
        squared, size = float(v @ v), self.scale
        own = upper_norm(squared, v.size)
        norm = upper_norm(sums.squares, size.count)
        off = combination_error(size, norm, compensated, own)
        value, allowance = self.dual_term_bound(sums)
        return Bound(value - 0.5 * squared, allowance + half_square_error(squared, size.width, off))

    def _proof(self, primal: Bound, dual: Bound, sums: DualSums, accuracy: float) -> Certificate:
        """Return the certificate, the residual of a free intercept priced."""
        residual, upper = self.residual_of(sums), primal.value + primal.allowance
        price = 0.0
        if residual > 0.0:
            # With room for twice the P: rounding the weights to float32 may raise it that far.
            norm = 2.0 * float(np.sqrt(upper)) * (1.0 + 1e-6)
            price = self.price_of(residual, norm, self.rows.frobenius)
            if price > 0.1 * accuracy * upper:
                longest = float(np.sqrt(self.rows.norms.max())) * (1.0 + 1e-6) + 1e-150
                price = self.price_of(residual, norm, longest)
        return Certificate.bounds(*primal, dual.value, dual.allowance + price)


def _with_weights(loss: Bound, squared: float, count: int) -> Bound:
    """Return the bound of ½‖w‖² plus losses."""
    return Bound(0.5 * squared + loss.value, loss.allowance + half_square_error(squared, count))
