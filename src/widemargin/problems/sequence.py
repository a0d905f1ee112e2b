"""Max-margin sequence labelling: chains of labels, their dual and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.chain import ChainProblem, Labels, Matrix, Pointers, Vector
from widemargin.problems.rounding import (
    ACCURACY,
    Magnitudes,
    combination_error,
    growth,
    half_square_error,
)

_COLUMNS = 8
"""Labels whose weights a certificate forms at a time, at least: a line of cache holds as many."""


@dataclass(frozen=True, eq=False)
class Labelings:
    """Shares of labelings other than the right one: the dual variables that are not zero.

    Attributes
    ----------
    pointers : ndarray of int64, shape (sentences + 1,)
        Sentence i has the labelings from pointers[i] to pointers[i + 1].
    share : ndarray of shape (labelings,)
        Not negative; those of a sentence add up to one at most.
    labels : ndarray of int32
        The labelings one after the other, each as long as its sentence.
    """

    pointers: Pointers
    share: Vector
    labels: Labels

    @classmethod
    def none(cls, sentences: int) -> Labelings:
        """Return no labelings: W = 0."""
        return cls(np.zeros(sentences + 1, np.int64), np.zeros(0), np.zeros(0, np.int32))

    @property
    def owner(self) -> NDArray[np.intp]:
        """The sentence of each labeling."""
        return np.repeat(np.arange(self.pointers.size - 1), np.diff(self.pointers))

    def feasible(self) -> Labelings:
        """Return shares that are feasible in exact arithmetic, near these."""
        share = np.where(self.share > 0.0, self.share, 0.0)
        owner = self.owner
        total = np.bincount(owner, share, self.pointers.size - 1)
        # A sum of m terms is off by γ_m of itself at most, and so is what it is divided by.
        slack = growth(np.diff(self.pointers) + 4.0)
        over = total * (1.0 + slack) > 1.0
        if over.any():
            factor = np.where(over, (1.0 - 3.0 * slack) / np.where(over, total, 1.0), 1.0)
            share = share * factor[owner]
        return replace(self, share=share)

    @classmethod
    def mixture(cls, parts: list[Labels], shares: Vector, lengths: Pointers) -> Labelings:
        """Combine labelings of all rows, with a share each that holds for every sentence."""
        kept = [(part, share) for part, share in zip(parts, shares, strict=True) if share > 0.0]
        count = len(kept)
        pointers = count * np.arange(lengths.size + 1, dtype=np.int64)
        share = np.tile(np.array([share for _, share in kept]), lengths.size)
        if count == 0:
            return cls.none(lengths.size)
        ends = np.cumsum(lengths)
        pieces = [
            part[end - length : end]
            for end, length in zip(ends, lengths, strict=True)
            for part, _ in kept
        ]
        return cls(pointers, share, np.concatenate(pieces).astype(np.int32))


@dataclass(frozen=True, eq=False)
class SequenceProblem(ChainProblem):
    """Minimise ½‖w‖² + Σ c_i max_y [Δ_i(y) − w·(f_i(y_i) − f_i(y))] over sentences i.

    f_i(y) adds up the features of each row at its label, the transitions, and the first and last
    label; Δ_i(y) adds up the costs of mistakes. A point has the matrix of weights as w, None as b,
    and `Labelings` as alpha: D = Σ c_i Σ_y α_i(y) Δ_i(y) − ½‖w(α)‖², w(α) = Σ c_i Σ_y α_i(y)
    (f_i(y_i) − f_i(y)).
    """

    kind: ClassVar[str] = "sequence problems with hinge loss"

    def cold_point(self) -> Point:
        """Return no weights, and no labeling but the right ones."""
        return Point(np.zeros(self.shape), None, Labelings.none(self.count))

    def point_at(self, w: Matrix, b: None = None) -> Point:
        """Return weights as a point, with no labeling but the right ones."""
        return Point(w, None, Labelings.none(self.count))

    def primal_at(self, w: Matrix, b: None = None) -> float:
        """Return an upper bound on P(w), rounding included."""
        return self.certify(self.point_at(w))[1].primal

    def best_labelings(self, weights: Matrix) -> tuple[Labels, Vector, Vector]:
        """Return the most violated labelings, their losses, and what was added up for them."""
        labels = np.empty(self.rows.count, dtype=np.int32)
        excess, magnitude = np.empty(self.count), np.empty(self.count)
        for begin, end in self.pieces():
            self.core.best_labelings(
                weights, True, begin, end, labels, excess, magnitude, self.threads
            )
        self.meter.add(self.pass_work)
        return labels, excess, magnitude

    def combine(self, duals: Labelings) -> tuple[Matrix, float]:
        """Return the weights that labelings stand for, and Σ c_i Σ_y α_i(y) Δ_i(y)."""
        weights = np.zeros(self.shape)
        linear = self._combine_into(weights, duals, 0)
        self.meter.add(self.rows.size.class_product(self.stride))
        return weights, linear

    def _combine_into(self, weights: Matrix, duals: Labelings, from_label: int) -> float:
        """Add the weights of the labels that `weights` has columns for."""
        linear = 0.0
        for begin, end in self.pieces(weights.shape[1] / self.stride):
            linear += self.core.combine(
                duals.pointers, duals.share, duals.labels, from_label, weights, begin, end
            )
        return linear

    def _dual_terms(self, duals: Labelings) -> tuple[float, float]:
        """Return Σ c_i Σ_y α_i(y) Δ_i(y) and ‖w(α)‖², without room for all of w(α).

        The weights can be far larger than the rows: a feature of one row has one for each label.
        """
        linear = squared = 0.0
        # All at once where that takes no more memory than the values of the rows.
        columns = max(self.rows.size.values // self.shape[0] // _COLUMNS, 1) * _COLUMNS
        columns = min(columns, self.stride)
        memory = np.empty(self.shape[0] * columns)
        for label in range(0, self.stride, columns):
            width = min(columns, self.stride - label)
            part = memory[: self.shape[0] * width].reshape(-1, width)
            part[:] = 0.0
            linear = self._combine_into(part, duals, label)
            squared += float(np.vdot(part, part))
        self.meter.add(self.rows.size.class_product(self.stride))
        return linear, squared

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        The losses by dynamic programming at w; the dual value from the labelings.
        """
        duals = point.alpha.feasible()
        return self._judged(point.w, duals, *self._dual_terms(duals))

    def certify_in_place(
        self, point: Point, accuracy: float = ACCURACY
    ) -> tuple[Point, Certificate]:
        """Certify the weights that the labelings stand for, computed again in place of the given.

        Nobody else may refer to these. It takes no memory for other weights.
        """
        duals = point.alpha.feasible()
        point.w[:] = 0.0
        linear = self._combine_into(point.w, duals, 0)
        self.meter.add(self.rows.size.class_product(self.stride))
        return self._judged(point.w, duals, linear, float(np.vdot(point.w, point.w)))

    def _judged(
        self, w: Matrix, duals: Labelings, linear: float, squared: float
    ) -> tuple[Point, Certificate]:
        """Return a point and its certificate, from the terms of the dual value."""
        _, excess, magnitude = self.best_labelings(w)
        own = float(np.vdot(w, w))
        losses = float(self.cost @ excess)
        primal = 0.5 * own + losses
        above = self._primal_error(w, excess, magnitude)
        above += half_square_error(own, w.size)
        below = self._dual_error(duals, linear, squared)
        proof = Certificate.bounds(primal, above, linear - 0.5 * squared, below)
        return Point(w, None, duals), proof

    def _primal_error(self, weights: Matrix, excess: Vector, magnitude: Vector) -> float:
        """Return what rounding can hide of Σ c_i times the loss.

        Every labeling's score is a sum of at most 3 L + 3 numbers, and the loss is the difference
        of two of them.
        """
        rows = self._row_errors(self._longest_line(weights))
        sums = growth(4.0 * self.lengths + 8.0) * (magnitude + rows)
        each = 2.0 * (rows + sums) + growth(8.0) * excess
        total = float(self.cost @ each) + growth(self.count + 8.0) * float(self.cost @ excess)
        return (1.0 + 1e-6) * total

    def _dual_error(self, duals: Labelings, linear: float, squared: float) -> float:
        """Return what D can be below what was computed."""
        # A row's coefficients are sums of at most m shares, m the labelings of its sentence.
        most = float(np.diff(duals.pointers).max(initial=0)) + 4.0
        masses = np.bincount(duals.owner, duals.share, self.count) * self.cost * (1.0 + 1e-6)
        rows = 1.5 * np.sqrt(float((masses**2) @ self.lengths)) * (1.0 + 1e-6)
        size = Magnitudes(
            self.rows.frobenius, self.rows.longest, self.rows.count, self.rows.weights
        )
        off = combination_error(size, rows, False, 0.0)
        off += growth(most) * rows * self.rows.frobenius
        # Transitions: as many additions to one weight as there are, at most.
        added = float(masses @ (2.0 * self.lengths + 4.0))
        off += growth(2.0 * duals.labels.size + 8.0) * added
        terms = growth(duals.labels.size + self.count + 16.0) * abs(linear)
        return terms + half_square_error(squared, self.shape[0] * self.classes, off)


def decode(weights: Matrix, rows: Rows, first: Pointers, classes: int, threads: int) -> Labels:
    """Return the labeling with the highest score of every sentence, one after the other."""
    count = first.size - 1
    problem = SequenceProblem(
        rows,
        first,
        np.zeros(rows.count, np.int32),
        np.ones(count),
        np.zeros((classes, classes)),
        True,
        threads,
    )
    return problem.best_labelings(weights)[0]
