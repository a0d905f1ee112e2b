"""Sequence labelling in exact arithmetic: the best of all labelings, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.balls import Balls
from widemargin.exact.binary import DualBound
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import ExactRows, Integers, Scaled


class ChainWeights(NamedTuple):
    """The weights of a chain, by features, transitions, and first and last labels."""

    coef: NDArray[Any]
    transition: NDArray[Any]
    start: NDArray[Any]
    end: NDArray[Any]


@dataclass(frozen=True, eq=False)
class ExactChains:
    """min ½‖w‖² + Σ c_i max_y [Δ_i(y) − w·(f_i(y_i) − f_i(y))], or the logarithm of a sum.

    Attributes
    ----------
    rows : ExactRows
        Of all sequences, below each other.
    first : ndarray of int, shape (sequences + 1,)
        Where each sequence begins.
    label : ndarray of int, shape (tokens,)
    cost : Scaled
        c_i of each sequence.
    mistake : Scaled
        Costs of mistakes, of shape (k, k).
    boundaries : bool
        Whether first and last labels have weights.
    """

    rows: ExactRows
    first: NDArray[np.int64]
    label: NDArray[np.int64]
    cost: Scaled
    mistake: Scaled
    boundaries: bool

    def primal(self, weights: ChainWeights) -> Bounds:
        """Return P with the hinge loss."""
        tables = self._tables(weights)
        losses = [_largest(*parts) - own for parts, own in self._sequences(tables, True)]
        total = Scaled(np.array(losses, dtype=object), tables[-1]).times(self.cost).total()
        return Bounds.exactly(_half_square(weights) + total)

    def log_primal(self, weights: ChainWeights) -> Bounds:
        """Return P with the log loss, enclosed by balls."""
        tables = self._tables(weights)
        with Balls() as balls:
            total = balls.number(0, 0)
            for i, (parts, own) in enumerate(self._sequences(tables, False)):
                loss = _log_sum(balls, tables[-1], *parts) - balls.number(own, tables[-1])
                total += loss * balls.number(int(self.cost.values[i]), self.cost.exponent)
            return Bounds.exactly(_half_square(weights)) + balls.bounds(total)

    def dual(self, pointers: NDArray[Any], share: NDArray[Any], labels: NDArray[Any]) -> DualBound:
        """Return D with the hinge loss at shares of labelings, made feasible."""
        given = Scaled.of(share)
        within, in_range = self._clipped(pointers, given)
        classes = int(self.mistake.values.shape[0])
        nodes = np.zeros((self.label.size, classes), dtype=object)
        edges = np.zeros((classes + 2, classes), dtype=object)
        linear, begin = 0, 0
        for i in range(pointers.size - 1):
            rows = np.arange(self.first[i], self.first[i + 1])
            right = self.label[rows]
            for place in range(pointers[i], pointers[i + 1]):
                other = labels[begin : begin + rows.size]
                begin += rows.size
                mass = int(within.values[place]) * int(self.cost.values[i])
                if mass:
                    linear += mass * int(self.mistake.values[right, other].sum())
                    self._add(nodes, edges, rows, right, mass)
                    self._add(nodes, edges, rows, other, -mass)
        exponent = within.exponent + self.cost.exponent
        square = Scaled(edges, exponent).squared_length()
        for j in range(classes):
            square += self.rows.combine(Scaled(nodes[:, j], exponent)).squared_length()
        gain = Scaled(np.array([linear], dtype=object), exponent + self.mistake.exponent).total()
        return DualBound(Bounds.exactly(gain - square / 2), Fraction(0), in_range)

    def _add(
        self, nodes: Integers, edges: Integers, rows: NDArray[Any], labels: NDArray[Any], mass: int
    ) -> None:
        """Add the features of a labeling, a mass of it."""
        nodes[rows, labels] += mass
        np.add.at(edges, (labels[:-1], labels[1:]), mass)
        if self.boundaries:
            edges[-2, labels[0]] += mass
            edges[-1, labels[-1]] += mass

    def _clipped(self, pointers: NDArray[Any], share: Scaled) -> tuple[Scaled, bool]:
        """Return shares that are not negative and at most one together, and whether they were."""
        exponent = min(share.exponent, 0)
        given = share.at(exponent)
        values, one = np.maximum(given, 0), 1 << -exponent
        for begin, end in pairwise(pointers):
            over = int(values[begin:end].sum()) - one if end > begin else 0
            for place in range(begin, end):
                step = min(max(over, 0), int(values[place]))
                values[place] -= step
                over -= step
        return Scaled(values, exponent), bool((values == given).all())

    def _tables(self, weights: ChainWeights) -> tuple[Integers, Integers, Integers, Integers, int]:
        """Return the scores of rows, transitions, boundaries and mistakes at one exponent."""
        columns = [self.rows.scores(Scaled.of(line)) for line in weights.coef]
        others = [Scaled.of(weights.transition), Scaled.of([weights.start, weights.end])]
        exponent = min(0, self.mistake.exponent, *(part.exponent for part in (*columns, *others)))
        nodes = np.stack([column.at(exponent) for column in columns], axis=1)
        edges, ends = (part.at(exponent) for part in others)
        return nodes, edges, ends, self.mistake.at(exponent), exponent

    def _sequences(self, tables: Any, mistakes: bool) -> Any:
        """Yield each sequence's scores, with boundaries and mistakes, and its own labeling's."""
        nodes, edges, ends, mistake, _ = tables
        for begin, end in pairwise(self.first):
            right = self.label[begin:end]
            scores = nodes[begin:end].copy()
            if self.boundaries:
                scores[0] += ends[0]
                scores[-1] += ends[1]
            own = int(scores[np.arange(right.size), right].sum())
            own += int(edges[right[:-1], right[1:]].sum()) if right.size > 1 else 0
            yield (scores + mistake[right] if mistakes else scores, edges), own


def _half_square(weights: ChainWeights) -> Fraction:
    return sum((Scaled.of(part).squared_length() for part in weights), Fraction(0)) / 2


def _largest(scores: Integers, edges: Integers) -> int:
    """Return the score of the best labeling."""
    best = scores[0]
    for line in scores[1:]:
        best = (best[:, None] + edges).max(axis=0) + line
    return int(max(best))


def _log_sum(balls: Balls, exponent: int, scores: Integers, edges: Integers) -> Any:
    """Return log Σ exp over the scores of all labelings."""
    steps = [[balls.number(int(v), exponent) for v in line] for line in edges]
    ahead = [balls.number(int(v), exponent) for v in scores[0]]
    for line in scores[1:]:
        ahead = [
            balls.log_sum([a + step[j] for a, step in zip(ahead, steps, strict=True)])
            + balls.number(int(score), exponent)
            for j, score in enumerate(line)
        ]
    return balls.log_sum(ahead)
