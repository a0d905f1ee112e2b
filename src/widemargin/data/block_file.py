"""A folder with rows in blocks: written once, in full or not at all, then read block by block.

``blocks.bin`` holds one block after the other: the values of a dense one row by row; of a CSR one
its values, column indices and row pointers. ``index.npz`` says where they begin and what their
checksums are, ``about.json`` what they were made from.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.auto.machine import MACHINE
from widemargin.data.block_work import Tree
from widemargin.data.blocks import HEAD, rows_of_block, sliced
from widemargin.data.errors import DataFormatError
from widemargin.data.rows import Rows, as_rows_array
from widemargin.instruction_sets import core

VERSION = 3
"""Of the layout of the folder."""

Chunk = tuple[Any, Any, Any]
"""Rows, labels or None, weights or None."""


class BlockWriter:
    """Cuts chunks of rows of any length into blocks and appends them to a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = open(folder / "blocks.bin", "wb")  # noqa: SIM115 - closed by `finish`
        self._waiting: list[Any] = []
        self._held = self._rows = 0
        self._dtype: Any = None
        self._sparse = False
        self._width = self._longest = self._values = 0
        self._tree = Tree()
        self._index: list[tuple[int, int, int, int]] = []
        self._labels: list[Any] = []
        self._weights: list[Any] = []

    def add(self, chunk: Chunk) -> None:
        """Append some rows."""
        X, y, weight = chunk
        X = as_rows_array(X if sp.issparse(X) else np.asarray(X))
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        self._check(X, y)
        if X.shape[0] == 0:
            return
        if not self._sparse:
            self._rows = rows_of_block(X)
        self._waiting.append(X)
        self._held += X.shape[0]
        if y is not None:
            self._labels.append(np.asarray(y))
        if weight is not None:
            self._weights.append(np.asarray(weight, dtype=np.float64))
        if self._held >= (self._rows or HEAD):
            self._write(last=False)

    def finish(self, about: dict[str, Any]) -> None:
        """Write what is left, and the index."""
        if self._held:
            self._write(last=True)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not self._index:
            raise ValueError("there are no examples in the data")
        count = sum(rows for rows, _, _, _ in self._index)
        arrays: dict[str, Any] = {"index": np.array(self._index, dtype=np.int64)}
        for name, parts in (("y", self._labels), ("weight", self._weights)):
            if parts:
                arrays[name] = np.concatenate(parts)
                if arrays[name].shape != (count,):
                    raise ValueError(f"{count} rows, but {arrays[name].size} entries of {name}")
                if arrays[name].dtype.kind == "O":
                    arrays[name] = arrays[name].astype(str)
        np.savez(self._folder / "index.npz", **arrays)
        about = {
            **about,
            "version": VERSION,
            "dtype": str(self._dtype),
            "sparse": self._sparse,
            "rows": count,
            "features": self._width,
            "values": self._values,
            "longest": self._longest,
            "squares": float(self._tree.total()).hex(),
        }
        (self._folder / "about.json").write_text(json.dumps(about), encoding="utf-8")

    def close(self) -> None:
        """Close the file, whatever happened."""
        self._file.close()

    def _check(self, X: Any, y: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"a block of rows must have two dimensions, not {X.ndim}")
        if y is not None and np.shape(y) != (X.shape[0],):
            raise ValueError(f"a block has {X.shape[0]} rows, but labels of shape {np.shape(y)}")
        if self._dtype is None:
            self._dtype, self._sparse, self._width = X.dtype, sp.issparse(X), X.shape[1]
        if X.dtype != self._dtype or sp.issparse(X) != self._sparse:
            raise ValueError("all blocks must have the same type of values and the same layout")
        if X.shape[1] != self._width and not self._sparse:
            raise ValueError(f"a block has {X.shape[1]} features, others have {self._width}")
        self._width = max(self._width, X.shape[1])

    def _write(self, last: bool) -> None:
        """Write all whole blocks, and with the last one what is left."""
        whole = self._joined()
        self._rows = self._rows or rows_of_block(whole)
        begin = 0
        while whole.shape[0] - begin >= self._rows or (last and begin < whole.shape[0]):
            end = min(begin + self._rows, whole.shape[0])
            self._write_block(sliced(whole, begin, end))
            begin = end
        # A copy: a slice would keep all of it in memory.
        rest = sliced(whole, begin, whole.shape[0])
        self._waiting = [rest.copy()] if rest.shape[0] else []
        self._held = rest.shape[0]

    def _joined(self) -> Any:
        if len(self._waiting) == 1:
            return self._waiting[0]
        if not self._sparse:
            return np.concatenate(self._waiting)
        parts = [
            sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self._width))
            for X in self._waiting
        ]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _write_block(self, X: Any) -> None:
        rows = Rows.of(X)
        total = rows.view.total_squared_norm(0, rows.count)
        if not np.isfinite(total):
            first = sum(entry[0] for entry in self._index)
            bad = int(np.argmax(~np.isfinite(rows.norms)))
            raise ValueError(
                f"row {first + bad} of the data contains NaN, infinity, or values whose squares "
                "overflow"
            )
        self._tree.add(len(self._index), total)
        parts = _parts(X)
        for part in parts:
            self._file.write(part)
        stored = X.nnz if self._sparse else X.size
        self._longest = max(self._longest, rows.longest)
        self._values += stored
        self._index.append((X.shape[0], stored, sum(p.nbytes for p in parts), _checksum(parts)))


def _parts(X: Any) -> list[Any]:
    """Return the arrays of a block in the order of the file, as bytes."""
    if not sp.issparse(X):
        arrays = [np.ascontiguousarray(X)]
    else:
        arrays = [X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)]
    return [array.reshape(-1).view(np.uint8) for array in arrays]


def _checksum(parts: list[Any]) -> int:
    """Return the checksum of the arrays of a block."""
    checksum = 0
    for part in parts:
        checksum = core.checksum(part, checksum)
    return checksum


class BlockFile:
    """The blocks of a folder, read when they are asked for.

    A block lies in a buffer of the thread that has asked for it, until that thread asks for
    another one. The next block is announced to the operating system, which reads ahead.
    """

    def __init__(self, folder: Path) -> None:
        self.about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        if self.about.get("version") != VERSION:
            raise DataFormatError("the cache has another version", str(folder))
        with np.load(folder / "index.npz") as arrays:
            index = arrays["index"]
            self.y = arrays.get("y", None)
            self.weight = arrays.get("weight", None)
        self.lengths, self.stored, self.bytes, self._sums = index.T
        self.cuts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self.bytes)]).astype(np.int64)
        self.dtype, self.sparse = np.dtype(self.about["dtype"]), bool(self.about["sparse"])
        self._name = str(folder / "blocks.bin")
        self._file = open(self._name, "rb", buffering=0)  # noqa: SIM115 - lives as long as this
        weakref.finalize(self, self._file.close)
        if os.fstat(self._file.fileno()).st_size != self._offsets[-1]:
            raise DataFormatError("the file has been cut short", self._name)
        self._checked = np.zeros(self.lengths.size, dtype=bool)
        self._own = threading.local()
        self.bytes_read = 0

    @property
    def largest(self) -> int:
        """Bytes of the largest block."""
        return int(self.bytes.max())

    def matrix(self, place: int, kept: bool = False) -> Any:
        """Return a block; `kept`: in memory of its own."""
        length = int(self.bytes[place])
        buffer = np.empty(length, np.uint8) if kept else self._buffer()[:length]
        self._read(place, buffer)
        return self._view(place, buffer)

    def picked(self, place: int, subset: Any) -> Any:
        """Return some rows of a dense block in memory of their own; few are read one by one."""
        width = self._width * self.dtype.itemsize
        if self.sparse or subset.size * (width + MACHINE.seek_bytes) >= self.bytes[place]:
            return self.matrix(place)[subset]
        rows = np.empty((subset.size, self._width), self.dtype)
        for row, at in zip(rows, subset, strict=True):
            self._fill(memoryview(row.view(np.uint8)), int(self._offsets[place] + at * width))
        return rows

    @property
    def _width(self) -> int:
        return int(self.about["features"])

    def _buffer(self) -> Any:
        if not hasattr(self._own, "buffer"):
            self._own.buffer = np.empty(self.largest, np.uint8)
        return self._own.buffer

    def _read(self, place: int, buffer: Any) -> None:
        view = memoryview(buffer)
        self._fill(view, int(self._offsets[place]))
        if place + 2 < self.lengths.size and hasattr(os, "posix_fadvise"):
            ahead = int(self._offsets[place + 1])
            size = int(self._offsets[place + 3]) - ahead
            os.posix_fadvise(self._file.fileno(), ahead, size, os.POSIX_FADV_WILLNEED)
        if not self._checked[place]:
            if _checksum(self._parts(place, buffer)) != self._sums[place]:
                raise DataFormatError(
                    f"block {place} has another checksum than when it was written; delete the "
                    "cache",
                    self._name,
                )
            self._checked[place] = True

    def _fill(self, view: memoryview, offset: int) -> None:
        """Read as many bytes as the view has."""
        done = 0
        while done < view.nbytes:
            got = os.preadv(self._file.fileno(), [view[done:]], offset + done)
            if got == 0:
                raise DataFormatError("the file has been cut short", self._name)
            done += got
        self.bytes_read += view.nbytes

    def _view(self, place: int, buffer: Any) -> Any:
        rows, width = int(self.lengths[place]), self._width
        parts = self._parts(place, buffer)
        if not self.sparse:
            return parts[0].view(self.dtype).reshape(rows, width)
        values, indices, pointers = parts
        arrays = values.view(self.dtype), indices.view(np.int32), pointers.view(np.int32)
        return sp.csr_array(arrays, shape=(rows, width), copy=False)

    def _parts(self, place: int, buffer: Any) -> list[Any]:
        """Return the arrays of a block as bytes, as they were written."""
        if not self.sparse:
            return [buffer]
        stored = int(self.stored[place])
        end = stored * self.dtype.itemsize
        return [buffer[:end], buffer[end : end + 4 * stored], buffer[end + 4 * stored :]]


def write_folder(folder: Path, chunks: Iterable[Chunk], about: dict[str, Any]) -> None:
    """Write a folder of blocks; it appears under its name once it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.{os.urandom(4).hex()}")
    temporary.mkdir()
    writer = BlockWriter(temporary)
    try:
        for chunk in chunks:
            writer.add(chunk)
        writer.finish(about)
        if folder.exists():
            shutil.rmtree(folder)
        # Another process may have written the same one meanwhile.
        with contextlib.suppress(OSError):
            os.rename(temporary, folder)
    finally:
        writer.close()
        shutil.rmtree(temporary, ignore_errors=True)
