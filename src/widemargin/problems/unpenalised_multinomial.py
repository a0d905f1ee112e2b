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
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.problems.multinomial_bounds import loss_error
from widemargin.problems.rounding import ACCURACY, Size
from widemargin.problems.unpenalised import Curvature, Unpenalised, curvature_of, dense_rows

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_LARGEST = 2**30
"""Bytes of a matrix of second derivatives; with a larger one there is a clear error instead."""

_BLOCK = 256
"""Rows whose lengths are computed together."""


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

    def largest_length(self, curvature: Curvature) -> float:
        """Return ρ: of all rows and pairs of classes, the longest (e_j − e_l) ⊗ x_i."""
        k = self.classes
        side, rank = curvature.factor.shape
        factors = curvature.factor.reshape(k, side // k, rank)
        if "dense" not in self._kept:
            self._kept["dense"] = dense_rows(self)
        rows, most = self._kept["dense"], 0.0
        for begin in range(0, self.rows.count, _BLOCK):
            lines = np.einsum("nd,kdr->nkr", rows[begin : begin + _BLOCK], factors, optimize=True)
            inner = lines @ lines.transpose(0, 2, 1)
            own = np.einsum("nkk->nk", inner)
            most = max(most, float((own[:, :, None] + own[:, None] - 2.0 * inner).max()))
            self.rows.checkpoint()
        return math.sqrt(max(most, 0.0))

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
        size = Size(self.rows.frobenius, self.rows.longest + 1.0, self.rows.count, w.size)
        return primal, primal + loss_error(size, self.cost, w, at, off, primal)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute P and the bound from the curvature.

        P is an upper bound with its rounding. The lower bound takes eigenvalues as they were
        computed, and allows for the rounding of P alone.
        """
        b = point.b - np.mean(point.b) if self.free_intercept else np.zeros(self.classes)
        scores, here = self.scores(point.w), self._intercepts_here(point.w, b)
        primal, above = self._primal(point.w, scores, here)
        bound = self.lower_bound(scores, here[0], primal)
        alpha = self.cost[:, None] * self.probabilities(scores, b)
        low = max(bound - (above - primal), 0.0)
        return Point(point.w, b, alpha), Certificate.bounds(primal, above - primal, low, 0.0)

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
