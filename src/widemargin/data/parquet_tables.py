"""Parquet files: read into a dense table, and written from rows; needs pyarrow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.read_ahead import ahead
from widemargin.data.replacing import replacing
from widemargin.data.rows import Rows
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
            return _read(arrow, parquet.read_table(file), columns, path)
        except damage as error:
            reason = (str(error) or "it cannot be read").splitlines()[0]
            fail(path, f"not a usable Parquet file: {reason}")


def _read(arrow: Any, table: Any, columns: TableColumns, path: PathLike) -> Table:
    table.validate(full=True)
    names = list(table.column_names)
    label, features = columns.split(len(names), names, path)
    if table.num_rows == 0:
        fail(path, "there are no examples in the file")
    X = _features(arrow, table, features, path)
    y = None
    if label is not None:
        y = _arrow_values(table.column(label), names[label], path)
        y = y.astype(str) if y.dtype.kind == "O" else y
    return Table(X, y, tuple(names[place] for place in features))


def _features(arrow: Any, table: Any, places: list[int], path: PathLike) -> NDArray[Any]:
    kinds = [table.schema.field(place).type for place in places]
    single = all(arrow.types.is_float32(kind) for kind in kinds)
    X = np.empty((table.num_rows, len(places)), dtype=np.float32 if single else np.float64)
    numeric = (arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_boolean)
    columns, names = [], table.column_names
    for place, kind in zip(places, kinds, strict=True):
        name = names[place]
        if not any(test(kind) for test in numeric):
            fail(path, f"column {name!r} contains {kind}, not numbers")
        columns.append(_numbers(table.column(place), name, path))
    if columns:
        core.rows_of_columns([np.ascontiguousarray(values, X.dtype) for values in columns], X)
    if not math.isfinite(Rows.of(X).view.total_squared_norm(0, len(X))):
        for place, values in zip(places, columns, strict=True):
            _check_finite(values, names[place], path)
    return X


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
    path: PathLike, columns: TableColumns, most_bytes: int
) -> Iterator[tuple[float, Table]]:
    """Yield parts of a Parquet file of about so many bytes, each with the share read so far.

    A thread decodes the next part while one is turned into rows and used.
    """
    arrow, parquet = _pyarrow()
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError, NotImplementedError)
    with open(path, "rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            count = file.metadata.num_rows
            if count == 0:
                fail(path, "there are no examples in the file")
            rows = max(1, most_bytes // _bytes_of_row(arrow, file.schema_arrow))
            # A power of two, as blocks have: none is put together from two parts.
            rows, done = 1 << (rows.bit_length() - 1), 0
            for batch in ahead(file.iter_batches(batch_size=rows)):
                done += batch.num_rows
                table = arrow.Table.from_batches([batch])
                yield done / count, _read(arrow, table, columns, path)
        except damage as error:
            reason = (str(error) or "it cannot be read").splitlines()[0]
            fail(path, f"not a usable Parquet file: {reason}")
