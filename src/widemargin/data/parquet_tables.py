"""Parquet files: read into a dense table, and written from rows; needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.blocks import rows_of_block
from widemargin.data.read_ahead import ahead
from widemargin.data.replacing import replacing
from widemargin.data.tables import PathLike, Table, TableColumns, column_names, fail
from widemargin.instruction_sets import core


def read_parquet(path: PathLike, columns: TableColumns | None = None) -> Table:
    """Read a Parquet file into a dense table; by default the last column is the label."""
    arrow, parquet = _pyarrow()
    columns = TableColumns() if columns is None else columns
    # Damage shows when the file is opened, or only when its values or names are looked at.
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError, NotImplementedError)
    with open(path, "rb") as file:
        try:
            read = _Columns(arrow, parquet.read_table(file), columns, path)
            return read.part(0, read.count)
        except damage as error:
            reason = (str(error) or "it cannot be read").splitlines()[0]
            fail(path, f"not a usable Parquet file: {reason}")


class _Columns:
    """The columns of a table, which become rows a part at a time."""

    def __init__(self, arrow: Any, table: Any, columns: TableColumns, path: PathLike) -> None:
        table.validate(full=True)
        self._path, self._names, self.count = path, list(table.column_names), table.num_rows
        label, self._places = columns.split(len(self._names), self._names, path)
        if self.count == 0:
            fail(path, "there are no examples in the file")
        kinds = [table.schema.field(place).type for place in self._places]
        single = all(arrow.types.is_float32(kind) for kind in kinds)
        self._dtype = np.dtype(np.float32 if single else np.float64)
        numeric = (arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_boolean)
        self._values = []
        for place, kind in zip(self._places, kinds, strict=True):
            name = self._names[place]
            if not any(test(kind) for test in numeric):
                fail(path, f"column {name!r} contains {kind}, not numbers")
            values = _numbers(table.column(place), name, path)
            self._values.append(np.ascontiguousarray(values, self._dtype))
        self._compiled = core.table_columns(self._values, self.count)
        self._labels = None
        if label is not None:
            y = _arrow_values(table.column(label), self._names[label], path)
            self._labels = y.astype(str) if y.dtype.kind == "O" else y

    @property
    def rows_of_part(self) -> int:
        """How many rows a block has: none is put together from two parts."""
        return rows_of_block(np.empty((0, len(self._places))))

    def part(self, begin: int, end: int) -> Table:
        """Return some rows."""
        X = np.empty((end - begin, len(self._places)), self._dtype)
        if not self._compiled.rows(begin, X):
            for place, values in zip(self._places, self._values, strict=True):
                _check_finite(values, self._names[place], self._path)
        y = None if self._labels is None else self._labels[begin:end]
        return Table(X, y, tuple(self._names[place] for place in self._places))


def write_parquet(X: Any, y: Any, path: PathLike, names: Sequence[str] | None = None) -> None:
    """Write examples as Parquet, the label last."""
    arrow, parquet = _pyarrow()
    header = column_names(X, y, names)
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    columns = [*dense.T, *(() if y is None else (y,))]
    with replacing(path) as file:
        parquet.write_table(arrow.table(list(map(arrow.array, columns)), names=header), file)


def _pyarrow() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet, or say how to get them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'widemargin[parquet]'") from None
    return pyarrow, pyarrow.parquet


def _arrow_values(column: Any, name: str, path: PathLike) -> NDArray[Any]:
    values = _numbers(column, name, path)
    _check_finite(values, name, path)
    return values


def _numbers(column: Any, name: str, path: PathLike) -> NDArray[Any]:
    """Return the values of a column, which may be infinite or not a number."""
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        fail(path, f"row {row + 1}, column {name!r}: the value is missing")
    values: NDArray[Any] = (
        column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
    ).to_numpy()
    return values


def _check_finite(values: NDArray[Any], name: str, path: PathLike) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        fail(path, f"row {row + 1}, column {name!r}: {values[row]} is not finite")


def _bytes_of_row(arrow: Any, schema: Any) -> int:
    """Return about how many bytes the values of a row take up."""
    bits = [kind.bit_width if arrow.types.is_primitive(kind) else 64 for kind in schema.types]
    return max(8, sum(bits) // 8)


def iter_parquet(
    path: PathLike, columns: TableColumns, most_bytes: int, group_bytes: int
) -> Iterator[tuple[float, Table]]:
    """Yield blocks of rows of a Parquet file, each with the share read so far.

    A thread decodes the next columns while some are turned into rows and used: a row group of no
    more than `group_bytes` as a whole, which takes the least time, and larger ones in batches of
    about `most_bytes`.
    """
    arrow, parquet = _pyarrow()
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError, NotImplementedError)
    with open(path, "rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            count = file.metadata.num_rows
            if count == 0:
                fail(path, "there are no examples in the file")
            bytes_of_row = _bytes_of_row(arrow, file.schema_arrow)
            rows = max(1, most_bytes // bytes_of_row)
            # A power of two, as blocks have.
            rows, done = 1 << (rows.bit_length() - 1), 0
            for table in ahead(_tables(arrow, file, rows, max(rows, group_bytes // bytes_of_row))):
                read = _Columns(arrow, table, columns, path)
                step = read.rows_of_part
                for begin in range(0, read.count, step):
                    part = read.part(begin, min(begin + step, read.count))
                    done += len(part.X)
                    yield done / count, part
        except damage as error:
            reason = (str(error) or "it cannot be read").splitlines()[0]
            fail(path, f"not a usable Parquet file: {reason}")


def _tables(arrow: Any, file: Any, rows: int, most: int) -> Iterator[Any]:
    """Yield the row groups with at most so many rows, and the others in batches of `rows`."""
    for group in range(file.num_row_groups):
        length = file.metadata.row_group(group).num_rows
        if 0 < length <= most:
            yield file.read_row_group(group)
        elif length > 0:
            for batch in file.iter_batches(batch_size=rows, row_groups=[group]):
                yield arrow.Table.from_batches([batch])
