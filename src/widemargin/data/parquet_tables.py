"""Parquet files: read into a dense table, and written from rows; needs pyarrow."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.replacing import replacing
from widemargin.data.tables import PathLike, Table, TableColumns, column_names, fail
from widemargin.instruction_sets import core

STRING_BYTES = 64
"""Of a text as Python keeps it, about."""


def read_parquet(path: PathLike, columns: TableColumns | None = None) -> Table:
    """Read a Parquet file into a dense table; by default the last column is the label."""
    arrow, parquet = pyarrow_modules()
    columns = TableColumns() if columns is None else columns
    with opened(arrow, path) as file, told_as_damage(arrow, path):
        table = parquet.read_table(file)
        read = Columns(table, Layout.of(arrow, table.schema, columns, path))
        if read.count == 0:
            fail(path, "there are no examples in the file")
        return read.part(0, read.count)


def opened(arrow: Any, path: PathLike) -> Any:
    """Open a file for pyarrow, which then reads without Python's lock and its buffers."""
    open(path, "rb").close()  # Python's own errors
    return arrow.OSFile(os.fspath(path))


@contextlib.contextmanager
def told_as_damage(arrow: Any, path: PathLike) -> Iterator[None]:
    """Tell which file is damaged: that shows when it is opened, or only when it is looked at."""
    try:
        yield
    except (
        arrow.ArrowException,
        OSError,
        UnicodeDecodeError,
        OverflowError,
        NotImplementedError,
    ) as error:
        reason = (str(error) or "it cannot be read").splitlines()[0]
        fail(path, f"not a usable Parquet file: {reason}")


@dataclass(frozen=True)
class Layout:
    """Which columns of a file are the label and the features, and what rows are made of them.

    Attributes
    ----------
    path : path
    names : list of str
        Of all columns.
    label : int or None
    places : list of int
        Of the features.
    dtype : dtype
        float32 if all features are, else float64.
    bytes_of_row : int
        About how many bytes a row takes up as columns, those that change their type counted twice.
    """

    path: PathLike
    names: list[str]
    label: int | None
    places: list[int]
    dtype: Any
    bytes_of_row: int

    @classmethod
    def of(cls, arrow: Any, schema: Any, columns: TableColumns, path: PathLike) -> Layout:
        """Look at the names and types of the columns; refuse features that are not numbers."""
        names, kinds, types = list(schema.names), list(schema.types), arrow.types
        label, places = columns.split(len(names), names, path)
        numeric = (types.is_integer, types.is_floating, types.is_boolean)
        for place in places:
            if not any(test(kinds[place]) for test in numeric):
                fail(path, f"column {names[place]!r} contains {kinds[place]}, not numbers")
        single = all(types.is_float32(kinds[place]) for place in places)
        dtype = np.dtype(np.float32 if single else np.float64)
        bits = [kind.bit_width if types.is_primitive(kind) else 8 * STRING_BYTES for kind in kinds]
        changed = sum(bits[place] != 8 * dtype.itemsize for place in places)
        size = sum(bits) // 8 + changed * dtype.itemsize
        return cls(path, names, label, places, dtype, max(8, size))


class Columns:
    """The columns of a table, which become rows a part at a time.

    Parameters
    ----------
    table : pyarrow.Table
    layout : Layout
    before : int
        Rows of the file before those of the table.
    """

    def __init__(self, table: Any, layout: Layout, before: int = 0) -> None:
        table.validate(full=True)
        self._layout, self._before, self.count = layout, before, table.num_rows
        self._values = [
            np.ascontiguousarray(self._numbers(table, place), layout.dtype)
            for place in layout.places
        ]
        self._compiled = core.table_columns(self._values, self.count)
        self._labels = None
        if layout.label is not None:
            y = self._numbers(table, layout.label)
            self._check_finite(y, layout.label)
            self._labels = y.astype(str) if y.dtype.kind == "O" else y

    def part(self, begin: int, end: int) -> Table:
        """Return some rows."""
        layout = self._layout
        X = np.empty((end - begin, len(layout.places)), layout.dtype)
        if not self._compiled.rows(begin, X):
            for place, values in zip(layout.places, self._values, strict=True):
                self._check_finite(values, place)
        y = None if self._labels is None else self._labels[begin:end]
        return Table(X, y, tuple(layout.names[place] for place in layout.places))

    def _numbers(self, table: Any, place: int) -> NDArray[Any]:
        """Return the values of a column, which may be infinite or not a number."""
        column = table.column(place)
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            self._fail(row, place, "the value is missing")
        values: NDArray[Any] = (
            column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
        ).to_numpy()
        return values

    def _check_finite(self, values: NDArray[Any], place: int) -> None:
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmax(~np.isfinite(values)))
            self._fail(row, place, f"{values[row]} is not finite")

    def _fail(self, row: int, place: int, reason: str) -> NoReturn:
        name = self._layout.names[place]
        fail(self._layout.path, f"row {self._before + row + 1}, column {name!r}: {reason}")


def write_parquet(X: Any, y: Any, path: PathLike, names: Sequence[str] | None = None) -> None:
    """Write examples as Parquet, the label last."""
    arrow, parquet = pyarrow_modules()
    header = column_names(X, y, names)
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    columns = [*dense.T, *(() if y is None else (y,))]
    with replacing(path) as file:
        parquet.write_table(arrow.table(list(map(arrow.array, columns)), names=header), file)


def pyarrow_modules() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet, or say how to get them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'widemargin[parquet]'") from None
    return pyarrow, pyarrow.parquet
