"""Rows in blocks that are all in memory: one compiled call works on many blocks, in threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.blas_gram import SYRK
from widemargin.data.block_work import Threads, Tree
from widemargin.data.blocked_rows import Arguments, BlockedRows, added_pairs
from widemargin.data.blocks import LocalBlocks, rows_of_block
from widemargin.data.rows import COMPENSATED, Rows
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]


def rows_in_blocks(rows: Rows, threads: Threads) -> Rows:
    """Cut rows into blocks; return them as they are if that makes a single one."""
    if rows.array is None or rows._taken_from is not None:
        return rows
    if rows.array.shape[0] > rows_of_block(rows.array):
        rows = _in_order(rows)
    blocks = LocalBlocks.of(rows.array, threads, rows.view, rows._constant)
    if blocks.cuts.size <= 2:
        return rows
    return MemoryRows(
        rows.view,
        rows.checkpoint,
        rows.meter,
        rows.shift,
        rows.longest,
        rows._constant,
        array=rows.array,
        blocks=blocks,
        dimensions=rows.size,
    )


def _in_order(rows: Rows) -> Rows:
    """Copy rows whose columns are out of order: sums over blocks hold one triangle of a matrix."""
    if not sp.issparse(rows.array) or rows.array.has_sorted_indices:
        return rows
    ordered = rows.array.sorted_indices()
    columns = ordered.data, ordered.indices, ordered.indptr
    view = core.csr_rows(*columns, ordered.shape[1], rows._constant, 1)
    return replace(rows, view=view, array=ordered)


@dataclass(frozen=True, eq=False)
class MemoryRows(BlockedRows):
    """What `BlockedRows` does, with the same bits, in fewer and longer calls."""

    @property
    def _compiled(self) -> core.BlockRows:
        compiled: core.BlockRows = self.blocks.compiled
        return compiled

    @property
    def norms(self) -> Vector:
        """Squared Euclidean norm of each row, with the constant feature if there is one."""
        norms = self._kept.get("norms")
        if norms is None:
            norms = self._kept["norms"] = self._filled(self._compiled.squared_norms)
        return norms

    def _squares(self) -> float:
        tree = Tree()
        for place, (first, last) in enumerate(self._stretches(self.size.product())):
            tree.add(place, self._compiled.total_squared_norm(first, last))
            self.checkpoint()
        return float(tree.total() or 0.0)

    def scores(self, w: Vector) -> Vector:
        """Return x_i · w for every row."""
        known = self.known_scores(w)
        if known is not None:
            return known
        self.meter.add(self.size.product())
        return self._filled(self._compiled.scores, w)

    def combine(self, coefficients: Vector, signs: Vector | None = None) -> Vector:
        """Return Σ coefficients_i x_i, each times its sign if signs are given."""
        self.meter.add(self.size.product())
        return self._added(self._compiled.accumulate, coefficients, signs)

    def combine_change(self, fresh: Vector, old: Vector, signs: Vector) -> Vector:
        """Return Σ (fresh_i − old_i) signs_i x_i; rows whose coefficient stayed are not read."""
        self.meter.add(self.size.product(0.5))
        return self._added(self._compiled.accumulate_change, fresh, old, signs)

    def scores_and_combination(
        self, w: Vector, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the scores and the combination from one pass over the data."""
        self.meter.add(self.size.product(2.0))
        out = np.empty(self.count)
        call = self._compiled.scores_and_accumulate
        return out, self._added(call, w, out, coefficients, signs, work=2.0)

    def compensated_scores(self, w: Vector, b: tuple[float, float]) -> Vector:
        """Return x_i · w + b for every row, each rounded once; b is the sum of two numbers."""
        self.meter.add(self.size.product(COMPENSATED))
        return self._filled(self._compiled.compensated_scores, w, *b, work=COMPENSATED)

    def compensated_pair(
        self, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return Σ coefficients_i x_i as the sum of two vectors."""
        self.meter.add(self.size.product(COMPENSATED))
        tree = Tree(added_pairs)
        for place, (first, last) in enumerate(self._stretches(self.size.product(COMPENSATED))):
            pair = np.empty((2, self.weights))
            self._compiled.compensated_accumulate(first, last, coefficients, signs, pair)
            tree.add(place, (pair[0], pair[1]))
            self.checkpoint()
        high, low = tree.total() or (np.zeros(self.weights), np.zeros(self.weights))
        return high, low

    def curvature_product(
        self, curvature: Vector, direction: Vector, shift: float
    ) -> tuple[Vector, float]:
        """Return Σ h_i s_i x_i and Σ h_i s_i, with s_i = x_i · direction + shift."""
        return self._curved(curvature, direction, shift, None)

    def curvature_product_and_scores(
        self, curvature: Vector, direction: Vector, shift: float
    ) -> tuple[Vector, float, Vector]:
        """Return what `curvature_product` does, and the scores x_i · direction of all rows."""
        scores = np.empty(self.count)
        return *self._curved(curvature, direction, shift, scores), scores

    def _curved(
        self, curvature: Vector, direction: Vector, shift: float, scores: Vector | None
    ) -> tuple[Vector, float]:
        self.meter.add(self.size.curved_product(self.nonzeros(curvature)))
        tree = Tree()
        for place, (first, last) in enumerate(self._stretches(self.size.product(2.0))):
            total = np.empty(self.weights)
            share = self._compiled.curvature_product(
                first, last, curvature, direction, shift, total, scores
            )
            tree.add(place, (total, share))
            self.checkpoint()
        total, share = tree.total() or (np.zeros(self.weights), 0.0)  # without rows
        return total, float(share)

    @property
    def in_one_stretch(self) -> bool:
        """Whether a product with the curvature is one compiled call."""
        return self.size.product(2.0) <= self.threads.count * MACHINE.call

    def gradient_steps(
        self,
        curvature: Vector,
        slopes: Vector | None,
        vectors: core.DiagonalGradients,
        accuracy: tuple[float, float, float, float],
        most: int,
    ) -> tuple[int, bool]:
        """Make steps of conjugate gradients, as many as one compiled call should.

        See `widemargin.linalg.diagonal_gradients`. The slopes move by the scores of what is moved.
        """
        work = self.size.product(2.0)
        scores = None if slopes is None else np.empty(self.count)
        most = min(most, 1 + int(self.threads.count * MACHINE.call / max(1.0, work)))
        made, unsolved = vectors.advance(self._compiled, curvature, scores, slopes, accuracy, most)
        spent = self.size.curved_product(self.nonzeros(curvature))
        for _ in range(made):
            self.meter.add(spent)  # as wherever the blocks are
        self.checkpoint()
        return made, unsolved

    def curvature_diagonal(self, curvature: Vector) -> Vector:
        """Return Σ h_i x_ij² for every feature j."""
        self.meter.add(self.size.product())
        return self._added(self._compiled.curvature_diagonal, curvature)

    def combine_with_diagonal(
        self, combine: tuple[str, Arguments], curvature: Vector, constant: bool
    ) -> tuple[Vector, Vector, Vector | None]:
        """Return three sums: a combination, the diagonal Σ h_i x_ij², and Σ h_i x_i if asked for.

        In memory, passes of their own cost little more than one for all.
        """
        name, over = combine
        before = self.meter.nanoseconds
        total, diagonal = getattr(self, name)(*over), self.curvature_diagonal(curvature)
        mean = self.combine(curvature) if constant else None
        # Counted as wherever the blocks are, so that decisions are the same.
        self.meter.nanoseconds = before + self.size.product(3.0 if constant else 2.0)
        return total, diagonal, mean

    def gram(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return Σ h_i x_i x_iᵀ, with a last row and column for the constant 1 if asked for."""
        work = self.size.gram(self.nonzeros(curvature))
        self.meter.add(work)
        side, tree = self.weights + int(constant), Tree(self._added_matrices)
        density = MACHINE.blas_density if side >= MACHINE.blas_side else math.inf
        for place, (first, last) in enumerate(self._stretches(work)):
            matrix = np.empty((side, side))
            self._compiled.gram(
                first, last, curvature, constant, matrix, SYRK, (density, MACHINE.blas_rows)
            )
            tree.add(place, matrix)
            self.checkpoint()
        matrix = tree.total()
        matrix = np.zeros((side, side)) if matrix is None else matrix
        core.symmetrise_by_threads(self.threads.pool, matrix)
        return matrix

    def _added_matrices(self, left: Vector, right: Vector) -> Vector:
        self.add_scaled(left, right, 1.0)
        return left

    def _filled(self, call: Callable[..., None], *given: Any, work: float = 1.0) -> Vector:
        """Return a number for every example."""
        out = np.empty(self.count)
        for first, last in self._stretches(self.size.product(work)):
            call(first, last, *given, out)
            self.checkpoint()
        return out

    def _added(self, call: Callable[..., None], *given: Any, work: float = 1.0) -> Vector:
        """Return a number for every weight."""
        tree = Tree()
        for place, (first, last) in enumerate(self._stretches(self.size.product(work))):
            total = np.empty(self.weights)
            call(first, last, *given, total)
            tree.add(place, total)
            self.checkpoint()
        total = tree.total()
        return np.zeros(self.weights) if total is None else total

    def _stretches(self, work: float) -> Iterator[tuple[int, int]]:
        """Yield ranges of blocks for one call each, all of the same power of two but the last.

        Sums over such ranges are branches of the tree, so that their length changes no bit.
        """
        count, threads = self.blocks.cuts.size - 1, self.threads.count
        step = count
        if work > threads * MACHINE.call:
            # Few enough for about 0.1 s, but enough for all threads.
            within = max(2 * threads, int(count * threads * MACHINE.call / work))
            step = 1 << (within - 1).bit_length()
        for first in range(0, count, max(1, step)):
            yield first, min(first + step, count)
