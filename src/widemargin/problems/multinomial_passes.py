"""Passes over the examples of a multinomial problem: over all rows, or block by block.

Both kinds do the same with the same compiled loops. Matrices over the examples have a column for
each class, padded to whole vectors; weights have a row for each feature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin.data.blocked_rows import BlockedRows, numbers_for_examples
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.threaded import chunks_of, filled, summed

if TYPE_CHECKING:
    from widemargin.problems.softmax import SoftmaxProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Arguments = tuple[Any, ...]
Sums = tuple[float, float, Matrix, Vector]


class WholePasses:
    """Passes over rows in memory, range by range."""

    def __init__(self, problem: SoftmaxProblem) -> None:
        self._problem, self._core = problem, problem.core

    def scores(self, weights: Matrix, start: Vector) -> Matrix:
        """Return W x_i + start."""
        out = np.empty((self._problem.rows.count, self._problem.stride))
        for begin, end in self._problem.pieces():
            self._core.scores(weights, start, out, begin, end)
        return out

    def terms(self, scores: Matrix, out: Matrix) -> float:
        """Write the dual variables at scores to `out`; return Σ c_i ℓ_i."""
        total = 0.0
        for begin, end in self._problem.pieces():
            total += self._core.terms(scores, out, begin, end)
        return total

    def combine(self, duals: Matrix) -> tuple[Matrix, Vector]:
        """Return W(A) and r(A)."""
        combination, residual = _nothing(self._problem.rows, duals)
        for begin, end in self._problem.pieces():
            self._core.combine(duals, combination, residual, begin, end)
        return combination, residual

    def sums(self, weights: Matrix, start: Vector, duals: Matrix) -> Sums:
        """Return the losses at the weights, the entropy of A, W(A) and r(A)."""
        combination, residual = _nothing(self._problem.rows, duals)
        losses = entropy = 0.0
        for begin, end in self._problem.pieces():
            losses += self._core.losses(weights, start, duals, combination, residual, begin, end)
            entropy += self._core.entropy(duals, begin, end)
        return losses, entropy, combination, residual

    def products(self, duals: Matrix) -> Callable[[Matrix, Vector, Matrix, Vector], None]:
        """Return a function that adds the product of the losses' second derivatives at A.

        Its arguments are a direction, that of the intercepts, and what to add both parts to.
        """

        def add(direction: Matrix, start: Vector, image: Matrix, share: Vector) -> None:
            for begin, end in self._problem.pieces():
                self._core.product(duals, direction, start, image, share, begin, end)

        return add

    def derivatives(self, scores: Matrix, slopes: Matrix, t: float) -> tuple[float, float]:
        """Return both derivatives of the losses along a line."""
        first = second = 0.0
        for begin, end in self._problem.pieces():
            slope, curvature = self._core.derivatives(scores, slopes, t, begin, end)
            first, second = first + slope, second + curvature
        return first, second

    def feasible(self, duals: Matrix) -> None:
        """Bring each example's dual variables onto its simplex."""
        self._core.feasible(duals, 0, self._problem.rows.count)


class BlockedPasses:
    """Passes over rows in blocks; what needs no rows is shared out among threads."""

    def __init__(self, problem: SoftmaxProblem) -> None:
        rows = problem.rows
        assert isinstance(rows, BlockedRows)
        self._rows, self._count, self._classes = rows, rows.count, problem.classes
        kept = problem._kept
        if "chunks" not in kept:
            kept["chunks"] = _without_rows(problem)
            # They stay with the blocks, wherever these are.
            kept["over"] = rows.blocks.spread(problem.label), rows.blocks.spread(problem.cost)
        self._chunks, self._over = kept["chunks"], kept["over"]

    def scores(self, weights: Matrix, start: Vector) -> Matrix:
        """Return W x_i + start."""
        out: Matrix = self._run(_scores, (), (weights, start))[0]
        return out

    def terms(self, scores: Matrix, out: Matrix) -> float:
        """Write the dual variables at scores to `out`; return Σ c_i ℓ_i."""

        def part(at: slice) -> float:
            chunk = self._chunks[at.start]
            return float(chunk.terms(scores[at], out[at], 0, at.stop - at.start))

        return float(self._summed(part))

    def combine(self, duals: Matrix) -> tuple[Matrix, Vector]:
        """Return W(A) and r(A)."""
        combination, residual = self._run(_combine, (duals,), ())[1]
        return combination, residual

    def sums(self, weights: Matrix, start: Vector, duals: Matrix) -> Sums:
        """Return the losses at the weights, the entropy of A, W(A) and r(A)."""
        losses, entropy, combination, residual = self._run(_sums, (duals,), (weights, start))[1]
        return float(losses), float(entropy), combination, residual

    def products(self, duals: Matrix) -> Callable[[Matrix, Vector, Matrix, Vector], None]:
        """Return a function that adds the product of the losses' second derivatives at A."""
        there = self._rows.blocks.spread(duals)

        def add(direction: Matrix, start: Vector, image: Matrix, share: Vector) -> None:
            own, other = self._run(_product, (there,), (direction, start))[1]
            image += own
            share += other

        return add

    def derivatives(self, scores: Matrix, slopes: Matrix, t: float) -> tuple[float, float]:
        """Return both derivatives of the losses along a line."""

        def part(at: slice) -> tuple[float, float]:
            chunk = self._chunks[at.start]
            found = chunk.derivatives(scores[at], slopes[at], t, 0, at.stop - at.start)
            return float(found[0]), float(found[1])

        first, second = self._summed(part)
        return first, second

    def feasible(self, duals: Matrix) -> None:
        """Bring each example's dual variables onto its simplex."""
        filled(
            self._rows.threads,
            self._chunks.slices,
            lambda at: self._chunks[at.start].feasible(duals[at], 0, at.stop - at.start),
        )

    def _summed(self, part: Callable[[slice], Any]) -> Any:
        return summed(self._rows.threads, self._chunks.slices, part)

    def _run(self, task: Any, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
        work = self._rows.size.class_product(core.padded_classes(self._classes))
        return self._rows.run(task, (*self._over, *over), (self._classes, *shared), work=work)


Passes: TypeAlias = WholePasses | BlockedPasses
"""What a multinomial problem asks of its examples."""


class _Chunks(dict[int, Any]):
    """The compiled loops that need no rows, for chunks of the examples by where these begin."""

    slices: list[slice]


def _without_rows(problem: SoftmaxProblem) -> _Chunks:
    chunks = _Chunks()
    chunks.slices = chunks_of(problem.rows.count, problem.stride)
    nothing = np.zeros((max((s.stop - s.start for s in chunks.slices), default=0), 1))
    for at in chunks.slices:
        rows = core.dense_rows(nothing[: at.stop - at.start], 0.0)
        chunks[at.start] = core.MultinomialCore(
            rows, problem.label[at], problem.cost[at], problem.classes
        )
    return chunks


def _nothing(rows: Rows, duals: Matrix) -> tuple[Matrix, Vector]:
    stride = duals.shape[1]
    return np.zeros((rows.weights, stride)), np.zeros(stride)


def _loops(rows: Rows, over: Arguments, classes: int) -> Any:
    label, cost = over[:2]
    return core.MultinomialCore(rows.view, label, cost, classes)


@numbers_for_examples
def _scores(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    classes, weights, start = shared
    out = np.empty((rows.count, start.size))
    _loops(rows, over, classes).scores(weights, start, out, 0, rows.count)
    return out, None


def _combine(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    total = _nothing(rows, over[2])
    _loops(rows, over, *shared).combine(over[2], *total, 0, rows.count)
    return None, total


def _sums(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    classes, weights, start = shared
    duals, total, loops = over[2], _nothing(rows, over[2]), _loops(rows, over, classes)
    losses = loops.losses(weights, start, duals, *total, 0, rows.count)
    return None, (losses, loops.entropy(duals, 0, rows.count), *total)


def _product(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    classes, direction, start = shared
    total = _nothing(rows, over[2])
    _loops(rows, over, classes).product(over[2], direction, start, *total, 0, rows.count)
    return None, total
