"""Columns of a table turned into rows, checksums of blocks, row groups of Parquet files."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from widemargin import DiskData
from widemargin.data.errors import DataFormatError
from widemargin.data.parquet_parts import iter_parquet
from widemargin.data.tables import TableColumns
from widemargin.instruction_sets import core


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 8, 15, 16, 17, 33, 200])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 40, 300])
def test_rows_are_those_of_the_columns(dtype: type, width: int, count: int) -> None:
    """Squares, what is left of them, and any beginning."""
    random = np.random.default_rng(width + count)
    columns = [random.standard_normal(count + 21).astype(dtype) for _ in range(width)]
    for begin in (0, 3, 21):
        X = np.full((count, width), np.nan, dtype)
        assert core.table_columns(columns, count + 21).rows(begin, X)
        np.testing.assert_array_equal(X, np.column_stack(columns)[begin : begin + count])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_value_that_is_not_finite_is_seen(dtype: type, bad: float) -> None:
    """Wherever it is; the largest finite numbers are not taken for it."""
    random = np.random.default_rng(0)
    largest = np.finfo(dtype).max
    columns = [np.full(70, largest, dtype) for _ in range(37)]
    X = np.empty((70, 37), dtype)
    table = core.table_columns(columns, 70)
    assert table.rows(0, X)
    for row, column in zip(random.integers(0, 70, 200), random.integers(0, 37, 200), strict=True):
        columns[column][row] = bad
        assert not table.rows(0, X)
        columns[column][row] = -largest


def test_columns_that_do_not_fit() -> None:
    """They are refused before anything is read."""
    with pytest.raises(ValueError, match="column has length 4, expected 5"):
        core.table_columns([np.zeros(5), np.zeros(4)], 5)
    table = core.table_columns([np.zeros(5), np.zeros(5)], 5)
    for begin, rows in ((0, 6), (1, 5), (-1, 2), (6, 0), (2**62, 2)):
        with pytest.raises(ValueError, match="no such rows"):
            table.rows(begin, np.empty((rows, 2)))
    for X in (np.empty((5, 3)), np.empty((5, 2), np.float32)):
        with pytest.raises(ValueError, match="the columns and the type of the table"):
            table.rows(0, X)


def test_checksums_tell_changes_apart() -> None:
    """Any byte that changes, any two words that change places, and the length."""
    random = np.random.default_rng(0)
    for length in (1, 5, 31, 32, 33, 300):
        given = random.integers(0, 256, length, dtype=np.uint8)
        seen = {core.checksum(given, 0), core.checksum(np.append(given, np.uint8(0)), 0)}
        for place in range(length):
            for bit in range(8):
                given[place] ^= 1 << bit
                seen.add(core.checksum(given, 0))
                given[place] ^= 1 << bit
        assert len(seen) == 2 + 8 * length
        assert core.checksum(given, 1) not in seen
    words = random.integers(0, 2**32, 64, dtype=np.uint32)
    seen = {core.checksum(words.view(np.uint8), 0)}
    for i in range(64):
        for j in range(i):
            words[[i, j]] = words[[j, i]]
            seen.add(core.checksum(words.view(np.uint8), 0))
            words[[i, j]] = words[[j, i]]
    assert len(seen) == 1 + 64 * 63 // 2


def test_checksum_is_fletchers() -> None:
    """Written again in Python."""
    given = np.random.default_rng(1).integers(0, 256, 75, dtype=np.uint8)
    words = np.append(given, np.zeros(21, np.uint8)).view(np.uint32).reshape(-1, 8).tolist()
    sums, whole = [0] * 8, [0] * 8
    for line in words:
        sums = [a + b for a, b in zip(sums, line, strict=True)]
        whole = [a + b for a, b in zip(whole, sums, strict=True)]
    result = 0
    for number in [9, 75, *(x for pair in zip(sums, whole, strict=True) for x in pair)]:
        result = (result ^ number) * 0x9E3779B97F4A7C15 % 2**64
        result ^= result >> 32
    assert core.checksum(given, 9) % 2**64 == result


def test_row_groups_and_batches_are_the_same_rows(tmp_path: Path) -> None:
    """Whether a row group is decoded as a whole or in batches; types that have to be changed."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(2)
    table = {f"f{j}": random.standard_normal(40_000) for j in range(18)}
    table["whole"], table["flag"] = (
        random.integers(-9, 9, 40_000),
        random.integers(0, 2, 40_000) > 0,
    )
    table["half"] = np.round(random.standard_normal(40_000).astype(np.float32), 2)
    table["label"] = random.integers(0, 2, 40_000)
    path, write = tmp_path / "a.parquet", partial(parquet.write_table, use_dictionary=False)
    wanted = np.column_stack([values for name, values in table.items() if name != "label"])
    for length, group_bytes, count in (
        (35_000, 2**21, 5),
        (35_000, 2**30, 3),
        (1000, 2**30, 5),
        (12_000, 2**30, 4),
    ):
        write(arrow.table(table), path, row_group_size=length)
        parts = [part for _, part in iter_parquet(path, TableColumns("label"), 2**21, group_bytes)]
        assert len(parts) == count
        np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), wanted)
        found = np.concatenate([np.asarray(part.y) for part in parts])
        np.testing.assert_array_equal(found, table["label"])
    table["f3"][36_777] = np.inf
    for length, group_bytes in ((35_000, 2**21), (35_000, 2**30), (1000, 2**30)):
        write(arrow.table(table), path, row_group_size=length)
        with pytest.raises(DataFormatError, match="row 36778, column 'f3': inf is not finite"):
            list(iter_parquet(path, TableColumns("label"), 2**21, group_bytes))


def test_a_large_row_group_is_not_read_at_once(tmp_path: Path) -> None:
    """Its size does not count, in the file or as columns; what of it has to be kept is told."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(3)
    table = arrow.table({f"f{j}": random.standard_normal(800_000) for j in range(10)})
    path = tmp_path / "large.parquet"
    parquet.write_table(table, path, row_group_size=800_000, use_dictionary=False)
    size = table.nbytes
    del table
    program = f"""
import pyarrow
from widemargin.data.parquet_parts import iter_parquet
from widemargin.data.tables import TableColumns

rows = sum(len(p.X) for _, p in iter_parquet({str(path)!r}, TableColumns(), 2**22, 2**22))
print(rows, pyarrow.default_memory_pool().max_memory())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    rows, most = map(int, done.stdout.split())
    assert rows == 800_000
    assert most < size / 2
    # A dictionary of a million bytes and a page for each of 200 columns.
    values = np.arange(2**17) % 2**16 + 0.5
    wide = arrow.table({f"f{j}": values for j in range(200)})
    parquet.write_table(wide, path, compression="none", dictionary_pagesize_limit=2**21)
    with pytest.raises(MemoryError, match=r"large\.parquet: a row group of 200 MB takes about"):
        DiskData(path, memory_limit="100MB", cache=tmp_path)
    assert DiskData(path, memory_limit="3GB", cache=tmp_path).shape == (2**17, 199)
