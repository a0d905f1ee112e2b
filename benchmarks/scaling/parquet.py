"""Time from a Parquet file to the cache of blocks, against pyarrow's own reading of the file.

``python -m benchmarks.scaling.parquet --megabytes 400 --rows 65536``

pyarrow reads in three ways: the whole file as a table of columns, the same turned into one matrix
of rows, which any training needs, and batch by batch, which needs no more memory than a batch. The
cache has checksums, is checked for missing values, and is forced to disk (``fsync``). The readers
take turns; medians of wall-clock and CPU seconds are printed. The file is in the operating system's
memory when it is read.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin import DiskData


def write(path: str, megabytes: float, width: int, dtype: str, rows: int) -> int:
    """Write a file of random numbers and labels in row groups; return the bytes of the numbers."""
    import pyarrow as arrow
    from pyarrow import parquet

    random = np.random.default_rng(0)
    names, whole = [f"f{j}" for j in range(width)], megabytes * 1e6
    wanted = max(1, int(whole / (width * np.dtype(dtype).itemsize)))
    rows = min(rows or wanted, wanted)
    count = wanted // rows
    writer = None
    for _ in range(count):
        columns = {name: random.standard_normal(rows).astype(dtype) for name in names}
        table = arrow.table({**columns, "label": random.integers(0, 2, rows)})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=rows)
    assert writer is not None
    writer.close()
    return count * rows * width * np.dtype(dtype).itemsize


def as_columns(path: str) -> None:
    """Read the whole file as a table."""
    from pyarrow import parquet

    parquet.read_table(path)


def as_rows(path: str) -> None:
    """Read the whole file, and turn it into a matrix of rows."""
    from pyarrow import parquet

    table = parquet.read_table(path).drop_columns(["label"])
    np.ascontiguousarray(np.column_stack([column.to_numpy() for column in table.columns]))


def by_batches(path: str) -> None:
    """Read the file batch by batch."""
    from pyarrow import parquet

    for _ in parquet.ParquetFile(path).iter_batches():
        pass


def to_cache(path: str) -> None:
    """Make the cache of blocks."""
    folder = tempfile.mkdtemp(dir=os.path.dirname(path))
    DiskData(path, "label", cache=folder)
    shutil.rmtree(folder)


def main() -> None:
    """Write, read in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=400.0)
    parser.add_argument("--widths", default="50,500")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--rows", type=int, default=65_536, help="of a row group; 0: one for all")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    readers: dict[str, Callable[[str], Any]] = {
        "pyarrow, a table": as_columns,
        "pyarrow, a matrix of rows": as_rows,
        "pyarrow, batches": by_batches,
        "DiskData, the cache": to_cache,
    }
    for width in map(int, options.widths.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.parquet")
            size = write(path, options.megabytes, width, options.dtype, options.rows)
            print(f"{size / 1e6:.0f} MB of {options.dtype}, {width} columns", flush=True)
            wall: dict[str, list[float]] = {name: [] for name in readers}
            processor: dict[str, list[float]] = {name: [] for name in readers}
            for _ in range(options.repeats):
                for name, read in readers.items():
                    began, cpu = time.perf_counter(), time.process_time()
                    read(path)
                    wall[name].append(time.perf_counter() - began)
                    processor[name].append(time.process_time() - cpu)
            ours = "DiskData, the cache"
            for name in readers:
                spent, cpu = statistics.median(wall[name]), statistics.median(processor[name])
                beside = statistics.median(wall[ours]) / spent
                print(
                    f"  {name}: {spent:.2f} s, {cpu:.2f} CPU s, {size / 1e6 / spent:.0f} MB/s; "
                    f"the cache takes {beside:.2f} of its time, "
                    f"{statistics.median(processor[ours]) / cpu:.2f} of its CPU time"
                )


if __name__ == "__main__":
    main()
