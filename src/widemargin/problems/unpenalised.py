"""Logistic regression without a penalty, and a proof for it that needs no dual.

P(w, b) = Σ c_i ℓ(y_i (w·x_i + b)) has an optimum unless the classes can be separated. The dual's
feasible points satisfy Xᵀ(yα) = 0 exactly, which no floating-point point does; the lower bound
comes from the curvature instead. The logistic loss has |ℓ‴| ≤ ℓ″, so along t = w* − w the second
derivative of P falls no faster than exp(−s max_i |x_i·t|). Let H be the matrix of second
derivatives, g the gradient, λ² = gᵀH⁺g and ρ² = max_i x_iᵀH⁺x_i. Integrating twice and minimising
over the length of t gives, for u = ρλ < 1,

    P* ≥ P − (u + (1 − u) log(1 − u)) / ρ²,

about P − λ²/2 close to the optimum. For u ≥ 1 the bound is 0, which every loss respects.

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
from widemargin.problems.losses import Loss
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import ACCURACY, ScoreError, Size, growth, upper_norm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_RANK = 1e-13
"""Eigenvalues below this share of the largest count as zero; columns are scaled to length one."""

_ROUNDING = 1e-8
"""What a gradient outside of the range of H may amount to, its square relative to P."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """The gradient and a factor of the pseudo-inverse of the second derivatives, H⁺ = F Fᵀ.

    The intercept, if there is one, is the last coordinate.

    Attributes
    ----------
    rest : float
        Length of the gradient's part outside of the range of H, columns scaled to length one. It
        is rounding where columns depend on each other; else no bound holds.
    """

    gradient: Vector
    factor: Matrix
    rest: float

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
    basis, scaled = vectors[:, kept], scale * gradient
    rest = float(np.linalg.norm(scaled - basis @ (basis.T @ scaled)))
    return Curvature(gradient, scale[:, None] * basis / np.sqrt(values[kept]), rest)


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
    def largest_length(self, curvature: Curvature) -> float:
        """Return ρ, the longest row in the norm of H⁺."""

    @abstractmethod
    def unpacked(self, vector: Vector) -> tuple[Any, Any]:
        """Return weights and intercepts from a vector as `Curvature` has it."""

    @abstractmethod
    def separated(self, scores: Any, b: Any) -> bool:
        """Whether every example that counts lies on its side."""

    @abstractmethod
    def sides(self) -> Any:
        """Return rows z, one for each inequality z·v ≥ 0 of weights v that separate."""

    def lower_bound(self, scores: Any, b: Any, primal: float) -> float:
        """Return the bound on P* from the curvature, or 0."""
        here = self.curvature_at(scores, b)
        if here.rest > _ROUNDING * math.sqrt(primal):
            return 0.0
        if not here.gradient.any():
            return primal
        length = self.largest_length(here)
        u = length * here.decrement
        return primal - _shortfall(u) / length**2 if length > 0.0 and u < 1.0 else 0.0


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

    def largest_length(self, curvature: Curvature) -> float:
        """Return ρ, the longest row in the norm of H⁺."""
        squares = np.zeros(self.rows.count)
        for column in np.ascontiguousarray(curvature.factor.T):
            width = self.rows.weights
            shift = float(column[width]) if self.free_intercept else 0.0
            squares += (self.rows.scores(np.ascontiguousarray(column[:width])) + shift) ** 2
        return math.sqrt(float(squares.max(initial=0.0)))

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute P and the bound from the curvature; as many passes as there are weights.

        P is an upper bound with its rounding. The lower bound takes eigenvalues as they were
        computed, and allows for the rounding of P alone.
        """
        b = float(point.b) if self.free_intercept else 0.0
        scores = self.rows.scores(point.w)
        size = Size(
            self.rows.frobenius, self.rows.longest + 1.0, self.rows.count, self.rows.weights
        )
        at, off = self.rows.intercept_here(point.w, b)
        length = upper_norm(float(point.w @ point.w), point.w.size)
        about = ScoreError.plain(size, length, at, off)
        sums = self.loss.sums(self.y, self.cost, scores, at, about.reach(size))
        primal = sums.total
        above = about.allowance(size, sums.slopes, sums.squares)
        above += growth(self.rows.count + 64.0) * primal
        bound = self.lower_bound(scores, at, primal)
        alpha = self.loss.duals(self.y, self.cost, scores, b)
        return Point(point.w, b, alpha), Certificate.bounds(
            primal, above, max(bound - above, 0.0), 0.0
        )

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


def _shortfall(u: float) -> float:
    """Return u + (1 − u) log(1 − u), without cancellation for small u."""
    if u < 1e-4:
        return 0.5 * u * u * (1.0 + u / 3.0 + u * u / 6.0 + u**3)
    return u + (1.0 - u) * math.log1p(-u)
