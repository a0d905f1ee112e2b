"""Some columns of the rows, so that work on few features reads nothing else.

Copied as rows of their own, or viewed in a copy of all rows that is stored column after column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.along import Along
from widemargin.data.cached import cached_property
from widemargin.data.quick_init import replaced
from widemargin.data.rows import Rows
from widemargin.data.work import Size
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

_SPARE = 1.5
"""Columns in a copy that is used again, as a multiple of those that are wanted."""


@dataclass(eq=False)
class LastColumns:
    """The columns that were copied last as rows; runs at another C share them."""

    places: Places | None = None
    rows: Rows | None = None
    source: Any = None
    """The view of the rows that they were copied from: they serve no others."""
    lent: float = 0.0
    """Nanoseconds that a copy would have saved since on columns that were read where they are."""
    along: Along | None = None
    """What a path over C leaves for the next run, if there is one."""

    def keep(self, places: Places, copied: Rows, source: Rows) -> None:
        """Keep columns that were copied from rows."""
        self.places, self.rows, self.source, self.lent = places, copied, source.view, 0.0

    def scores(self, rows: Rows, w: Vector) -> Vector:
        """Return x_i · w for every row, by the copy if all columns with a weight are in it."""
        if not w.any():
            return np.zeros(rows.count)
        if self.along is not None and self.along.start is not None:
            start, scores = self.along.start
            if start is w:
                return scores
        known = self.known_scores(rows, w)
        return rows.scores(w) if known is None else known

    def known_scores(self, rows: Rows, w: Vector) -> Vector | None:
        """Return the same if it takes no pass over all rows."""
        if self.places is None or self.rows is None or self.source is not rows.view:
            return None
        part = w[self.places]
        # Of truth values: those of numbers are counted twenty times as slowly.
        if np.count_nonzero(part != 0.0) < np.count_nonzero(w != 0.0):
            return None
        return replaced(self.rows, checkpoint=rows.checkpoint, meter=rows.meter).scores(part)

    def keep_scores(self, w: Vector, scores: Vector) -> None:
        """Keep the scores of the last certificate for the start at the next C of a path."""
        if self.along is not None:
            self.along.scores = [*self.along.scores[-1:], (w, scores)]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that a working set names.

    Attributes
    ----------
    source : Rows
        The given rows.
    places : ndarray
        Which columns, in rising order.
    last : LastColumns
        The last copy, for the next run on the same problem at another C.
    """

    source: Rows
    places: Places
    last: LastColumns = field(default_factory=LastColumns)

    @classmethod
    def of(cls, rows: Rows, places: Places, last: LastColumns) -> Columns:
        """Return columns, or the last ones copied if these are among them and most of them."""
        known = last.places if last.source is rows.view else None
        if known is not None and known.size <= _SPARE * places.size:
            among = np.zeros(rows.weights, dtype=bool)
            among[known] = True
            places = known if among[places].all() else places
        return cls(rows, places, last)

    @property
    def all(self) -> bool:
        """Whether these are all columns."""
        return self.places.size == self.source.weights

    @cached_property
    def rows(self) -> Rows:
        """The examples with these features alone: two passes over the indices of the rows.

        The given rows if they are all.
        """
        source = self.source
        if self.all:
            return source
        rows = self.last.rows
        if rows is None or self.last.places is not self.places:
            rows = Rows.of(self._copied())
            self.last.keep(self.places, rows, source)
            source.meter.add(source.size.product(MACHINE.copied_columns))
        # Those of an earlier run have its checkpoint and meter.
        return replaced(rows, checkpoint=source.checkpoint, meter=source.meter)

    @property
    def in_place(self) -> bool:
        """Whether columns of sparse rows are read where they are.

        Until that has cost as much as a copy of them.
        """
        source, last = self.source, self.last
        if self.all or source.size.dense or last.places is self.places:
            return False
        return last.lent < source.size.product(MACHINE.copied_columns)

    def gram(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return Σ h_i x_i x_iᵀ over these columns, with a constant 1 at the end if asked for."""
        if not self.in_place:
            return self.rows.gram(curvature, constant)
        source, side = self.source, self.places.size + int(constant)
        place = np.full(source.weights, -1, dtype=np.int32)
        place[self.places] = np.arange(self.places.size, dtype=np.int32)
        matrix = np.zeros((side, side))
        work = source.size.product(2.0) * source.nonzeros(curvature) / max(1, source.count)
        for begin, end in source.pieces(work):
            source.view.gram_of_columns(place, curvature, constant, matrix, begin, end)
        core.symmetrise(matrix)
        self.last.lent += MACHINE.copy_saves * work
        source.meter.add(work)
        return matrix

    def row_scores(self, w: Vector) -> Vector:
        """Return Σ_j x_ij w_j for every row i, row by row."""
        if not self.in_place:
            return self.rows.scores(w)
        whole = np.zeros(self.source.weights)
        whole[self.places] = w
        self.last.lent += self.source.size.product(MACHINE.copy_saves)
        return self.source.scores(whole)

    def row_combine(self, a: Vector) -> Vector:
        """Return Σ_i x_ij a_i for every column j, row by row."""
        if not self.in_place:
            return self.rows.combine(a)
        self.last.lent += self.source.size.product(MACHINE.copy_saves)
        return self.source.combine(a)[self.places]

    def _copied(self) -> Any:
        compact = _compressed(self.source, self.places)
        count = compact.shape[0]
        whole = compact.data.size == count * self.places.size and self.places.size > 0
        return compact.data.reshape(count, self.places.size) if whole else compact

    @cached_property
    def by_column(self) -> core.Columns:
        """The same columns in a copy that is stored column after column, see `_by_column`."""
        return _by_column(self.source, self.places)

    @cached_property
    def size(self) -> Size:
        """Counts of rows, columns and stored values of `by_column`."""
        stored = self.by_column.stored
        return Size(self.source.count, self.places.size, stored)

    def sums(self, a: Vector) -> tuple[Vector, Vector]:
        """Return Σ_i x_ij a_i and Σ_i x_ij² a_i for every column j, column by column."""
        sums, squares = np.empty(self.places.size), np.empty(self.places.size)
        work = self.size.column_product()
        for begin, end in self.source.pieces(work, self.places.size):
            self.by_column.sums(a, sums, squares, begin, end)
        self.source.meter.add(work)
        return sums, squares

    def combine(self, a: Vector) -> Vector:
        """Return Σ_i x_ij a_i for every column j, column by column."""
        sums, work = np.empty(self.places.size), self.size.column_product()
        for begin, end in self.source.pieces(work, self.places.size):
            self.by_column.combine(a, sums, begin, end)
        self.source.meter.add(work)
        return sums

    def scores(self, w: Vector) -> Vector:
        """Return Σ_j x_ij w_j for every row i, column by column."""
        out, work = np.zeros(self.source.count), self.size.column_product(MACHINE.changed_column)
        for begin, end in self.source.pieces(work, self.places.size):
            self.by_column.add(w, out, begin, end)
        self.source.meter.add(work)
        return out


def wide_enough(wanted: int) -> int:
    """Return how many columns a copy may have to be used again where so many are wanted."""
    return int(max(_SPARE * wanted, MACHINE.first_columns))


def column_squares(rows: Rows) -> Vector:
    """Return the squared norm of every column, which the rows keep."""
    squares: Vector | None = rows._kept.get("column squares")
    if squares is None:
        squares = rows._kept["column squares"] = rows.curvature_diagonal(np.ones(rows.count))
    return squares


def column_counts(rows: Rows) -> Places:
    """Return how many values each column stores, which the rows keep."""
    counts: Places | None = rows._kept.get("column counts")
    if counts is None:
        counts = np.zeros(rows.weights, dtype=np.int64)
        for begin, end in rows.pieces():
            rows.view.count_by_column(counts, begin, end)
        rows._kept["column counts"] = counts
    return counts


_EXTENDING = Lock()
"""Held while columns are added behind those of a store, where other threads would add theirs."""


def _by_column(rows: Rows, places: Places) -> core.Columns:
    """Return columns in a copy that is stored column after column, which the rows keep.

    It has the columns that were asked for so far. Finding more of them takes a pass over the rows;
    once such passes have cost as much as a copy of everything, the rest is copied at once. Whoever
    asks counts the price: problems in other threads may have paid it, and decisions must not depend
    on that.
    """
    store: _Store = rows._kept.get("columns") or _Store.empty(rows)
    if (store.place[places] < 0).any():
        with _EXTENDING:
            store = rows._kept.get("columns") or store
            store = rows._kept["columns"] = store.extended(rows, places)
    return store.columns.take(store.place[places])


@dataclass(frozen=True, eq=False)
class _Store:
    """Columns one after the other, and which of them each column of the rows is, or −1.

    Values and row numbers have room behind them, in which the next store goes on.
    """

    values: Vector
    numbers: NDArray[np.int32]
    pointers: Places
    place: Places
    columns: core.Columns
    passes: int = 0

    @classmethod
    def empty(cls, rows: Rows) -> _Store:
        """Begin without columns."""
        arrays = np.empty(0), np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        place = np.full(rows.weights, -1, dtype=np.int64)
        return cls(*arrays, place, core.Columns(*arrays, rows.count))

    def extended(self, rows: Rows, places: Places) -> _Store:
        """Return the same columns and those that are missing of some."""
        missing = places[self.place[places] < 0]
        if not missing.size:
            return self
        if self.passes * rows.size.product() > MACHINE.transposed_value * rows.size.values:
            missing = np.flatnonzero(self.place < 0)
        before = self.pointers[-1]
        ends = before + np.cumsum(column_counts(rows)[missing])
        pointers = np.concatenate([self.pointers, ends])
        values, numbers, end = self.values, self.numbers, int(ends[-1])
        if values.size < end:
            room = min(2 * end, int(column_counts(rows).sum()))
            values, numbers = np.empty(room), np.empty(room, dtype=np.int32)
            values[:before], numbers[:before] = self.values[:before], self.numbers[:before]
        place = np.full(rows.weights, -1, dtype=np.int32)
        place[missing] = np.arange(missing.size, dtype=np.int32)
        next_value = pointers[self.pointers.size - 1 : -1].copy()
        for first, last in rows.pieces():
            rows.view.take_by_column(place, next_value, numbers, values, first, last)
        placed = self.place.copy()
        placed[missing] = self.pointers.size - 1 + np.arange(missing.size)
        columns = core.Columns(values[:end], numbers[:end], pointers, rows.count)
        return _Store(values, numbers, pointers, placed, columns, self.passes + 1)


def _is_stored(rows: Rows) -> bool:
    """Whether the rows were given as CSR, with nothing left out or added."""
    return rows.plain and sp.issparse(rows.array) and rows.array.indptr[0] == 0


def _compressed(rows: Rows, places: Places) -> Any:
    """Return columns of the rows as a CSR matrix."""
    if places.size == rows.weights and _is_stored(rows):
        return sp.csr_array(rows.array, dtype=np.float64)
    place = np.full(rows.weights, -1, dtype=np.int32)
    place[places] = np.arange(places.size, dtype=np.int32)
    pointers = np.zeros(rows.count + 1, dtype=np.int64)
    counts = np.empty(rows.count, dtype=np.int64)
    for begin, end in rows.pieces():
        rows.view.count_columns(place, counts, begin, end)
    np.cumsum(counts, out=pointers[1:])
    indices, values = np.empty(int(pointers[-1]), dtype=np.int32), np.empty(int(pointers[-1]))
    for begin, end in rows.pieces():
        rows.view.take_columns(place, pointers, indices, values, begin, end)
    narrow = pointers.astype(np.int32) if pointers[-1] < 2**31 else pointers
    wide = indices if narrow.dtype == np.int32 else indices.astype(np.int64)
    return sp.csr_array((values, wide, narrow), shape=(rows.count, places.size))
