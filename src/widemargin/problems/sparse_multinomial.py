"""Multinomial logistic regression with sparse weights: its dual and its certificate.

The penalty is ρ‖W‖₁ + ½(1 − ρ)‖W‖², as in `widemargin.problems.sparse_weights`. With V = W(A), the
weights that dual variables A stand for, the dual is D(A) = −Σ A_ij log(A_ij / c_i) − Σ_jl max(0,
|V_jl| − ρ)² / (2(1 − ρ)). For ρ = 1 the last term is the constraint |V_jl| ≤ 1. Moving A towards
the own classes, t A + (1 − t) c_i [y_i = j], scales V by t and stays on the simplex.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.margins import Bound
from widemargin.problems.multinomial_bounds import (
    compensated_losses,
    entropy_bound,
    plain_entries,
    rivals_residual,
    simplex_error,
    sums_of_rivals,
)
from widemargin.problems.rounding import ACCURACY, UNDERFLOW, UNIT, growth, worth_repeating
from widemargin.problems.softmax import SoftmaxProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseMultinomialProblem(SoftmaxProblem):
    """Minimise ρ‖W‖₁ + ½(1 − ρ)‖W‖² + Σ c_i (log Σ_j exp(s_ij) − s_iy), s_ij = w_j·x_i + b_j.

    Attributes
    ----------
    l1_ratio : float
        ρ, above 0 and at most 1.
    """

    kind: ClassVar[str] = "multinomial problems with sparse weights"

    l1_ratio: float = 1.0

    @classmethod
    def of(cls, data: TrainingSet, l1_ratio: float) -> SparseMultinomialProblem:
        """State the problem of all classes at once."""
        label, k = data.codes.astype(np.int32), int(data.classes.size)
        intercept = data.free_intercept
        return cls(data.rows, label, data.cost, k, intercept, l1_ratio=float(l1_ratio))

    @property
    def ridge(self) -> float:
        """1 − ρ, the weight of ½‖W‖²."""
        return 1.0 - self.l1_ratio

    def penalty(self, w: Matrix) -> float:
        """Return ρ‖W‖₁ + ½(1 − ρ)‖W‖²."""
        return self.l1_ratio * float(np.abs(w).sum()) + 0.5 * self.ridge * float(np.vdot(w, w))

    def primal_at(self, w: Matrix, b: Vector) -> float:
        """Return P at any weights and intercepts, from above, rounding included."""
        b = np.asarray(b, dtype=np.float64) if self.free_intercept else np.zeros(self.classes)
        loss = compensated_losses(self.rows, self.label, self.cost, w, b)
        return self._with_weights(loss, w).upper

    def gradient_at(self, w: Matrix, b: Vector) -> tuple[Matrix, Vector]:
        """Return the shortest subgradient of the objective, to W and to b."""
        combination, residual = self.combine(self.padded(self.point_at(w, b).alpha))
        k, rho = self.classes, self.l1_ratio
        smooth = self.ridge * w - combination[:, :k].T
        shrunk = np.sign(smooth) * np.maximum(np.abs(smooth) - rho, 0.0)
        slope = -residual[:k] if self.free_intercept else np.zeros(k)
        return np.where(w == 0.0, shrunk, smooth + rho * np.sign(w)), slope

    def smallest_factor(self) -> float:
        """Return the factor on the costs up to which all weights are zero at the optimum.

        There the probabilities are the shares of the classes if intercepts are free, else even.
        """
        shares = self.masses / self.masses.sum()
        even = shares if self.free_intercept else np.full(self.classes, 1.0 / self.classes)
        combination, _ = self.combine(self.padded(self.cost[:, None] * even))
        largest = float(np.abs(combination[:, : self.classes]).max(initial=0.0))
        return self.l1_ratio / largest if largest > 0.0 else math.inf

    @cached_property
    def column_norms(self) -> Vector:
        """Upper bounds of the norms of the columns."""
        squares = self.rows.curvature_diagonal(np.ones(self.rows.count))
        return np.sqrt(squares * (1.0 + 1e-6) + self.rows.count * UNDERFLOW) * (1.0 + 1e-6)

    def estimated_dual(self, duals: Matrix, v: Matrix) -> float:
        """Return D near padded dual variables, whose combination is v, without its rounding."""
        size = np.abs(v)
        entropy = self._entropy(duals)
        scale = self._scale(size, entropy)
        if scale != 1.0:
            entropy = self._entropy(self._towards_own(duals, scale))
        return entropy - self._conjugate(scale * size)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        A is brought onto the simplex of each example, rid of its residual where intercepts are
        free, and moved towards the examples' own classes where V is too large. One pass over the
        data, and one per class in compensated sums where rounding would cost more than `accuracy`.
        """
        k = self.classes
        duals = self.feasible(point.alpha)
        passed = self._passed(point, duals)
        primal = self._with_weights(passed.loss, point.w)
        # 1) as the pass has it
        theta = simplex_error(duals[:, :k], self.cost)
        error = plain_entries(self.scale, self.cost, theta) * self.column_norms
        v = passed.combination[:, :k].T
        moved, dual = self._dual_bound(duals, v, np.broadcast_to(error, v.shape))
        theta = simplex_error(moved[:, :k], self.cost)
        left = float(np.abs(self.residual(moved)).sum())
        left += 2.0 * (theta + growth(self.rows.count + 8.0)) * float(self.cost.sum())
        proof = self._proof(primal, dual, left)
        # 2) in compensated sums
        allowed = accuracy * abs(primal.value)
        possible = primal.value - self.estimated_dual(duals, v)
        # Staying below a bound on V costs more than the rounding that the proof counts.
        if worth_repeating(proof.gap - possible, possible, allowed):
            primal = self._with_weights(
                compensated_losses(self.rows, self.label, self.cost, point.w, passed.b), point.w
            )
            rivals = self.coefficients(duals[:, :k])
            v, errors = sums_of_rivals(
                self.rows, rivals, self.cost, simplex_error(duals[:, :k], self.cost)
            )
            again, dual = self._dual_bound(duals, v, np.outer(errors, self.column_norms))
            theta = simplex_error(again[:, :k], self.cost)
            left = rivals_residual(self.coefficients(again[:, :k]), self.cost, theta)
            better = self._proof(primal, dual, left)
            if better.gap < proof.gap:
                moved, proof = again, better
        return Point(point.w, passed.b, moved[:, :k]), proof

    def _entropy(self, duals: Matrix) -> float:
        return sum(self.core.entropy(duals, begin, end) for begin, end in self.pieces())

    def _conjugate(self, size: Matrix) -> float:
        """Return Σ max(0, |v| − ρ)² / (2(1 − ρ)); for ρ = 1 all |v| are at most one."""
        if self.ridge == 0.0:
            return 0.0
        over = np.maximum(size - self.l1_ratio, 0.0)
        return float(np.vdot(over, over)) / (2.0 * self.ridge)

    def _scale(self, size: Matrix, entropy: float) -> float:
        """Return how far towards A to stay so that D is large, for upper bounds of |V|."""
        largest = float(size.max(initial=0.0))
        if self.ridge == 0.0:
            return 1.0 if largest <= 1.0 else (1.0 - 16.0 * UNIT) / largest
        inside = min(1.0, self.l1_ratio / largest) if largest > 0.0 else 1.0
        # The entropy is concave and zero at the own classes: a share t keeps at least t of it.
        gain = entropy * (1.0 - inside) - self._conjugate(size)
        return inside if gain < 0.0 else 1.0

    def _towards_own(self, duals: Matrix, scale: float) -> Matrix:
        """Return t A + (1 − t) c_i [y_i = j]."""
        moved = scale * duals
        moved[np.arange(self.rows.count), self.label] += (1.0 - scale) * self.cost
        self.core.feasible(moved, 0, self.rows.count)
        return moved

    def _dual_bound(self, duals: Matrix, v: Matrix, errors: Matrix) -> tuple[Matrix, Bound]:
        """Return dual variables where they are feasible, and D but for the residual."""
        upper = np.abs(v) + errors
        scale = self._scale(upper, self._entropy(duals))
        if not scale > 0.0:  # sums that overflow prove nothing
            scale = 0.0
        moved = duals if scale == 1.0 else self._towards_own(duals, scale)
        entropy = entropy_bound(
            self.scale,
            self.cost,
            self._entropy(moved),
            simplex_error(moved[:, : self.classes], self.cost),
        )
        lost = self._conjugate(scale * upper) if scale else 0.0
        exact = self._conjugate(scale * np.abs(v)) if scale else 0.0
        beyond = lost - exact + growth(v.size + 16.0) * lost
        return moved, Bound(entropy.value - exact, entropy.allowance + beyond)

    def _with_weights(self, loss: Bound, w: Matrix) -> Bound:
        """Return the bound of the penalty plus losses."""
        penalty = self.penalty(w)
        beyond = growth(w.size + 16.0) * penalty + w.size * UNDERFLOW
        return Bound(penalty + loss.value, loss.allowance + beyond)

    def _proof(self, primal: Bound, dual: Bound, left: float) -> Certificate:
        """Return the certificate, a residual of this size priced where intercepts are free."""
        price = 0.0
        if self.free_intercept:
            upper = primal.value + primal.allowance
            upper *= 2.0  # room: rounding the weights to float32 may raise P that far
            # P bounds both norms of the optimal weights; ‖w_j − w_l‖ ≤ ‖W‖₁ and ≤ √2 ‖W‖.
            norm = upper / self.l1_ratio
            if self.ridge > 0.0:
                norm = min(norm, 2.0 * math.sqrt(upper / self.ridge))
            price = self._price(left, norm * (1.0 + 1e-6))
        return Certificate.bounds(*primal, dual.value, dual.allowance + price)
