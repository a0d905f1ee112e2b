"""Passes over the examples of a joint multiclass problem: over all rows, or block by block.

Both kinds do the same with the same compiled loops. Matrices over the examples have a column for
each class, padded to whole vectors; weights have a row for each feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin.data.block_work import added
from widemargin.data.blocked_rows import BlockedRows, numbers_for_examples
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.compressed_duals import ByExample, CompressedDuals
from widemargin.problems.threaded import chunks_of, summed

if TYPE_CHECKING:
    from widemargin.problems.multiclass import MulticlassProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Arguments = tuple[Any, ...]


class WholePasses:
    """Passes over rows in memory, range by range."""

    def __init__(self, problem: MulticlassProblem) -> None:
        self._problem, self._core = problem, problem.core

    def scores(self, weights: Matrix, start: Vector) -> Matrix:
        """Return W x_i + start."""
        out = np.zeros((self._problem.rows.count, self._problem.stride))
        for begin, end in self._problem.pieces():
            self._core.scores(weights, start, out, begin, end)
        return out

    def sums(
        self, weights: Matrix, start: Vector, beta: CompressedDuals, combination: Matrix
    ) -> float:
        """Return Σ c_i ℓ_i at the weights; add W(β) to `combination`."""
        total = 0.0
        for begin, end in self._problem.pieces():
            total += self._core.losses(weights, start, *beta, combination, begin, end)
        return total

    def combine(self, duals: core.BlockDuals) -> tuple[Matrix, Vector]:
        """Return W(β) and r(β)."""
        combination, residual = _nothing(self._problem.rows, self._problem.stride)
        for begin, end in self._problem.pieces():
            self._core.combine(duals, combination, residual, begin, end)
        return combination, residual

    def terms(
        self,
        center: core.BlockDuals,
        width: float,
        scores: Matrix,
        duals: core.BlockDuals,
        ties: core.Ties,
    ) -> tuple[float, float]:
        """Write the maximisers of the rounded losses, and the ties.

        Return Σ c_i ℓ_i, and what the maximisers miss of it.
        """
        losses, mismatch = 0.0, 0.0
        ties.clear()
        for begin, end in self._problem.pieces():
            loss, missed = self._core.proximal_terms(center, width, scores, duals, ties, begin, end)
            losses, mismatch = losses + loss, mismatch + missed
        return losses, mismatch

    def derivatives(
        self, center: core.BlockDuals, width: float, scores: Matrix, slopes: Matrix, t: float
    ) -> tuple[float, float]:
        """Return both derivatives of the rounded losses along a line."""
        first, second = 0.0, 0.0
        for begin, end in self._problem.pieces():
            slope, curvature = self._core.proximal_derivatives(
                center, width, scores, slopes, t, begin, end
            )
            first, second = first + slope, second + curvature
        return first, second

    def tied_rows(self, ties: core.Ties) -> Matrix:
        """Return the rows of the ties, with their zeros."""
        rows = np.zeros((ties.count, self._problem.rows.weights))
        for begin, end in self._pieces(ties, self._problem.rows.size.product()):
            self._core.tied_rows(ties, rows, begin, end)
        return rows

    def tied_matrix(self, ties: core.Ties, work: float) -> Matrix:
        """Return the losses' second derivatives over the weights of all classes, which cost `work`.

        Only what is on or below the diagonal counts.
        """
        problem = self._problem
        matrix = _square(problem.rows, problem.classes, problem.free_intercept)
        for begin, end in problem.rows.pieces(work, ties.count):
            self._core.tied_matrix(ties, problem.free_intercept, matrix, begin, end)
        core.symmetrise(matrix)
        return matrix

    def tied_products(self, ties: core.Ties, work: float) -> Callable[[Matrix, Matrix], None]:
        """Return a function that adds these derivatives times a direction to an image.

        It costs `work` if all examples have ties.
        """
        free = self._problem.free_intercept

        def add(direction: Matrix, image: Matrix) -> None:
            for begin, end in self._pieces(ties, work):
                self._core.tied_product(ties, free, direction, image, begin, end)

        return add

    def _pieces(self, ties: core.Ties, work: float) -> Iterator[tuple[int, int]]:
        """Yield ranges of ties, each for one compiled call; `work` is that of all examples."""
        rows = self._problem.rows
        return rows.pieces(work * ties.count / max(1, rows.count), ties.count)


class BlockedPasses:
    """Passes over rows in blocks; what needs no rows is shared out among threads."""

    def __init__(self, problem: MulticlassProblem) -> None:
        rows = problem.rows
        assert isinstance(rows, BlockedRows)
        self._rows, self._stride, self._free = rows, problem.stride, problem.free_intercept
        self._shared = problem.classes, problem.rule
        self._chunks = chunks_of(rows.count, problem.stride)
        kept = problem._kept
        if "without_rows" not in kept:
            # Memory that nothing is written to is none.
            nothing = core.dense_rows(np.zeros((rows.count, 1), dtype=np.float32), 0.0)
            kept["without_rows"] = _loops_over(nothing, problem.label, problem.cost, *self._shared)
            # They stay with the blocks, wherever these are.
            kept["over"] = rows.blocks.spread(problem.label), rows.blocks.spread(problem.cost)
        self._core, self._over = kept["without_rows"], kept["over"]

    def scores(self, weights: Matrix, start: Vector) -> Matrix:
        """Return W x_i + start."""
        out: Matrix = self._run(_scores, (), (weights, start))[0]
        return out

    def sums(
        self, weights: Matrix, start: Vector, beta: CompressedDuals, combination: Matrix
    ) -> float:
        """Return Σ c_i ℓ_i at the weights; add W(β) to `combination`."""
        losses, total = self._run(_sums, (ByExample(*beta),), (weights, start))[1]
        combination += total
        return float(losses)

    def combine(self, duals: core.BlockDuals) -> tuple[Matrix, Vector]:
        """Return W(β) and r(β)."""
        beta = CompressedDuals.read(duals, self._rows.count)
        total = self._run(_combine, (ByExample(*beta),), ())[1]
        return _nothing(self._rows, self._stride) if total is None else total

    def terms(
        self,
        center: core.BlockDuals,
        width: float,
        scores: Matrix,
        duals: core.BlockDuals,
        ties: core.Ties,
    ) -> tuple[float, float]:
        """Write the maximisers of the rounded losses, and the ties."""
        parts = {at.start: core.Ties() for at in self._chunks}

        def part(at: slice) -> tuple[float, float]:
            own = parts[at.start]
            found = self._core.proximal_terms(center, width, scores, duals, own, at.start, at.stop)
            return float(found[0]), float(found[1])

        losses, mismatch = summed(self._rows.threads, self._chunks, part)
        ties.clear()
        for at in self._chunks:
            ties.append(parts[at.start])
        return losses, mismatch

    def derivatives(
        self, center: core.BlockDuals, width: float, scores: Matrix, slopes: Matrix, t: float
    ) -> tuple[float, float]:
        """Return both derivatives of the rounded losses along a line."""

        def part(at: slice) -> tuple[float, float]:
            found = self._core.proximal_derivatives(
                center, width, scores, slopes, t, at.start, at.stop
            )
            return float(found[0]), float(found[1])

        first, second = summed(self._rows.threads, self._chunks, part)
        return first, second

    def tied_rows(self, ties: core.Ties) -> Matrix:
        """Return the rows of the ties, with their zeros."""
        total = self._run(_tied_rows, (self._by_example(ties),), (), _below)[1]
        return np.zeros((0, self._rows.weights)) if total is None else total

    def tied_matrix(self, ties: core.Ties, work: float) -> Matrix:
        """Return the losses' second derivatives over the weights of all classes."""
        over = (self._by_example(ties),)
        total = self._run(_tied_matrix, over, (self._free,), work=work)[1]
        if total is None:
            return _square(self._rows, self._shared[0], self._free)
        core.symmetrise(total)
        return total

    def tied_products(self, ties: core.Ties, work: float) -> Callable[[Matrix, Matrix], None]:
        """Return a function that adds the product of these derivatives with a direction."""
        there = self._rows.blocks.spread(self._by_example(ties))
        work = work * ties.count / max(1, self._rows.count)

        def add(direction: Matrix, image: Matrix) -> None:
            total = self._run(_tied_product, (there,), (self._free, direction), work=work)[1]
            if total is not None:
                image += total

        return add

    def _by_example(self, ties: core.Ties) -> ByExample:
        pointers = np.empty(self._rows.count + 1, dtype=np.int64)
        found = ByExample(pointers, np.empty(ties.total, dtype=np.int32), np.empty(ties.total))
        ties.read(found.pointers, found.classes, found.values)
        return found

    def _run(
        self,
        task: Any,
        over: Arguments,
        shared: Arguments,
        merge: Callable[[Any, Any], Any] = added,
        work: float | None = None,
    ) -> tuple[Any, Any]:
        work = self._rows.size.block_product(self._stride) if work is None else work
        over, shared = (*self._over, *over), (*self._shared, *shared)
        return self._rows.run(task, over, shared, merge, work)


Passes: TypeAlias = WholePasses | BlockedPasses
"""What a joint multiclass problem asks of its examples."""


def _loops_over(view: Any, label: Any, cost: Vector, classes: int, rule: str) -> Any:
    # Squared norms are for sweeps.
    return core.MulticlassCore(view, label, cost, np.zeros(cost.size), classes, rule)


def _loops(rows: Rows, over: Arguments, shared: Arguments) -> Any:
    return _loops_over(rows.view, *over[:2], *shared[:2])


def _nothing(rows: Rows, stride: int) -> tuple[Matrix, Vector]:
    return np.zeros((rows.weights, stride)), np.zeros(stride)


def _square(rows: Rows, classes: int, intercept: bool) -> Matrix:
    side = classes * (rows.weights + int(intercept))
    return np.zeros((side, side))


def _below(upper: Matrix, lower: Matrix) -> Matrix:
    return np.concatenate([upper, lower])


@numbers_for_examples
def _scores(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    *_, weights, start = shared
    out = np.empty((rows.count, start.size))
    _loops(rows, over, shared).scores(weights, start, out, 0, rows.count)
    return out, None


def _sums(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    *_, weights, start = shared
    loops, total = _loops(rows, over, shared), np.zeros((rows.weights, start.size))
    beta: ByExample = over[2]
    losses = loops.losses(
        weights, start, beta.pointers, beta.classes, beta.values, total, 0, rows.count
    )
    return None, (losses, total)


def _combine(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    beta, classes = over[2], shared[0]
    if beta.values.size == 0:
        return None, None
    duals = core.BlockDuals(rows.count, classes)
    duals.write(beta.pointers, beta.classes, beta.values, classes)
    total = _nothing(rows, core.padded_classes(classes))
    _loops(rows, over, shared).combine(duals, *total, 0, rows.count)
    return None, total


def _ties(over: Arguments, classes: int) -> core.Ties:
    ties, given = core.Ties(), over[2]
    ties.write(given.pointers, given.classes, given.values, classes)
    return ties


def _tied_rows(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    ties = _ties(over, shared[0])
    if ties.count == 0:
        return None, None
    out = np.zeros((ties.count, rows.weights))
    _loops(rows, over, shared).tied_rows(ties, out, 0, ties.count)
    return None, out


def _tied_matrix(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    classes, _, free = shared
    ties = _ties(over, classes)
    if ties.count == 0:
        return None, None
    matrix = _square(rows, classes, free)
    _loops(rows, over, shared).tied_matrix(ties, free, matrix, 0, ties.count)
    return None, matrix


def _tied_product(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    classes, _, free, direction = shared
    ties = _ties(over, classes)
    if ties.count == 0:
        return None, None
    image = np.zeros_like(direction)
    _loops(rows, over, shared).tied_product(ties, free, direction, image, 0, ties.count)
    return None, image
