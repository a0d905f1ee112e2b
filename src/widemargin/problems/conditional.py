"""Conditional random fields on chains: the log loss, its dual and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.rows import Rows
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.chain import ChainProblem, Matrix, Pointers, Vector
from widemargin.problems.rounding import (
    ACCURACY,
    Magnitudes,
    combination_error,
    growth,
    half_square_error,
    upper_norm,
)

Scores = NDArray[np.float32]

_WIDEST = 330.0
"""Beyond this spread of edges passes are in logarithms: core/structures/forward_backward.hpp says
why."""

_IN_LOGARITHMS = 2.0
"""Roundings of scores in such a pass for each of those in one that multiplies: at a row there are
the sum with the edge, the difference from the largest, the logarithm and two more sums."""


@dataclass(frozen=True, eq=False)
class Potentials:
    """Scores of each sentence's own: the dual variables are the marginals at them.

    Attributes
    ----------
    nodes : ndarray of float32, shape (tokens, k)
    edges : ndarray of float32, shape (sentences, (k + 2) · k)
        The lines of the weights beside those of the features.
    lent : bool
        Whether a method goes on to change them, so that keeping them takes a copy.
    """

    nodes: Scores
    edges: Scores
    lent: bool = False

    def copy(self) -> Potentials:
        """Return a copy."""
        return Potentials(self.nodes.copy(), self.edges.copy())


@dataclass(frozen=True, eq=False)
class ConditionalProblem(ChainProblem):
    """Minimise ½‖w‖² + Σ c_i (log Σ_y exp(w·f_i(y)) − w·f_i(y_i)) over sentences i.

    The dual variables are marginals of transitions that are consistent with each other. A point has
    the matrix of weights as w, None as b, and as alpha what marginals are computed from:
    `Potentials` of each sentence, or one matrix of weights for all. With
    v = Σ c_i (f_i(y_i) − E f_i), the dual value is D = Σ c_i · entropy − ½‖v‖²; at weights it is
    R + alpha·v − ½‖v‖², R the losses there, and at alpha = w the gap is ½‖w − v‖².
    """

    kind: ClassVar[str] = "sequence problems with log loss"

    def cold_point(self) -> Point:
        """Return no weights, and even marginals."""
        return Point(np.zeros(self.shape), None, np.zeros(self.shape))

    def point_at(self, w: Matrix, b: None = None) -> Point:
        """Return weights as a point, with the marginals at them."""
        return Point(w, None, w)

    def primal_at(self, w: Matrix, b: None = None) -> float:
        """Return an upper bound on P(w), rounding included."""
        return self.certify(self.point_at(w))[1].primal

    @property
    def gradient_work(self) -> float:
        """Price losses and marginals of all sentences, and their combination."""
        steps = 3.0 * self.rows.count * self.classes * self.stride * MACHINE.tile_multiply
        return (
            self.rows.size.class_product(self.stride, 2.0)
            + self.rows.size.softmax(self.stride)
            + steps
        )

    @property
    def ascent_work(self) -> float:
        """Price a visit of exponentiated gradients to every sentence."""
        return MACHINE.chain_visits * self.gradient_work

    def gibbs(self, weights: Matrix) -> tuple[Vector, Vector, Matrix]:
        """Return each sentence's loss, what was added up for it, and the combination v."""
        excess, magnitude = np.empty(self.count), np.empty(self.count)
        combination = np.zeros(self.shape)
        for begin, end in self.rows.pieces(self.gradient_work, self.count):
            self.core.gibbs(weights, combination, begin, end, excess, magnitude, self.threads)
        self.meter.add(self.gradient_work)
        return excess, magnitude, combination

    def losses(self, weights: Matrix) -> tuple[Vector, Vector]:
        """Return each sentence's loss, and what was added up for it."""
        excess, magnitude = np.empty(self.count), np.empty(self.count)
        for begin, end in self.pieces():
            self.core.gibbs(weights, None, begin, end, excess, magnitude, self.threads)
        self.meter.add(self.pass_work)
        return excess, magnitude

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Compute the certificate of a point from the data: forward-backward at w and at alpha."""
        alpha = point.alpha
        if isinstance(alpha, Potentials):
            both = self._dual_at_potentials(alpha)
            return point, self._bounds(*self._primal(point.w, *self.losses(point.w)), *both)
        excess, magnitude, combination = self.gibbs(point.w)
        primal, above = self._primal(point.w, excess, magnitude)
        losses, own = float(self.cost @ excess), float(np.vdot(point.w, point.w))
        if alpha is not point.w and not np.array_equal(alpha, point.w):
            excess, magnitude, combination = self.gibbs(alpha)
            losses, own = float(self.cost @ excess), float(np.vdot(alpha, alpha))
        squared = float(np.vdot(combination, combination))
        product = float(np.vdot(alpha, combination))
        errors = self._score_errors(alpha, magnitude)
        below = self._loss_error(alpha, excess, magnitude)
        off = self._combination_error(errors, -np.expm1(-(excess + 2.0 * errors)))
        # alpha·v − ½‖v‖² of a vector that is off by δ is wrong by (alpha − v)·δ and ½‖δ‖² only.
        long, length = (upper_norm(value, alpha.size) for value in (own, squared))
        apart = np.subtract(alpha, combination, out=combination)
        apart_by = upper_norm(float(np.vdot(apart, apart)), alpha.size) * (1.0 + 1e-6)
        below += growth(alpha.size + 8.0) * length * (long + length)
        below += (1.0 + 1e-6) * (apart_by + off) * off + half_square_error(squared, alpha.size)
        dual = losses + product - 0.5 * squared
        return point, self._bounds(primal, above, dual, below)

    def certify_in_place(
        self, point: Point, accuracy: float = ACCURACY
    ) -> tuple[Point, Certificate]:
        """Certify the weights that potentials stand for, computed again in place of the given.

        Nobody else may refer to these. It takes no memory for other weights.
        """
        if not isinstance(point.alpha, Potentials):
            return self.certify(point, accuracy)
        point.w[:] = 0.0
        dual = self._dual_at_potentials(point.alpha, point.w)
        return point, self._bounds(*self._primal(point.w, *self.losses(point.w)), *dual)

    def _primal(self, w: Matrix, excess: Vector, magnitude: Vector) -> tuple[float, float]:
        """Return P(w) and what it can be above that."""
        own = float(np.vdot(w, w))
        above = self._loss_error(w, excess, magnitude) + half_square_error(own, w.size)
        return 0.5 * own + float(self.cost @ excess), above

    @staticmethod
    def _bounds(primal: float, above: float, dual: float, below: float) -> Certificate:
        if not np.isfinite(below):
            dual, below = -np.inf, 0.0
        return Certificate.bounds(primal, above, dual, below)

    def potentials_at(self, weights: Matrix) -> Potentials:
        """Return the scores at weights as potentials of every sentence."""
        nodes = np.empty((self.rows.count, self.stride))
        for begin, end in self.pieces():
            self.core.nodes(weights, begin, end, nodes)
        own = nodes[:, : self.classes].astype(np.float32)
        edges = weights[self.rows.weights :, : self.classes].reshape(1, -1).astype(np.float32)
        return Potentials(own, np.repeat(edges, self.count, axis=0))

    def potentials(
        self, alpha: Potentials, combination: Matrix | None = None
    ) -> tuple[Vector, Vector, Matrix]:
        """Return the entropies at potentials, what was added up for them, and v.

        Where zeros are given for it, v is added to them.
        """
        combination = np.zeros(self.shape) if combination is None else combination
        entropy, magnitude = np.empty(self.count), np.empty(self.count)
        nodes, edges = alpha.nodes, alpha.edges
        for begin, end in self.rows.pieces(self.gradient_work, self.count):
            self.core.potentials(
                nodes, edges, combination, begin, end, entropy, magnitude, self.threads
            )
        self.meter.add(self.gradient_work)
        return entropy, magnitude, combination

    def _dual_at_potentials(
        self, alpha: Potentials, zeros: Matrix | None = None
    ) -> tuple[float, float]:
        """Return D at potentials and what it can be below that; v is added to zeros."""
        entropy, magnitude, combination = self.potentials(alpha, zeros)
        total, squared = float(self.cost @ entropy), float(np.vdot(combination, combination))
        lines = alpha.edges.reshape(self.count, self.classes + 2, self.classes)
        errors = self._marginal_errors(_spread(lines), magnitude)
        # An entropy is a logarithm less a mean of scores, whose weights are off by a share.
        each = errors * (4.0 + 4.0 * magnitude) + growth(4.0 * self.lengths + 16.0) * magnitude
        below = (1.0 + 1e-6) * float(self.cost @ each)
        below += growth(self.count + 8.0) * float(self.cost @ abs(entropy))
        off = self._combination_error(errors)
        return total - 0.5 * squared, below + half_square_error(squared, combination.size, off)

    def _marginal_errors(self, spread: Vector, magnitude: Vector) -> Vector:
        """Bound, for each sentence, the errors of log Z and of the logarithms of marginals.

        Every probability is a product of sums of positive terms, each good to 2 k + 64 roundings,
        and differences inside exponentials are rounded relative to what is subtracted. Where edges
        are too far apart (`_spread`) logarithms are added up, each of the size of the magnitude.
        """
        sums = growth(self.lengths * (2.0 * self.classes + 64.0))
        times = np.where(spread <= _WIDEST, 1.0, _IN_LOGARITHMS)
        return np.asarray(sums + growth(times * (4.0 * self.lengths + 16.0)) * magnitude)

    def _score_errors(self, weights: Matrix, magnitude: Vector) -> Vector:
        """Return the same at weights, where the scores of rows are rounded, too."""
        edges = weights[self.rows.weights :, : self.classes]
        rows = self._row_errors(self._longest_line(weights))
        return np.asarray(rows + self._marginal_errors(_spread(edges), magnitude + rows))

    def _loss_error(self, weights: Matrix, excess: Vector, magnitude: Vector) -> float:
        each = 2.0 * self._score_errors(weights, magnitude)
        total = float(self.cost @ each) + growth(self.count + 8.0) * float(self.cost @ abs(excess))
        return (1.0 + 1e-6) * total

    def _combination_error(self, errors: Vector, wrong: Vector | float = 1.0) -> float:
        """Bound ‖v − fl(v)‖: marginals are off by a share, and sums are rounded.

        `wrong` bounds the probability of all other labelings of each sentence.
        """
        share = np.expm1(np.minimum(4.0 * errors, 300.0))
        # The coefficients of a row have a norm of √2 c at most, times what other labels have.
        norms = 1.42 * self.cost * np.sqrt(self.lengths) * wrong
        rows = upper_norm(float(norms @ norms), self.count)
        size = Magnitudes(
            self.rows.frobenius, self.rows.longest, self.rows.count, self.rows.weights
        )
        off = combination_error(size, rows, False, 0.0)
        off += upper_norm(float((share * norms) @ (share * norms)), self.count) * (
            self.rows.frobenius
        )
        edges = 2.0 * self.cost * (self.lengths + 1.0)
        off += float((share + growth(self.rows.count + 64.0)) @ edges)
        return (1.0 + 1e-6) * off


def _spread(edges: Matrix | Scores) -> Vector:
    """Return how far below the largest product of two edges at one row the smallest can be.

    `edges` ends in the axes (transitions from each label, start, end) and (label). A row has one
    edge that leads to it, from a label or from the start; the last row has the end's as well.
    """
    inner, start, end = edges[..., :-2, :], edges[..., -2, :], edges[..., -1, :]
    into = np.maximum(np.ptp(inner, axis=(-2, -1)), np.ptp(start, axis=-1))
    return np.asarray(into + np.ptp(end, axis=-1))


def marginals(weights: Matrix, rows: Rows, first: Pointers, classes: int) -> NDArray[np.float64]:
    """Return the probability of each label at each row."""
    count = first.size - 1
    problem = ConditionalProblem(
        rows,
        first,
        np.zeros(rows.count, np.int32),
        np.ones(count),
        np.zeros((classes, classes)),
        True,
    )
    out = np.empty((rows.count, classes))
    for begin, end in problem.pieces(4.0):
        problem.core.marginals(weights, begin, end, out)
    return out
