"""Some columns of the rows, so that work on few features reads nothing else.

Copied as rows of their own, or viewed in a copy of all rows that is stored column after column.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.data.work import Size
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

_SPARE = 1.5
"""Columns in a copy that is used again, as a multiple of those that are wanted."""

_FEW = 0.2
"""Share of the stored values up to which a copy of these alone costs much less than one of all."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that a working set names.

    Attributes
    ----------
    source : Rows
        The given rows.
    places : ndarray
        Which columns, in rising order.
    kept : dict
        Where the last copy is kept, for the next run on the same problem at another C.
    """

    source: Rows
    places: Places
    kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, places: Places, kept: dict[str, Any]) -> Columns:
        """Return columns, or the last ones copied if these are among them and most of them."""
        last: Places | None = kept.get("places")
        spare = last is not None and last.size <= _SPARE * places.size
        if last is not None and spare and np.isin(places, last, assume_unique=True).all():
            places = last
        return cls(rows, places, kept)

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
        if self.kept.get("places") is not self.places:
            self.kept["rows"] = Rows.of(self._copied())
            self.kept["places"] = self.places
            source.meter.add(source.size.product(2.0))
        # Those kept from an earlier run have its checkpoint and meter.
        return replace(self.kept["rows"], checkpoint=source.checkpoint, meter=source.meter)

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
        work = self.size.product(2.0)
        for begin, end in self.source.pieces(work, self.places.size):
            self.by_column.sums(a, sums, squares, begin, end)
        self.source.meter.add(work)
        return sums, squares

    def combine(self, a: Vector) -> Vector:
        """Return Σ_i x_ij a_i for every column j, column by column."""
        sums, work = np.empty(self.places.size), self.size.product()
        for begin, end in self.source.pieces(work, self.places.size):
            self.by_column.combine(a, sums, begin, end)
        self.source.meter.add(work)
        return sums

    def scores(self, w: Vector) -> Vector:
        """Return Σ_j x_ij w_j for every row i, column by column."""
        out, work = np.zeros(self.source.count), self.size.product(2.0)
        for begin, end in self.source.pieces(work, self.places.size):
            self.by_column.add(w, out, begin, end)
        self.source.meter.add(work)
        return out


def column_squares(rows: Rows) -> Vector:
    """Return the squared norm of every column, which the rows keep."""
    squares: Vector | None = rows._kept.get("column squares")
    if squares is None:
        squares = rows._kept["column squares"] = rows.curvature_diagonal(np.ones(rows.count))
    return squares


def _by_column(rows: Rows, places: Places) -> core.Columns:
    """Return columns in a copy that is stored column after column, which the rows keep.

    It has these columns alone if they are few; the next time that others are wanted, all. Whoever
    asks counts its price: problems in other threads may have made it, and decisions must not depend
    on that.
    """
    kept: _Kept | None = rows._kept.get("columns")
    if kept is None or (kept.place[places] < 0).any():
        wanted = places
        if kept is not None or _stored(rows, places) > _FEW * rows.size.values:
            wanted = np.arange(rows.weights)
        matrix = _compressed(rows, wanted).tocsc()
        indices, pointers = matrix.indices, matrix.indptr.astype(np.int64)
        columns = core.Columns(
            matrix.data, indices.astype(np.int32, copy=False), pointers, rows.count
        )
        place = np.full(rows.weights, -1, dtype=np.int64)
        place[wanted] = np.arange(wanted.size)
        kept = rows._kept["columns"] = _Kept(columns, place)
    return kept.columns.take(kept.place[places])


@dataclass(frozen=True, eq=False)
class _Kept:
    """Columns one after the other, and which of them each column of the rows is, or −1."""

    columns: core.Columns
    place: Places


def _stored(rows: Rows, places: Places) -> int:
    """Count the stored values of columns."""
    if rows.size.dense:
        return rows.count * places.size
    place = np.full(rows.weights, -1, dtype=np.int32)
    place[places] = 0
    counts = np.empty(rows.count, dtype=np.int64)
    for begin, end in rows.pieces():
        rows.view.count_columns(place, counts, begin, end)
    return int(counts.sum())


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
