"""Multinomial logistic regression without a penalty, with the proof of `unpenalised`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.curvature_bounds import curvature_error, factor_of, spanning_columns
from widemargin.problems.curvature_of_classes import Directions
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.problems.multinomial_bounds import loss_error
from widemargin.problems.rounding import ACCURACY, UNIT, Magnitudes, ScoreError, upper_norm
from widemargin.problems.unpenalised import Curvature, Unpenalised, curvature_of, dense_rows

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_LARGEST = 2**30
"""Bytes of a matrix of second derivatives; with a larger one there is a clear error instead."""


@dataclass(frozen=True, eq=False)
class UnpenalisedMultinomialProblem(Unpenalised):
    """Minimise Σ c_i (log Σ_j exp(s_ij) − s_iy) with s_ij = w_j·x_i + b_j.

    A point has w of shape (k, d) and b of shape (k,), each of mean zero over the classes.
    """

    kind: ClassVar[str] = "problems without a penalty"

    like: MultinomialProblem
    free_intercept: bool
    _kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: TrainingSet) -> UnpenalisedMultinomialProblem:
        """State the problem of all classes at once; the data's C is 1."""
        like = MultinomialProblem.of(data)
        width = data.rows.weights + int(data.free_intercept)
        if 8 * (width * like.classes) ** 2 > _LARGEST:
            raise ValueError(
                f"C=inf with {like.classes} classes and {width} weights each needs second "
                "derivatives of more than a gigabyte; use a large finite C, or multi_class='ovr'"
            )
        return cls(data.rows, like, data.free_intercept)

    @property
    def label(self) -> NDArray[np.int32]:
        """The class of each example."""
        return self.like.label

    @property
    def cost(self) -> Vector:
        """The weight of each example."""
        return self.like.cost

    @property
    def classes(self) -> int:
        """How many there are."""
        return self.like.classes

    def cold_point(self) -> Point:
        """Return W = 0 and b = 0."""
        return self.like.cold_point()

    def point_at(self, w: Matrix, b: Vector) -> Point:
        """Return the point with these weights and the dual variables that belong to them."""
        return self.like.point_at(w, b)

    def coefficients(self, alpha: Matrix) -> Matrix:
        """Return c_i [y_i = j] − A_ij, of shape (k, n)."""
        return self.like.coefficients(alpha)

    def duals_of(self, coefficients: Matrix) -> Matrix:
        """Undo `coefficients`."""
        return self.like.duals_of(coefficients)

    def primal_at(self, w: Matrix, b: Vector) -> float:
        """Return P at any weights and intercepts, from above, rounding included."""
        return self._primal(w, self.scores(w), self._intercepts_here(w, np.asarray(b, float)))[1]

    def scores(self, w: Matrix) -> Matrix:
        """Return w_j·x_i, of shape (n, k)."""
        return np.stack([self.rows.scores(np.ascontiguousarray(line)) for line in w], axis=1)

    def total(self, scores: Matrix, b: Vector) -> float:
        """Return P at scores."""
        at = scores + b
        own = at[np.arange(self.label.size), self.label]
        return float(self.cost @ (logsumexp(at, axis=1) - own))

    def probabilities(self, scores: Matrix, b: Vector) -> Matrix:
        """Return the classes' probabilities."""
        at = scores + b
        return np.asarray(np.exp(at - logsumexp(at, axis=1, keepdims=True)))

    def curvature_at(self, scores: Matrix, b: Vector) -> Curvature:
        """Return gradient and second derivatives, class by class, an intercept last in each."""
        p, k = self.probabilities(scores, b), self.classes
        side = self.rows.weights + int(self.free_intercept)
        H, gradient = np.empty((k * side, k * side)), np.empty(k * side)
        slope = self.cost[:, None] * p
        slope[np.arange(self.label.size), self.label] -= self.cost
        for j in range(k):
            here = slice(j * side, (j + 1) * side)
            column = np.ascontiguousarray(slope[:, j])
            gradient[here][: self.rows.weights] = self.rows.combine(column, np.ones_like(column))
            if self.free_intercept:
                gradient[here][-1] = column.sum()
            for l in range(j + 1):  # noqa: E741 - the mathematics' own letter
                there = slice(l * side, (l + 1) * side)
                rest = 1.0 - p[:, j] if l == j else p[:, l]
                block = self.rows.gram(self.cost * p[:, j] * rest, self.free_intercept)
                H[here, there] = block if l == j else -block
                H[there, here] = H[here, there].T
        return curvature_of(H, gradient)

    def unpacked(self, vector: Vector) -> tuple[Matrix, Vector]:
        """Return weights and intercepts of mean zero: what is common to all classes is nothing."""
        lines = vector.reshape(self.classes, -1)
        lines = lines - lines.mean(axis=0)
        width = self.rows.weights
        shift = lines[:, width].copy() if self.free_intercept else np.zeros(self.classes)
        return np.ascontiguousarray(lines[:, :width]), shift

    def _intercepts_here(self, w: Matrix, b: Vector) -> tuple[Vector, float]:
        """Return what the given data's own intercepts come to on these rows, to within a bound."""
        here = [self.rows.intercept_here(v, float(c)) for v, c in zip(w, b, strict=True)]
        return np.array([one[0] for one in here]), max(one[1] for one in here)

    def _primal(self, w: Matrix, scores: Matrix, b: tuple[Vector, float]) -> tuple[float, float]:
        """Return P, and P with what rounding can hide."""
        at, off = b
        primal = self.total(scores, at)
        size = Magnitudes(self.rows.frobenius, self.rows.longest + 1.0, self.rows.count, w.size)
        return primal, primal + loss_error(size, self.cost, w, at, off, primal)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute P and the bound from the curvature."""
        b = point.b - np.mean(point.b) if self.free_intercept else np.zeros(self.classes)
        scores, here = self.scores(point.w), self._intercepts_here(point.w, b)
        primal, above = self._primal(point.w, scores, here)
        below = self._shortfall(scores, here[0], self._error(point.w, scores, here))
        alpha = self.cost[:, None] * self.probabilities(scores, b)
        low = max(primal - (above - primal) - below, 0.0)
        return Point(point.w, b, alpha), Certificate.bounds(primal, above - primal, low, 0.0)

    def _error(self, w: Matrix, scores: Matrix, b: tuple[Vector, float]) -> float:
        """Return the relative error of probabilities at these scores."""
        size = Magnitudes(self.rows.frobenius, self.rows.longest + 1.0, self.rows.count, w.size)
        length = upper_norm(float(np.square(w).sum(axis=1).max()), w.shape[1])
        reach = ScoreError.plain(size, length, float(np.abs(b[0]).max()), b[1]).reach(size)
        # The logarithm of the sum rounds at the size of the scores.
        largest = float(np.abs(scores + b[0]).max())
        return curvature_error(2.0 * reach + 16.0 * UNIT * largest)

    def _shortfall(self, scores: Matrix, b: Vector, error: float) -> float:
        """Return what P can exceed the optimum by; `error` is that of the probabilities."""
        p, label = self.probabilities(scores, b), self.label
        spread = self.cost * (1.0 - np.square(p).sum(axis=1))
        used = spread > 0.0
        # Examples so far on their side that they count for nothing are left out.
        far = (self.cost > 0.0) & ~used
        if np.any(p[far, label[far]] < 0.5) or not used.any():
            return math.inf
        X = self._dense()
        gram = X[used].T @ (spread[used, None] * X[used])
        kept = spanning_columns(gram, lambda j: self._column(j)[used], int(used.sum()))
        left_out = float(self.cost[far].sum()) * 1e-300
        if kept is None or kept.size == 0:
            return math.inf if kept is None else left_out
        # What is common to all classes is nothing: the last one's weights stay as they are.
        F, _ = factor_of(self._second_derivatives(X[:, kept], p))
        lines = F.reshape(self.classes - 1, kept.size, -1)
        about = Directions(X[used][:, kept], lines, self.cost[used], p[used], label[used])
        return about.lengths(error).below() + left_out

    def _dense(self) -> Matrix:
        if "dense" not in self._kept:
            self._kept["dense"] = dense_rows(self)
        dense: Matrix = self._kept["dense"]
        return dense

    def _column(self, j: int) -> Vector:
        """Return a column; where it was shifted, and perhaps rounded, nothing is known of it."""
        shift = self.rows.shift
        if shift is not None and j < shift.size and shift[j] != 0.0:
            return np.full(self.rows.count, np.nan)
        return self._dense()[:, j]

    def _second_derivatives(self, X: Matrix, p: Matrix) -> Matrix:
        """Return H of all classes but the last."""
        side, count = X.shape[1], self.classes - 1
        H = np.empty((count, side, count, side))
        for j in range(count):
            for l in range(j + 1):  # noqa: E741 - the mathematics' own letter
                weight = self.cost * p[:, j] * ((1.0 - p[:, j]) if l == j else -p[:, l])
                H[j, :, l] = X.T @ (weight[:, None] * X)
                H[l, :, j] = H[j, :, l].T
        return H.reshape(count * side, count * side)

    def separated(self, scores: Matrix, b: Vector) -> bool:
        """Whether every example that counts has its own class's score as the highest."""
        at = scores + b
        places = np.arange(self.label.size)
        own = at[places, self.label].copy()
        at[places, self.label] = -np.inf
        return bool(np.all((own > at.max(axis=1))[self.cost > 0.0]))

    def sides(self) -> Any:
        """Return (e_y − e_j) ⊗ (x_i, 1) for the examples that count and the classes j ≠ y."""
        used = np.flatnonzero(self.cost > 0.0)
        rows, label = sp.csr_array(dense_rows(self)[used]), self.label[used]
        blocks = []
        for j in range(self.classes):
            others = np.flatnonzero(label != j)
            signs = np.zeros((others.size, self.classes))
            signs[np.arange(others.size), label[others]] = 1.0
            signs[:, j] = -1.0
            mine = rows[others]
            parts = [mine.multiply(signs[:, [c]]) for c in range(self.classes)]
            blocks.append(sp.hstack(parts, format="csr"))
        return sp.vstack(blocks, format="csr")
