"""What the multinomial problems share: scores, probabilities and dual variables of all classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.instruction_sets import core
from widemargin.linalg.cholesky import cholesky
from widemargin.problems.certificate import Point
from widemargin.problems.margins import Bound
from widemargin.problems.multinomial_bounds import loss_error
from widemargin.problems.multinomial_passes import BlockedPasses, Passes, WholePasses
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import Magnitudes

if TYPE_CHECKING:
    from typing_extensions import Self

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_MOST_ROUNDS = 8
"""Rounds of Newton's method that rid dual variables of their residual: it converges in three."""

_FAR = 4.0
"""The largest change of an intercept in one of them."""


class Passed(NamedTuple):
    """What one pass over the data says of weights and of dual variables."""

    b: Vector
    """Intercepts that sum to zero: only their differences count."""
    loss: Bound
    """Σ c_i ℓ_i at the weights."""
    combination: Matrix
    """The padded weights that the dual variables stand for."""
    residual: Vector
    entropy: float
    """−Σ A_ij log(A_ij / c_i)."""


@dataclass(frozen=True, eq=False)
class SoftmaxProblem(OnRows):
    """Losses log Σ_j exp(s_ij) − s_iy with s_ij = w_j·x_i + b_j; the penalty is left open.

    A point has w of shape (k, d), b of shape (k,), and as alpha the dual variables A of shape
    (n, k): A_ij ≥ 0, Σ_j A_ij = c_i. They stand for the weights w_j = Σ_i (c_i [y_i = j] − A_ij)
    x_i.

    Attributes
    ----------
    rows : Rows
        With a constant feature if the intercept is penalised.
    label : ndarray of int32, shape (n,)
        The class of each example, from 0 to k − 1.
    cost : ndarray of shape (n,)
        c_i = C · sample weight · class weight.
    classes : int
        k.
    free_intercept : bool
        Whether unpenalised b are part of the problem; the dual then has
        r_j = Σ_i (c_i [y_i = j] − A_ij) = 0.
    """

    label: NDArray[np.int32]
    cost: Vector
    classes: int
    free_intercept: bool
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def core(self) -> core.MultinomialCore:
        """The compiled loops over the data."""
        if "core" not in self._kept:
            self._kept["core"] = core.MultinomialCore(
                self.rows.view, self.label, self.cost, self.classes
            )
        return self._kept["core"]

    @property
    def stride(self) -> int:
        """Classes, and padding up to whole vector registers."""
        return int(core.padded_classes(self.classes))

    @property
    def masses(self) -> Vector:
        """The summed costs of each class."""
        if "masses" not in self._kept:
            self._kept["masses"] = np.bincount(self.label, self.cost, self.classes)
        return np.asarray(self._kept["masses"])

    def rescaled(self, factor: float) -> Self:
        """Return the problem with all costs multiplied: another C."""
        return replace(self, cost=factor * self.cost, _kept={})

    def take(self, subset: NDArray[np.int64], factor: float = 1.0) -> Self:
        """Return the problem of some of the examples, with their costs multiplied."""
        return replace(
            self,
            rows=self.rows.take(subset),
            label=self.label[subset],
            cost=factor * self.cost[subset],
            _kept={},
        )

    def cold_point(self) -> Point:
        """Return W = 0 and b = 0, and the dual variables that stand for W = 0."""
        alpha = np.zeros((self.rows.count, self.classes))
        alpha[np.arange(self.rows.count), self.label] = self.cost
        return Point(np.zeros((self.classes, self.rows.weights)), np.zeros(self.classes), alpha)

    def padded(self, values: Any) -> Matrix:
        """Copy (n, k) or (k,) values to a column for each class, padded by zeros."""
        values = np.asarray(values)
        out = np.zeros((*values.shape[:-1], self.stride))
        out[..., : self.classes] = values
        return out

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Yield row ranges short enough for one compiled call, with a checkpoint after each."""
        return self.rows.pieces(self.rows.size.class_pass(self.stride))

    def descent_at_zero(self) -> tuple[Matrix, Vector]:
        """Return minus the gradient of the losses at W = 0 and b = 0, to W and to b."""
        even = np.broadcast_to(self.cost[:, None] / self.classes, (self.rows.count, self.classes))
        combination, residual = self.combine(self.padded(even))
        return combination[:, : self.classes].T, residual[: self.classes]

    @property
    def passes(self) -> Passes:
        """The loops over the data: over all rows, or block by block."""
        return BlockedPasses(self) if self.rows.blocked else WholePasses(self)

    def scores(self, weights: Matrix, start: Vector) -> Matrix:
        """Return W x_i + start, for padded weights (d, stride)."""
        out = self.passes.scores(weights, start)
        self.meter.add(self.rows.size.class_product(self.stride))
        return out

    def terms(self, scores: Matrix, out: Matrix) -> float:
        """Write the dual variables at padded scores to `out`; return Σ c_i ℓ_i."""
        total = self.passes.terms(scores, out)
        self.meter.add(self.rows.size.softmax(self.stride))
        return total

    def combine(self, duals: Matrix) -> tuple[Matrix, Vector]:
        """Return W(A), of shape (d, stride), and r(A), for padded dual variables."""
        found = self.passes.combine(duals)
        self.meter.add(self.rows.size.class_product(self.stride))
        return found

    def point_at(self, w: Matrix, b: Vector) -> Point:
        """Return the point with these weights and the dual variables that belong to them."""
        b = np.asarray(b, dtype=np.float64) if self.free_intercept else np.zeros(self.classes)
        weights = np.ascontiguousarray(self.padded(w.T))
        scores = self.scores(weights, self.padded(b))
        duals = np.empty_like(scores)
        self.terms(scores, duals)
        return Point(w, b, duals[:, : self.classes])

    def coefficients(self, alpha: Matrix) -> Matrix:
        """Return the matrix of shape (k, n) with W(A) = coefficients X: c_i [y_i = j] − A_ij."""
        out = -alpha.T
        places = np.arange(self.rows.count)
        out[self.label, places] = 0.0
        out[self.label, places] = -out.sum(axis=0)
        return out

    def duals_of(self, coefficients: Matrix) -> Matrix:
        """Undo `coefficients`, for these or for other costs."""
        alpha = -np.ascontiguousarray(coefficients.T)
        alpha[np.arange(self.rows.count), self.label] += self.cost
        return alpha

    def feasible(self, alpha: Any) -> Matrix:
        """Return padded dual variables in their range, near the given ones.

        Where intercepts are free they are multiplied by a factor per class, e^t_j, and brought back
        to each example's simplex, so that their residual vanishes.
        """
        duals = self.padded(alpha)
        self.passes.feasible(duals)
        if self.free_intercept:
            self._without_residual(duals)
        return duals

    def residual(self, duals: Matrix) -> Vector:
        """Return r of padded dual variables, without a pass over the data."""
        if "ones" not in self._kept:
            self._kept["ones"] = np.ones_like(self.cost)
        # A product with BLAS is faster than numpy's own sum over the rows.
        return self.masses - (self._kept["ones"] @ duals)[: self.classes]

    def intercept_step(self, duals: Matrix, residual: Vector) -> Vector:
        """Return Newton's step to the intercepts alone at padded dual variables."""
        k = self.classes
        if "inverse" not in self._kept:
            zeros = np.zeros_like(self.cost)
            self._kept["inverse"] = np.divide(1.0, self.cost, out=zeros, where=self.cost > 0.0)
        sums = self.masses - residual
        matrix = np.diag(sums) - (duals.T @ (duals * self._kept["inverse"][:, None]))[:k, :k]
        # A shift common to all classes has no effect; it is given a curvature, and no slope.
        matrix += sums.sum() / k**2
        factor = cholesky(np.ascontiguousarray(matrix))
        change = np.zeros(k) if factor is None else factor.solve(residual)
        change *= min(1.0, _FAR / max(float(np.abs(change).max()), 1e-300))
        return np.asarray(change - change.mean())

    def _without_residual(self, duals: Matrix) -> None:
        least, k = np.inf, self.classes
        for _ in range(_MOST_ROUNDS):
            residual = self.residual(duals)
            size = float(np.abs(residual).sum())
            # Rounding is all that is left, or all that there would be to gain.
            if size <= 1e-15 * self.masses.sum() or size >= 0.5 * least:
                break
            least = size
            duals[:, :k] *= np.exp(self.intercept_step(duals, residual))
            total = duals.sum(axis=1)
            scale = np.divide(self.cost, total, out=np.zeros_like(total), where=total > 0.0)
            duals *= scale[:, None]
            self.passes.feasible(duals)

    def _passed(self, point: Point, duals: Matrix) -> Passed:
        """Read the data once, for the weights of a point and for feasible dual variables."""
        k = self.classes
        # Of all intercepts with the same differences, take those that sum to 0.
        b = point.b - np.mean(point.b) if self.free_intercept else np.zeros(k)
        here = [self.rows.intercept_here(v, float(c)) for v, c in zip(point.w, b, strict=True)]
        at, off = np.array([h[0] for h in here]), max(h[1] for h in here)
        weights, start = np.ascontiguousarray(self.padded(point.w.T)), self.padded(at)
        losses, entropy, combination, residual = self.passes.sums(weights, start, duals)
        loss = Bound(losses, loss_error(self.scale, self.cost, point.w, at, off, losses))
        return Passed(b, loss, combination, residual, entropy)

    @cached_property
    def scale(self) -> Magnitudes:
        """Magnitudes of the rows, and weights of all classes, for rounding."""
        return replace(super().scale, width=self.rows.weights * self.classes)

    def _price(self, size: float, norm: float) -> float:
        """Bound what a residual can be worth: D(A) minus it is a lower bound on P still.

        At the optimum the probabilities of a class sum to its mass m_j, by cost. With R above every
        difference of scores without intercepts, those of j are at least e^(b_j − b_l − R) times
        those of l, so b_j − b_l ≤ R + log(m_j / m_l), and |b*·r| ≤ ½ (max b* − min b*) ‖r‖₁,
        and `size` is above ‖r‖₁. `norm` is above every ‖w_j − w_l‖ at the optimum.
        """
        masses = self.masses
        if not masses.min() > 0.0:
            return np.inf
        reach = (float(np.sqrt(self.rows.norms.max())) + 1e-150) * norm
        far = reach + float(np.log(masses.max() / masses.min())) + 1e-6
        return (1.0 + 1e-6) * 0.5 * far * size
