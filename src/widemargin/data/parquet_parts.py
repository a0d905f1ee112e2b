"""Parquet files larger than memory, read as blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin.data.blocks import rows_of_block
from widemargin.data.parquet_tables import (
    Columns,
    Layout,
    opened,
    pyarrow_modules,
    told_as_damage,
)
from widemargin.data.read_ahead import ahead
from widemargin.data.tables import PathLike, Table, TableColumns, fail

BUFFER = 2**16
"""Bytes of a column that are read from the file at once."""

PAGE = 2**20
"""Bytes of a page of a column, as Parquet's writers make them."""

SHARE = 4
"""Row groups decoded as a whole that are in memory at once, with what they are decoded from: one
that is decoded, one that is there and one that is used."""


def iter_parquet(
    path: PathLike, columns: TableColumns, most_bytes: int, group_bytes: int
) -> Iterator[tuple[float, Table]]:
    """Yield blocks of rows of a Parquet file, each with the share read so far.

    A thread decodes the next columns while some are turned into rows and used: a row group of no
    more than `group_bytes` as a whole, which takes the least time, and larger ones and many small
    ones in batches of about `most_bytes`, but no more than `group_bytes`.
    """
    arrow, parquet = pyarrow_modules()
    with opened(arrow, path) as stream, told_as_damage(arrow, path):
        # Otherwise all that a row group takes up in the file would be read into memory at first.
        file = parquet.ParquetFile(stream, buffer_size=BUFFER, pre_buffer=False)
        count = file.metadata.num_rows
        if count == 0:
            fail(path, "there are no examples in the file")
        layout = Layout.of(arrow, file.schema_arrow, columns, path)
        _check_memory(file.metadata, layout, group_bytes)
        # As many rows as a block has: none is put together from two parts.
        step, done = rows_of_block(np.empty((0, len(layout.places)))), 0
        for table in ahead(_tables(arrow, file, layout, min(most_bytes, group_bytes), group_bytes)):
            read = Columns(table, layout, done)
            for begin in range(0, read.count, step):
                part = read.part(begin, min(begin + step, read.count))
                done += len(part.X)
                yield done / count, part
            # Not kept while the next ones become rows.
            del table, read
        # Later fits count the memory that the process has.
        arrow.default_memory_pool().release_unused()


def _tables(
    arrow: Any, file: Any, layout: Layout, most_bytes: int, group_bytes: int
) -> Iterator[Any]:
    """Yield the columns of row groups, and of batches where groups are too small or too large."""
    rows = max(1, most_bytes // layout.bytes_of_row)
    rows = 1 << (rows.bit_length() - 1)  # a power of two, as blocks have
    batched: list[int] = []

    def batches() -> Iterator[Any]:
        for batch in file.iter_batches(batch_size=rows, row_groups=batched) if batched else ():
            yield arrow.Table.from_batches([batch])
        batched.clear()

    for group in range(file.num_row_groups):
        length = file.metadata.row_group(group).num_rows
        if rows <= length <= group_bytes // layout.bytes_of_row:
            yield from batches()
            yield file.read_row_group(group)
        elif length > 0:
            batched.append(group)
    yield from batches()


def _check_memory(metadata: Any, layout: Layout, group_bytes: int) -> None:
    """Refuse a file with a row group that needs too much memory even when read in batches.

    A dictionary and a page of each column are in memory at a time, as they are and decoded.
    """
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        size = group.num_rows * layout.bytes_of_row
        if size <= group_bytes:
            continue
        needed = sum(_held(group.column(place)) for place in range(group.num_columns))
        if needed > SHARE * group_bytes:
            raise MemoryError(
                f"{layout.path}: a row group of {size / 2**20:.0f} MB takes about "
                f"{needed / 2**20:.0f} MB to read in parts, too much for memory_limit: raise it, "
                "or write the file with smaller row groups"
            )


def _held(chunk: Any) -> int:
    """Return about how many bytes of a column are in memory while it is read in batches."""
    dictionary = 0
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        dictionary = chunk.data_page_offset - chunk.dictionary_page_offset
    return int(min(chunk.total_uncompressed_size, PAGE) + 2 * max(0, dictionary))
