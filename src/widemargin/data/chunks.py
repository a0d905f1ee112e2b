"""Files and iterables as chunks of rows: what a cache of blocks is made from."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np

from widemargin.data.block_file import Chunk
from widemargin.data.compression import compression_of
from widemargin.data.errors import DataFormatError
from widemargin.data.parquet_parts import iter_parquet
from widemargin.data.svmlight import load_svmlight
from widemargin.data.tables import TableColumns

TEXT_BYTES = 2**25
"""Of LIBSVM text parsed at once."""

CHUNK_BYTES = 2**25
"""Of an array taken at once."""

PART_BYTES = 2**24
"""Of a batch of columns decoded at once, where row groups are too small or too large."""


@dataclass(frozen=True)
class Options:
    """How to read files.

    Attributes
    ----------
    label : str, int or list of paths, optional
        The column with the labels, or a file of labels for each ``.npy`` file.
    zero_based : bool
        Whether the first feature of a LIBSVM file has index 0.
    told : callable
        Called with the bytes read so far.
    """

    label: Any = None
    zero_based: bool = False
    told: Callable[[int], None] = lambda done: None
    group_bytes: int = CHUNK_BYTES
    """Of a row group of a Parquet file that is decoded as a whole; two of them are in memory."""
    found: dict[str, Any] = field(default_factory=dict)
    """What the files say about themselves: the names of the features."""


def files_of(source: Any) -> list[str]:
    """Return the files that a pattern, a path or a list of them names, in order."""
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: list[str] = []
    for entry in given:
        name = os.path.expanduser(os.fspath(entry))
        matching = [name] if os.path.exists(name) else sorted(glob.glob(name))
        if not matching:
            raise FileNotFoundError(f"no file matches {name!r}")
        found += matching
    return found


def is_files(source: Any) -> bool:
    """Whether a source names files."""
    if isinstance(source, str | os.PathLike):
        return True
    listed = isinstance(source, list | tuple) and len(source) > 0
    return listed and all(isinstance(entry, str | os.PathLike) for entry in source)


def fingerprint(files: list[str], options: Options) -> dict[str, Any]:
    """Return what a cache of these files depends on."""
    states = [os.stat(name) for name in files]
    return {
        "files": [
            [os.path.abspath(name), state.st_size, state.st_mtime_ns]
            for name, state in zip(files, states, strict=True)
        ],
        "label": repr(options.label),
        "zero_based": options.zero_based,
    }


def chunks_of_files(files: list[str], options: Options) -> Iterator[Chunk]:
    """Yield the rows of files, one after the other."""
    done = 0
    labels = options.label if isinstance(options.label, list | tuple) else None
    if labels is not None and len(labels) != len(files):
        raise ValueError(f"{len(files)} files, but {len(labels)} files of labels")
    for place, name in enumerate(files):
        ending = os.path.splitext(name)[1].lower()
        if ending in (".parquet", ".pq"):
            found = _parquet(name, options)
        elif ending == ".npy":
            found = _arrays(name, options.label if labels is None else labels[place])
        else:
            found = _svmlight(name, options)
        size = os.path.getsize(name)
        for share, chunk in found:
            options.told(done + int(share * size))
            yield chunk
        done += size


def chunks_of_iterable(source: Iterable[Any], told: Callable[[int], None]) -> Iterator[Chunk]:
    """Yield the blocks of an iterable: X, or (X, y), or (X, y, weights)."""
    done = 0
    for block in source:
        parts = tuple(block) if isinstance(block, tuple | list) else (block,)
        if not 1 <= len(parts) <= 3:
            raise ValueError(
                f"a block must be X, (X, y) or (X, y, weights); got {len(parts)} parts"
            )
        X, y, weight = (*parts, None, None)[:3]
        done += getattr(X, "nbytes", 0) or getattr(X, "data", np.empty(0)).nbytes
        told(done)
        yield X, y, weight


Shares = Iterator[tuple[float, Chunk]]


def _parquet(name: str, options: Options) -> Shares:
    if options.label is not None and not isinstance(options.label, str):
        raise ValueError(f"label must be the name of a column of {name}; got {options.label!r}")
    parts = iter_parquet(name, TableColumns(options.label), PART_BYTES, options.group_bytes)
    for share, table in parts:
        if options.found.setdefault("names", table.feature_names) != table.feature_names:
            raise DataFormatError("the columns are others than in the files before", name)
        yield share, (table.X, table.y, None)


def _arrays(name: str, label: Any) -> Shares:
    X = np.load(name, mmap_mode="r", allow_pickle=False)
    if X.ndim != 2:
        raise DataFormatError(f"the array must have two dimensions, not {X.ndim}", name)
    y, kept = None, None
    if isinstance(label, int | np.integer):
        kept = np.delete(np.arange(X.shape[1]), label)
    elif label is not None:
        y = np.load(label, allow_pickle=False)
        if y.shape != (X.shape[0],):
            raise DataFormatError(f"{X.shape[0]} rows, but labels of shape {y.shape}", str(label))
    step = max(1, CHUNK_BYTES // max(1, X.itemsize * X.shape[1]))
    for begin in range(0, X.shape[0], step):
        part = np.array(X[begin : begin + step])
        labels = None if y is None else y[begin : begin + step]
        if kept is not None:
            labels, part = part[:, label], part[:, kept]
        yield min(1.0, (begin + step) / X.shape[0]), (part, labels, None)


def _svmlight(name: str, options: Options) -> Shares:
    if options.label is not None:
        raise ValueError(f"label is for Parquet and .npy files; {name} is read as LIBSVM data")
    line, size = 0, max(1, os.path.getsize(name))
    with open(name, "rb") as raw:
        compression = compression_of(raw.read(16))
        raw.seek(0)
        file: Any = raw if compression is None else compression.open(raw, "rb")
        for part in _whole_lines(file):
            try:
                X, y = load_svmlight(BytesIO(part), zero_based=options.zero_based)
            except DataFormatError as error:
                at = None if error.line is None else error.line + line
                raise DataFormatError(error.message, name, at, error.column) from None
            line += part.count(b"\n")
            yield min(1.0, raw.tell() / size), (X, y, None)
        if line == 0 and size == 1:
            raise DataFormatError("the file is empty", name)


def _whole_lines(file: Any) -> Iterator[bytes]:
    """Yield the text of a file in parts that end with a line; blank ones are left out."""
    left = b""
    while text := file.read(TEXT_BYTES):
        cut = text.rfind(b"\n") + 1
        part, left = (left + text[:cut], text[cut:]) if cut else (b"", left + text)
        if part.strip():
            yield part
    if left.strip():
        yield left
