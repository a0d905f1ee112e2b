"""Some columns of the rows, copied, so that work on few features reads nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that a working set names.

    Attributes
    ----------
    places : ndarray
        Which columns, in rising order.
    rows : Rows
        The examples with these features alone; the given rows if they are all.
    source : Rows
        The given rows.
    """

    places: Places
    rows: Rows
    source: Rows

    @classmethod
    def of(cls, rows: Rows, places: Places) -> Columns:
        """Copy columns; two passes over the indices of the rows."""
        if places.size == rows.weights:
            return cls(places, rows, rows)
        compact = _compressed(rows, places)
        count = compact.shape[0]
        whole = compact.data.size == count * places.size and places.size > 0
        array: Any = compact.data.reshape(count, places.size) if whole else compact
        taken = Rows.of(array)
        return cls(places, replace(taken, checkpoint=rows.checkpoint, meter=rows.meter), rows)

    @cached_property
    def by_column(self) -> core.Columns:
        """The same values, column after column: a second copy."""
        matrix = _compressed(self.source, self.places).tocsc()
        return core.Columns(
            matrix.data,
            matrix.indices.astype(np.int32, copy=False),
            matrix.indptr.astype(np.int64),
            matrix.shape[0],
        )

    def sums(self, a: Vector) -> tuple[Vector, Vector]:
        """Return Σ_i x_ij a_i and Σ_i x_ij² a_i for every column j."""
        sums, squares = np.empty(self.places.size), np.empty(self.places.size)
        work = self.rows.size.product(2.0)
        for begin, end in self.rows.pieces(work, self.places.size):
            self.by_column.sums(a, sums, squares, begin, end)
        self.rows.meter.add(work)
        return sums, squares


def _compressed(rows: Rows, places: Places) -> Any:
    """Return columns of the rows as a CSR matrix of their own."""
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
    rows.meter.add(rows.size.product(2.0))
    narrow = pointers.astype(np.int32) if pointers[-1] < 2**31 else pointers
    wide = indices if narrow.dtype == np.int32 else indices.astype(np.int64)
    return sp.csr_array((values, wide, narrow), shape=(rows.count, places.size))
