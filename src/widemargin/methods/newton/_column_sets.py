"""Two ways to choose working sets of columns and to minimise models on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.columns import Columns, column_counts
from widemargin.data.work import Size
from widemargin.methods.newton._column_state import ColumnState
from widemargin.methods.newton._column_steps import ColumnNewton
from widemargin.methods.newton._elastic_net_model import (
    Minimum,
    QuadraticModel,
    by_columns,
    by_matrix,
)

Vector = NDArray[np.float64]

_GROWTH = 2.0
"""A working set is this many times its weights that are not zero, or more."""

_MORE = 1.1
"""It grows by this much more with every change, so that no sequence of sets goes on for ever."""

_EXACT = 0.01
"""Models whose matrix is known are minimised so much better: that costs little beside the matrix,
and the dual variables of the model then meet their constraints."""

_LEFT_OUT = 0.1
"""Share of the curvature that a matrix may lack at most: more would slow the steps down."""

_TAKEN_OUT = 4.0
"""Products that taking columns out costs: two to count and copy them, two for what follows."""


@dataclass(frozen=True, eq=False)
class KeptMatrix:
    """Σ h_i x_i x_iᵀ over the columns of a working set, which the next step changes to its own.

    Only examples whose curvature has changed by more than a small share of the mean are added. The
    first step has no matrix before it: there, those with hardly any curvature are left out.
    `curvature` is what the matrix has, so that it belongs to it exactly.
    """

    columns: Columns
    curvature: Vector
    matrix: NDArray[np.float64]

    @classmethod
    def following(
        cls, before: KeptMatrix | None, model: QuadraticModel, allowed: float
    ) -> KeptMatrix:
        """Return the matrix of a model, all anew if that is less work than what has changed."""
        wanted, least = model.curvature, allowed * float(model.curvature.mean())
        anew = np.where(wanted > least, wanted, 0.0)
        if before is not None and before.columns is model.columns:
            change = wanted - before.curvature
            change[np.abs(change) <= least] = 0.0
            if 2 * np.count_nonzero(change) < np.count_nonzero(anew):
                before._add(change, model)
                return cls(model.columns, before.curvature + change, before.matrix)
        return cls(model.columns, anew, model.columns.gram(anew, model.free))

    def _add(self, change: Vector, model: QuadraticModel) -> None:
        """Change the matrix to that of another curvature; kernels take roots of what they add."""
        come, gone = np.maximum(change, 0.0), np.maximum(-change, 0.0)
        if come.any():
            np.add(self.matrix, model.columns.gram(come, model.free), out=self.matrix)
        if gone.any():
            np.subtract(self.matrix, model.columns.gram(gone, model.free), out=self.matrix)


class ByMatrix(ColumnNewton):
    """Models are minimised with the Gram matrix of the working set."""

    def _chosen(self, state: ColumnState, violations: Vector) -> NDArray[np.int64]:
        """Take those that violate most, twice as many as weights: matrices are expensive."""
        support = np.flatnonzero(state.w != 0.0)
        wanted = max(MACHINE.first_columns, int(_GROWTH * support.size))
        order = violations.copy()
        order[support] = np.inf
        if state.columns is not None:
            # Sets that had to change again and again were too small.
            state.changes += 1
            wanted = int(wanted * _MORE**state.changes)
            old = state.columns.places
            order[old] = np.maximum(order[old], np.finfo(float).tiny)
        state.passes += 1.0
        if _takes_all(state.problem.rows.size, wanted):
            return np.arange(state.w.size)
        places = np.argpartition(-order, wanted)[:wanted]
        return np.sort(places[order[places] > 0.0])

    def minimise(self, state: ColumnState, model: QuadraticModel, wanted: float) -> Minimum:
        """Form the matrix and minimise the model."""
        gap, tol = state.expected_gap, state.settings.tol
        if state.last.along is not None and gap == np.inf:
            gap = state.last.along.gain
        # What is left out costs such a share of what the step can gain: no more than the tolerance.
        allowed = min(_LEFT_OUT, tol / gap) if gap > 0.0 else _LEFT_OUT
        state.kept = KeptMatrix.following(state.kept, model, allowed)
        matrix, state.curvature = state.kept.matrix, state.kept.curvature
        state.problem.meter.add(MACHINE.matrix_entry * matrix.size)
        # The dual variables of a sample prove nothing.
        accuracy = wanted if state.sampled else _EXACT * wanted
        return by_matrix(model, state.penalty, accuracy, matrix)

    def _slopes(self, columns: Columns, a: Vector) -> Vector:
        return columns.row_combine(a)

    def _scores(self, columns: Columns, change: Vector) -> Vector:
        return columns.row_scores(change)

    def _in_place(self, columns: Columns) -> bool:
        return columns.in_place

    def _size(self, columns: Columns) -> Size:
        return columns.source.size if columns.in_place else columns.rows.size


class ByColumns(ColumnNewton):
    """Models are minimised by sweeps over the columns of the working set."""

    def _chosen(self, state: ColumnState, violations: Vector) -> NDArray[np.int64]:
        """Take those that violate most, until work on them costs what looking at all does.

        At least twice as many as there are weights. Where all weights count, take all.
        """
        rows, size = state.problem.rows, state.problem.rows.size
        if state.penalty.rho == 0.0:
            state.problem.meter.add(MACHINE.transposed_value * size.values)
            return np.arange(state.w.size)
        counts = column_counts(rows)
        support = state.w != 0.0
        violate = np.flatnonzero((violations > 0.0) & ~support)
        ranked = violate[np.argsort(-violations[violate], kind="stable")]
        stored = np.cumsum(counts[ranked])
        enough = int(np.searchsorted(stored, _share(size) * size.values)) + 1
        most = max(enough, MACHINE.first_columns, int(_GROWTH * support.sum()))
        places = np.sort(np.concatenate([np.flatnonzero(support), ranked[:most]]))
        fresh = places
        if state.columns is not None:
            fresh = np.setdiff1d(places, state.columns.places, assume_unique=True)
        state.problem.meter.add(
            size.product() + MACHINE.transposed_value * float(counts[fresh].sum())
        )
        return places

    def _in_work(self, state: ColumnState, violations: Vector) -> int:
        """Count all that violate or have a weight: those outside the working set come next."""
        return int(np.count_nonzero((violations > 0.0) | (state.w != 0.0)))

    def minimise(self, state: ColumnState, model: QuadraticModel, wanted: float) -> Minimum:
        """Sweep over the columns until the model is minimised, or a new one is worth more."""
        size = model.columns.size
        fresh = size.column_product(4.0) + size.vectors(MACHINE.newton_vectors) + MACHINE.step
        budget = min(state.trust * fresh, max(fresh, state.spent))
        return by_columns(model, state.penalty, wanted, budget)

    def _slopes(self, columns: Columns, a: Vector) -> Vector:
        return columns.combine(a)

    def _scores(self, columns: Columns, change: Vector) -> Vector:
        return columns.scores(change)

    def _size(self, columns: Columns) -> Size:
        return columns.size


def _share(size: Size) -> float:
    """Return the share of the stored values on which a step costs as much as finding its columns.

    That takes two passes over the rows, to look at all columns and to copy some.
    """
    step = MACHINE.transposed_value * size.values
    step += MACHINE.column_sweeps * size.column_sweep(1.0, 0.5)
    return size.product(2.0) / step


def _takes_all(size: Size, wanted: int) -> bool:
    """Whether to form the matrix of all columns, though so many would do.

    Taking columns out has a price; the matrix grows with their square. One of half the entries is
    hardly worth it: more columns will be wanted.
    """
    part = Size(size.rows, wanted, size.values * wanted // size.weights)
    more = MACHINE.matrix_entry * (size.weights**2 - wanted**2)
    dear = size.gram() - part.gram() + more > size.product(_TAKEN_OUT)
    return 4 * wanted >= size.weights and (2 * wanted**2 >= size.weights**2 or not dear)
