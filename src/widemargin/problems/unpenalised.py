"""Logistic regression without a penalty, and a proof for it that needs no dual.

P(w, b) = Σ c_i ℓ(y_i (w·x_i + b)) has an optimum unless the classes can be separated. The dual's
feasible points satisfy Xᵀ(yα) = 0 exactly, which no floating-point point does; the lower bound
comes from the curvature instead. The logistic loss has |ℓ‴| ≤ ℓ″, so along t = w* − w the second
derivative of P falls no faster than exp(−s max_i |x_i·t|). Let H be the matrix of second
derivatives, g the gradient, λ² = gᵀH⁺g and ρ² = max_i x_iᵀH⁺x_i. Integrating twice and minimising
over the length of t gives, for u = ρλ < 1,

    P* ≥ P − (u + (1 − u) log(1 − u)) / ρ²,

about P − λ²/2 close to the optimum. For u ≥ 1 the bound is 0, which every loss respects. It rises
with neither λ nor ρ, so that upper bounds of both do: `widemargin.problems.curvature_bounds`.

With three and more classes (`widemargin.problems.unpenalised_multinomial`) the same holds with the
range of the scores' changes, max_j − min_j, in place of |x_i·t|: the third cumulant of a variable
is at most its range times the variance.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.curvature_bounds import (
    Lengths,
    curvature_error,
    factor_of,
    rounding_of_gram,
    spanning_columns,
    stretch,
)
from widemargin.problems.losses import Loss
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import ACCURACY, UNIT, ScoreError, growth, upper_norm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_RANK = 1e-13
"""Eigenvalues below this share of the largest count as zero; columns are scaled to length one."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """The gradient and a factor of the pseudo-inverse of the second derivatives, H⁺ = F Fᵀ.

    The intercept, if there is one, is the last coordinate. They give steps; no proof reads them.
    """

    gradient: Vector
    factor: Matrix

    @property
    def step(self) -> Vector:
        """The step of Newton's method, −H⁺ g."""
        return -self.factor @ (self.factor.T @ self.gradient)

    @property
    def decrement(self) -> float:
        """The length λ of the gradient in the norm of H⁺."""
        return float(np.linalg.norm(self.factor.T @ self.gradient))


def curvature_of(H: Matrix, gradient: Vector) -> Curvature:
    """Return the pseudo-inverse of second derivatives, columns scaled to length one."""
    lengths = np.sqrt(np.diag(H))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    values, vectors = np.linalg.eigh(H * scale[:, None] * scale)
    kept = values > _RANK * max(float(values[-1]), 0.0)
    return Curvature(gradient, scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))


class Unpenalised(OnRows):
    """What Newton's method asks of a problem without a penalty, and the proof."""

    free_intercept: bool

    @abstractmethod
    def cold_point(self) -> Point:
        """Return weights and intercepts of zero."""

    @abstractmethod
    def scores(self, w: Any) -> Any:
        """Return the scores without intercepts."""

    @abstractmethod
    def total(self, scores: Any, b: Any) -> float:
        """Return P at scores."""

    @abstractmethod
    def curvature_at(self, scores: Any, b: Any) -> Curvature:
        """Return gradient and second derivatives at weights whose scores are known."""

    @abstractmethod
    def unpacked(self, vector: Vector) -> tuple[Any, Any]:
        """Return weights and intercepts from a vector as `Curvature` has it."""

    @abstractmethod
    def separated(self, scores: Any, b: Any) -> bool:
        """Whether every example that counts lies on its side."""

    @abstractmethod
    def sides(self) -> Any:
        """Return rows z, one for each inequality z·v ≥ 0 of weights v that separate."""


@dataclass(frozen=True, eq=False)
class UnpenalisedProblem(Unpenalised):
    """The logistic loss over labelled, weighted rows, and nothing else.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Labels, −1 or +1.
    cost : ndarray of shape (n,)
        Sample weight times class weight.
    loss : Loss
        With |ℓ‴| ≤ ℓ″.
    free_intercept : bool
    """

    kind: ClassVar[str] = "problems without a penalty"

    y: Vector
    cost: Vector
    loss: Loss
    free_intercept: bool

    @classmethod
    def of(cls, data: TrainingSet, positive: int, loss: Loss) -> UnpenalisedProblem:
        """State the one-vs-rest problem of a class; the data's C is 1."""
        return cls(data.rows, data.signs(positive), data.cost, loss, data.free_intercept)

    def cold_point(self) -> Point:
        """Return w = 0 and b = 0."""
        return self.point_at(np.zeros(self.rows.weights), 0.0)

    def point_at(self, w: Vector, b: float) -> Point:
        """Return the point with these weights; α_i = −c_i ℓ′."""
        b = b if self.free_intercept else 0.0
        return Point(w, b, self.loss.duals(self.y, self.cost, self.rows.scores(w), b))

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and intercept."""
        return self.certify(Point(w, b, np.zeros(self.rows.count)))[1].primal

    def curvature_at(self, scores: Vector, b: float) -> Curvature:
        """Return gradient and second derivatives at weights whose scores are known."""
        alpha, curvature = self.loss.terms(self.y, self.cost, scores, b)
        gradient = -self.rows.combine(alpha, self.y)
        if self.free_intercept:
            gradient = np.append(gradient, -float(alpha @ self.y))
        return curvature_of(self.rows.gram(curvature, self.free_intercept), gradient)

    def scores(self, w: Vector) -> Vector:
        """Return w·x_i."""
        return self.rows.scores(w)

    def total(self, scores: Vector, b: float) -> float:
        """Return P at scores."""
        return float(self.loss.total(self.y, self.cost, scores, b))

    def unpacked(self, vector: Vector) -> tuple[Vector, float]:
        """Return weights and intercept; the latter is the last coordinate, if there is one."""
        width = self.rows.weights
        shift = float(vector[width]) if self.free_intercept else 0.0
        return np.ascontiguousarray(vector[:width]), shift

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute P and the bound from the curvature; as many passes as there are weights."""
        b = float(point.b) if self.free_intercept else 0.0
        scores = self.rows.scores(point.w)
        size = self.scale
        at, off = self.rows.intercept_here(point.w, b)
        length = upper_norm(float(point.w @ point.w), point.w.size)
        about = ScoreError.plain(size, length, at, off)
        sums = self.loss.sums(self.y, self.cost, scores, at, about.reach(size))
        primal = sums.total
        above = about.allowance(size, sums.slopes, sums.squares)
        above += growth(self.rows.count + 64.0) * primal
        below = self._shortfall(scores, at, curvature_error(about.reach(size)))
        alpha = self.loss.duals(self.y, self.cost, scores, b)
        low = max(primal - above - below, 0.0)
        return Point(point.w, b, alpha), Certificate.bounds(primal, above, low, 0.0)

    def _shortfall(self, scores: Vector, b: float, error: float) -> float:
        """Return what P can exceed the optimum by; `error` is that of the curvatures."""
        alpha, curvature = self.loss.terms(self.y, self.cost, scores, b)
        used = curvature > 0.0
        # Examples so far on their side that they count for nothing are left out: ℓ ≥ 0.
        far = (self.cost > 0.0) & ~used
        if np.any(self.y[far] * (scores[far] + b) < 0.0) or not used.any():
            return math.inf
        left_out = float(self.cost[far].sum()) * 1e-300
        if not alpha[used].any():
            return left_out
        H = self.rows.gram(curvature, self.free_intercept)
        kept = spanning_columns(H, lambda j: self._column(j)[used], int(used.sum()))
        if kept is None or kept.size == 0:
            return math.inf if kept is None else left_out
        inner = H[np.ix_(kept, kept)]
        small, sums = factor_of(inner)
        kappa = stretch(small.T @ inner @ small, *rounding_of_gram(sums, self.rows.count), error)
        if kappa == 0.0:
            return math.inf
        F = np.zeros((len(H), kept.size))
        F[kept] = small
        slopes, largest = self._lengths(F, alpha, error, used)
        return Lengths(slopes / kappa, largest / kappa).below() + left_out

    def _column(self, j: int) -> Vector:
        """Return a column; where it was shifted, and perhaps rounded, nothing is known of it."""
        if j == self.rows.weights:
            return np.ones(self.rows.count)
        if self.rows.shift is not None and self.rows.shift[j] != 0.0:
            return np.full(self.rows.count, np.nan)
        one = np.zeros(self.rows.weights)
        one[j] = 1.0
        return self.rows.scores(one)

    def _lengths(
        self, F: Matrix, alpha: Vector, error: float, used: NDArray[np.bool_]
    ) -> tuple[float, float]:
        """Return ‖Fᵀg‖ and max ‖Fᵀx_i‖, from above."""
        rows, width = self.rows, self.rows.weights
        norms = np.sqrt(rows.norms) * (1.0 + 1e-6) + 1e-150
        share = 4.0 * growth(rows.longest + 9.0) ** 2
        if rows.shift is not None:
            share += 2.0 * UNIT
        signed, slack = alpha * self.y, alpha * (error + growth(rows.count + 16.0))
        squares, slopes = np.zeros(rows.count), []
        for column in np.ascontiguousarray(F.T):
            shift = float(column[width]) if self.free_intercept else 0.0
            z = rows.compensated_scores(np.ascontiguousarray(column[:width]), (shift, 0.0))
            length = float(np.linalg.norm(column)) * (1.0 + 1e-6)
            off = 4.0 * UNIT * np.abs(z) + share * length * (norms + 1.0)
            size = np.abs(z) + off
            hidden = float(slack @ size) + float(alpha @ off)
            slopes.append(abs(float(signed @ z)) + hidden * (1.0 + 1e-6))
            squares += size * size
        most = math.sqrt(float(squares[used].max())) * (1.0 + 1e-9)
        return float(np.linalg.norm(slopes)) * (1.0 + 1e-9), most

    def separated(self, scores: Vector, b: float) -> bool:
        """Whether every example that counts lies on its side of the plane."""
        return bool(np.all((self.y * (scores + b))[self.cost > 0.0] > 0.0))

    def sides(self) -> Any:
        """Return y_i (x_i, 1)."""
        return dense_rows(self)[self.cost > 0.0] * self.y[self.cost > 0.0, None]


def dense_rows(problem: Unpenalised) -> Matrix:
    """Return the rows as a matrix, with a column of ones for a free intercept."""
    identity = np.eye(problem.rows.weights)
    columns = [problem.rows.scores(column) for column in identity]
    if problem.free_intercept:
        columns.append(np.ones(problem.rows.count))
    return np.column_stack(columns)


def separable(problem: Unpenalised, w: Any, b: Any) -> bool:
    """Whether weights leave no example on its wrong side, and not all of them on the boundary.

    The weights given may show it; else a linear program decides.
    """
    if problem.separated(problem.scores(w), b):
        return True
    from scipy.optimize import linprog

    Z = sp.csr_array(problem.sides())
    lengths = np.asarray(abs(Z).max(axis=0).todense()).ravel()
    Z = Z @ sp.diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0))
    bound = np.zeros(Z.shape[0])
    found = linprog(-np.asarray(Z.sum(axis=0)).ravel(), A_ub=-Z, b_ub=bound, bounds=(-1.0, 1.0))
    return bool(found.status == 0 and -found.fun > 1e-7 * Z.shape[0])
