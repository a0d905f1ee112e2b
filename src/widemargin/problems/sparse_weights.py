"""Sparse weights: min ρ‖w‖₁ + ½(1 − ρ)‖w‖² + Σ c_i ℓ(y_i (w·x_i + b)), its dual, its certificate.

With v = Σ α_i y_i x_i the dual is D(α) = Σ φ_i(α_i) − Σ_j max(0, |v_j| − ρ)² / (2(1 − ρ)). For
ρ = 1, the 1-norm alone, the last term is the constraint |v_j| ≤ 1: α is scaled down until it holds
in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.cached import cached_property
from widemargin.data.columns import LastColumns, column_squares
from widemargin.data.quick_init import replaced
from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import DualSums, Loss
from widemargin.problems.margins import Bound, OfMargins
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import (
    ACCURACY,
    UNDERFLOW,
    UNIT,
    ScoreError,
    growth,
    upper_norm,
    worth_repeating,
)

Vector = NDArray[np.float64]

_BALANCED = 1024.0
"""Units in the last place of Σ α_i that Σ α_i y_i may be off and still be priced, not projected."""

_ROUGH = 0.01
"""Share of the accuracy that a bound on rounding may cost in place of a pass over the data."""


@dataclass(frozen=True, eq=False)
class SparseProblem(OfMargins, OnRows):
    """A smooth loss over labelled, weighted rows, with a penalty that makes weights zero.

    Attributes
    ----------
    rows : Rows
        With a constant feature if the intercept is penalised.
    y : ndarray of shape (n,)
        Labels, −1 or +1.
    cost : ndarray of shape (n,)
        c_i = C · sample weight · class weight.
    loss : Loss
        With second derivatives.
    free_intercept : bool
        Whether an unpenalised b is part of the problem; the dual then has Σ α_i y_i = 0.
    l1_ratio : float
        ρ, above 0 and at most 1.
    last_columns : LastColumns
        A copy of some columns that runs at another C share.
    """

    kind: ClassVar[str] = "problems with sparse weights"

    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool
    l1_ratio: float
    last_columns: LastColumns = field(default_factory=LastColumns, repr=False)
    _at_zero: dict[str, tuple[tuple[Any, ...], Vector]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, data: TrainingSet, positive: int, loss: Loss, l1_ratio: float) -> SparseProblem:
        """State the one-vs-rest problem of a class."""
        check_sparse_loss(loss)
        signs, rows = data.signs(positive), data.rows.remembering()
        return cls(rows, signs, data.cost, loss, data.free_intercept, float(l1_ratio))

    @property
    def ridge(self) -> float:
        """1 − ρ, the weight of ½‖w‖²."""
        return 1.0 - self.l1_ratio

    def cold_point(self) -> Point:
        """Return w = 0, b = 0, α = 0."""
        return Point(np.zeros(self.rows.weights), 0.0, np.zeros(self.rows.count))

    def rescaled(self, factor: float) -> SparseProblem:
        """Return the problem with all costs multiplied: another C."""
        return replaced(self, cost=factor * self.cost)

    def subproblem(self, subset: NDArray[np.int64]) -> SparseProblem:
        """Return the problem on some examples, costs raised to stand for their classes."""
        cost, y = self.cost[subset], self.y[subset]
        positive = y > 0.0
        for own, total in zip((positive, ~positive), self.class_costs, strict=True):
            part = float(cost[own].sum())
            cost[own] *= total / part if part > 0.0 else 0.0
        rows = self.rows.take(subset)
        return replaced(self, rows=rows, y=y, cost=cost, last_columns=LastColumns(), _at_zero={})

    def represents(self, subset: NDArray[np.int64]) -> bool:
        """Whether both classes are among some examples."""
        signs = self.y[subset]
        return bool((signs > 0).any() and (signs < 0).any())

    def penalty(self, w: Vector) -> float:
        """Return ρ‖w‖₁ + ½(1 − ρ)‖w‖²."""
        return self.l1_ratio * float(np.abs(w).sum()) + 0.5 * self.ridge * float(w @ w)

    def primal(self, w: Vector, b: float, scores: Vector) -> float:
        """Return P for weights whose scores are known."""
        return self.penalty(w) + self.loss.total(self.y, self.cost, scores, b)

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and intercept, from above, rounding included."""
        return self._compensated_primal(w, b if self.free_intercept else 0.0).upper

    def point_at(self, w: Vector, b: float) -> Point:
        """Return the point with these weights and the dual variables that belong to them."""
        b = b if self.free_intercept else 0.0
        return Point(w, b, self.loss.duals(self.y, self.cost, self.rows.scores(w), b))

    def estimated_dual(self, alpha: Vector, v: Vector) -> float:
        """Return D near α, whose combination is v, without its rounding."""
        sizes, linear = np.abs(v), float(alpha.sum())
        known = self.ridge > 0.0 or self.loss.dual_quadratic is not None
        value = self.loss.dual_total(alpha, self.cost) if known else np.nan
        scale = self._scale(sizes, linear, value)
        if self.loss.dual_quadratic is not None:
            value = scale * (linear - scale * (linear - value))
        elif scale != 1.0 or not known:
            # No factor is above one: the dual variables stay in their ranges.
            value = self.loss.dual_total(scale * alpha if scale != 1.0 else alpha, self.cost)
        return value - self._conjugate(scale, sizes)

    def smallest_factor(self) -> float:
        """Return the factor on the costs up to which all weights are zero at the optimum.

        At w = 0 the best intercept does not depend on it, and all dual variables are proportional
        to it.
        """
        largest = float(np.abs(self.slopes_at_zero).max(initial=0.0))
        return self.l1_ratio / largest if largest > 0.0 else math.inf

    @property
    def slopes_at_zero(self) -> Vector:
        """The v at w = 0 with the best intercept; not computed again for the same problem."""
        key = (self.cost, self.y, self.rows.view)
        known = self._at_zero.get("slopes")
        if known is None or any(now is not then for now, then in zip(key, known[0], strict=True)):
            scores = np.zeros(self.rows.count)
            b = self.best_intercept(scores, 0.0)[0]
            slopes = self.rows.combine(self.loss.duals(self.y, self.cost, scores, b), self.y)
            known = self._at_zero["slopes"] = key, slopes
        return known[1]

    @cached_property
    def column_norms(self) -> Vector:
        """Upper bounds of the norms of the columns; problems at another C share their squares."""
        squares = column_squares(self.rows)
        return np.sqrt(squares * (1.0 + 1e-6) + self.rows.count * UNDERFLOW) * (1.0 + 1e-6)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        α is projected onto its range and Σ α_i y_i = 0, and scaled down to |v_j| ≤ 1 where ρ = 1;
        b becomes the best intercept for w. One pass over the data for the products that the rows do
        not have, and another in compensated sums where rounding would cost more than `accuracy`.
        """
        feasible, (scores, v) = self._products(point)
        b, primal = self._primal_bound(point.w, point.b, scores)
        del scores
        alpha, sums, dual = self._dual_bound(feasible, v, False, accuracy)
        proof = self._proof(primal, dual, sums)
        allowed = accuracy * abs(primal.value)
        if worth_repeating(proof.rounding, primal.value - dual.value, allowed):
            primal = self._compensated_primal(point.w, b)
            feasible = self.feasible(feasible)
            v = self.rows.compensated_combination(feasible, self.y)
            better_alpha, sums, dual = self._dual_bound(feasible, v, True, accuracy)
            better = self._proof(primal, dual, sums)
            if better.gap < proof.gap:
                alpha, proof = better_alpha, better
        return Point(point.w, b, alpha), proof

    def _products(self, point: Point) -> tuple[Vector, tuple[Vector, Vector]]:
        """Return a feasible α, the scores of w, and Σ α_i y_i x_i.

        Where the rows have the sum for α as it is, its residual of an intercept has to be small.
        """
        w, rows = point.w, self.rows
        alpha = self.loss.clip(point.alpha, self.cost)
        v = rows.known_combination(alpha, self.y)
        if self.free_intercept and (v is None or not self._balanced(alpha)):
            alpha, v = self.loss.balance(alpha, self.y, self.cost), None
        scores = self.last_columns.known_scores(rows, w)
        if scores is None and v is None:
            scores, v = rows.scores_and_combination(w, alpha, self.y)
        elif scores is None:
            scores = rows.scores(w)
        elif v is None:
            v = rows.combine(alpha, self.y)
        assert scores is not None
        assert v is not None
        self.last_columns.keep_scores(w, scores)
        return alpha, (scores, v)

    def _balanced(self, alpha: Vector) -> bool:
        """Whether Σ α_i y_i is as near to zero as a projection would bring it."""
        residual, size = float(alpha @ self.y), float(alpha.sum())
        return abs(residual) <= _BALANCED * UNIT * size

    def _conjugate(self, scale: float, v: Vector) -> float:
        """Return Σ max(0, s v_j − ρ)² / (2(1 − ρ)) for v ≥ 0; for ρ = 1 all s v are at most one."""
        if self.ridge == 0.0 or scale == 0.0:
            return 0.0
        over = np.maximum(scale * v - self.l1_ratio, 0.0)
        return float(over @ over) / (2.0 * self.ridge)

    def _scale(self, v: Vector, linear: float, value: float) -> float:
        """Return a factor on α ≥ 0 that raises D, for upper bounds v of |v_j|."""
        largest = float(v.max(initial=0.0))
        if self.ridge == 0.0:
            most = 1.0 if largest <= 1.0 else (1.0 - 16.0 * UNIT) / largest
            quadratic = linear - value
            if self.loss.dual_quadratic and quadratic > 0.0:
                # Σ φ(tα) is a parabola with its top at linear / (2 quadratic).
                top = linear / (2.0 * quadratic)
                most = min(most, top) if top < 1.0 else most
            return most
        inside = min(1.0, self.l1_ratio / largest) if largest > 0.0 else 1.0
        # Concave in the factor, and quadratic but for φ: the slope of φ is at most its mean.
        gain = value * (1.0 - inside) - self._conjugate(1.0, v)
        return inside if gain < 0.0 else 1.0

    def _dual_bound(
        self, alpha: Vector, v: Vector, compensated: bool, accuracy: float
    ) -> tuple[Vector, DualSums, Bound]:
        """Return α where it is feasible, its sums, and D but for the residual of an intercept."""
        sums = self.loss.dual_sums(self.y, self.cost, alpha)
        sizes = np.abs(v)
        upper = sizes + self._combination_errors(v, sums, compensated, accuracy)
        scale = self._scale(upper, sums.linear, sums.value)
        if not scale > 0.0:  # sums that overflow prove nothing
            alpha, scale = np.zeros_like(alpha), 0.0
        elif scale != 1.0:
            alpha = self.loss.clip(scale * alpha, self.cost)
        if scale != 1.0:
            sums = self.loss.dual_sums(self.y, self.cost, alpha)
        lost = self._conjugate(scale, upper)
        value, allowance = self.dual_term_bound(sums)
        exact = self._conjugate(scale, sizes)
        beyond = lost - exact + growth(self.rows.weights + 16.0) * lost
        return alpha, sums, Bound(value - exact, allowance + beyond)

    def _combination_errors(
        self, v: Vector, sums: DualSums, compensated: bool, accuracy: float
    ) -> Vector | float:
        """Return bounds on |v_j − fl(v_j)|, and on what scaling α by a factor below one rounds.

        A column is no longer than all of them together: their own norms, which take a pass, are
        computed where that bound would cost more than a hundredth of the accuracy.
        """
        count = self.rows.count
        norm = upper_norm(sums.squares, count)
        share = growth(count + 16.0)
        own: Vector | float = 0.0
        if compensated:
            share = 4.0 * growth(count + 16.0) ** 2 + 2.0 * UNIT
            own = 4.0 * UNIT * np.abs(v)

        def errors(lengths: Any) -> Any:
            # Products and dual variables can vanish below the normal numbers.
            lost = count * UNDERFLOW * (1.0 + lengths)
            return share * norm * lengths * (1.0 + 1e-6) + lost

        rough = errors(self.rows.frobenius)
        known = rough <= _ROUGH * accuracy * self.l1_ratio and not compensated
        return float(rough) if known else np.asarray(errors(self.column_norms) + own)

    def _primal_bound(self, w: Vector, b: float, scores: Vector) -> tuple[float, Bound]:
        """Return the best intercept at hand and P there."""
        size, length = self.scale, upper_norm(float(w @ w), w.size)
        best, known = np.inf, Bound(np.inf, 0.0)
        for candidate in self.best_intercept(scores, b):
            at, error = self.rows.intercept_here(w, candidate)
            # Of a second one it is enough to know that it is no better.
            if known.value < np.inf:
                total = self.loss.total(self.y, self.cost, scores, at)
                if total >= known.value:
                    continue
            about = ScoreError.plain(size, length, at, error)
            sums = self.loss.sums(self.y, self.cost, scores, at, about.reach(size))
            best, known = candidate, self.loss_bound(sums, size, about)
        return best, self._with_weights(known, w)

    def _compensated_primal(self, w: Vector, b: float) -> Bound:
        """Return P at an intercept from scores in compensated sums."""
        size = self.scale
        at, low, error = self.rows.exact_intercept_here(w, b)
        scores = self.rows.compensated_scores(w, (at, low))
        about = ScoreError.compensated(size, upper_norm(float(w @ w), w.size), at, error)
        spread = upper_norm(float(scores @ scores), scores.size)
        sums = self.loss.sums(self.y, self.cost, scores, 0.0, about.reach(size, spread))
        return self._with_weights(self.loss_bound(sums, size, about, spread), w)

    def _with_weights(self, loss: Bound, w: Vector) -> Bound:
        """Return the bound of the penalty plus losses."""
        penalty = self.penalty(w)
        beyond = growth(w.size + 16.0) * penalty + w.size * UNDERFLOW
        return Bound(penalty + loss.value, loss.allowance + beyond)

    def _proof(self, primal: Bound, dual: Bound, sums: DualSums) -> Certificate:
        """Return the certificate, the residual of a free intercept priced."""
        residual, upper = self.residual_of(sums), primal.value + primal.allowance
        price = 0.0
        if residual > 0.0:
            upper *= 2.0  # room: rounding the weights to float32 may raise P that far
            # P bounds both norms of the optimal weights.
            norm = upper / self.l1_ratio
            if self.ridge > 0.0:
                norm = min(norm, math.sqrt(2.0 * upper / self.ridge))
            longest = float(np.sqrt(self.rows.norms.max())) * (1.0 + 1e-6) + 1e-150
            price = self.price_of(residual, norm * (1.0 + 1e-6), longest)
        return Certificate.bounds(*primal, dual.value, dual.allowance + price)


def leads_near(X: Any) -> bool:
    """Whether rows are so many that a sample of them leads near the solution.

    Few steps on all of them are left then, on few columns: too few to make up for a dense copy.
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] >= MACHINE.rows_of_samples * shape[1]


def check_sparse_loss(loss: Loss) -> None:
    """Raise an error for a loss without second derivatives, which the methods need."""
    if not loss.smooth:
        raise ValueError(
            f"the 1-norm needs a smooth loss, which {loss.name!r} is not: use "
            "loss='squared_hinge', or LogisticRegression"
        )


def check_joint_penalty(rule: str, l1_ratio: float) -> None:
    """Raise an error for the 1-norm with the joint rules of the hinge, which is not smooth."""
    if l1_ratio and rule not in ("ovr", "multinomial"):
        raise ValueError(
            f"the 1-norm is not supported with multi_class={rule!r}: use multi_class='ovr'"
        )


def least_subgradient(problem: Any, w: Vector, v: Vector) -> Vector:
    """Return the shortest subgradient of P at w, where v = Σ α_i y_i x_i belongs to w."""
    rho = float(problem.l1_ratio)
    smooth = (1.0 - rho) * w - v
    shrunk = np.sign(smooth) * np.maximum(np.abs(smooth) - rho, 0.0)
    return np.where(w == 0.0, shrunk, smooth + rho * np.sign(w))
