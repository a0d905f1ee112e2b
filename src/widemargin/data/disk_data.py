"""DiskData: examples on disk, larger than memory, read block by block."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.data.block_file import VERSION, BlockFile, write_folder
from widemargin.data.block_work import Places, Threads
from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.blocks import LocalBlocks, split_subset
from widemargin.data.centring import moved_dense, sampled_step, shift_of_sample
from widemargin.data.chunks import (
    Options,
    chunks_of_files,
    chunks_of_iterable,
    files_of,
    fingerprint,
    is_files,
)
from widemargin.data.elsewhere import Elsewhere, Kept
from widemargin.data.errors import DataFormatError
from widemargin.data.rows import Rows
from widemargin.data.work import Size

VECTORS = 12
"""Vectors over the examples that a method has in memory at a time, at most."""

WAITING = 6
"""Vectors that a fold of a search keeps: its rows, labels, costs and dual variables at two C."""

GROUPS = 8
"""Row groups of a Parquet file that would fill the memory: two are there while one is decoded and
one is written, and each may take twice its size while its columns change their type."""

LARGEST_MATRIX = 2000
"""Weights up to which matrices of their products are formed, see `largest_factorised`."""

_UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


class DiskData(Elsewhere):
    """Examples on disk, for fits on data larger than memory.

    The source is parsed once, into a cache of blocks in binary; later fits read the cache, unless
    the source has changed. `fit`, `predict` and `decision_function` of `LinearSVC`,
    `LogisticRegression` and their searches over C take such an object in place of X.

    Parameters
    ----------
    source : str, path, list of them, or iterable of blocks
        Parquet files, ``.npy`` files or LIBSVM files; patterns such as ``data/*.parquet`` name all
        files that match, in sorted order. Anything else that can be iterated over gives blocks: X,
        or (X, y), or (X, y, sample_weight), with X an array or a CSR matrix.
    label : str, int or list of paths, optional
        The column with the labels: its name in Parquet files (by default the last column), its
        number in ``.npy`` files. A list of paths names a ``.npy`` file of labels for each file.
    memory_limit : int or str, optional
        Bytes that the process may take up in a fit, as a number or as in ``"400MB"``; by default
        half of the machine's memory. Twelve numbers per example, and per class where all classes
        are trained at once, and some blocks have to fit; a search keeps six more for each fold.
    cache : path, optional
        Folder for the caches. By default ``$WIDEMARGIN_CACHE``, or ``widemargin`` in the user's
        folder of caches. Blocks of an iterable go to a folder there that is deleted with this
        object.
    zero_based : bool, default=False
        Whether the first feature of a LIBSVM file has index 0.
    told : callable, optional
        Called with the bytes parsed so far while the cache is being made.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    y : ndarray of shape (n_samples,), or None
        The labels.
    bytes_read : int
        Read from the cache so far.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import DiskData, LinearSVC
    >>> random = np.random.default_rng(0)
    >>> def blocks():
    ...     for _ in range(4):
    ...         X = random.standard_normal((500, 5))
    ...         yield X, np.where(X[:, 0] > 0, 1, -1)
    >>> data = DiskData(blocks(), memory_limit="1GB")
    >>> data.shape
    (2000, 5)
    >>> LinearSVC().fit(data).status_
    ['converged']
    """

    def __init__(
        self,
        source: Any,
        label: Any = None,
        *,
        memory_limit: int | str | None = None,
        cache: str | os.PathLike[str] | None = None,
        zero_based: bool = False,
        told: Callable[[int], None] | None = None,
    ) -> None:
        self.memory_limit = bytes_of(memory_limit)
        options = Options(
            label, bool(zero_based), told or (lambda done: None), self.memory_limit // GROUPS
        )
        caches = _cache_folder(cache)
        if is_files(source):
            self._file = _cached(files_of(source), options, caches)
        else:
            _check_blocks(source, label)
            caches.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="blocks-", dir=caches))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            write_folder(folder / "data", chunks_of_iterable(source, options.told), {})
            self._file = BlockFile(folder / "data")
        about = self._file.about
        self.shape = int(about["rows"]), int(about["features"])
        self.dtype, self.y, self.sample_weight = self._file.dtype, self._file.y, self._file.weight
        names = about.get("names")
        self.feature_names = None if names is None else tuple(names)

    def __repr__(self) -> str:
        rows, features = self.shape
        return f"<DiskData: {rows} rows, {features} features, {self.nbytes / 2**20:.0f} MB>"

    @property
    def nbytes(self) -> int:
        """Bytes of the cache."""
        return int(self._file.bytes.sum())

    @property
    def bytes_read(self) -> int:
        """Bytes read from the cache so far."""
        return self._file.bytes_read

    def rows(self, threads: int, centred: bool, kept: Kept = Kept()) -> BlockedRows:  # noqa: B008 - frozen
        """Return the rows in blocks, read from disk by so many threads."""
        about = self._file.about
        size = Size(self.shape[0], self.shape[1], int(about["values"]))
        shift = self._shift() if centred and not self._file.sparse else None
        blocks = _blocks_of(self._file, Threads(threads), self._free(threads, kept), shift)
        rows = BlockedRows.kept_elsewhere(blocks, size, int(about["longest"]), shift)
        if shift is None:
            rows._kept["total"] = np.array(float.fromhex(about["squares"]))
        return rows

    def matrices(self) -> Iterator[Any]:
        """Yield the blocks as matrices; each is valid until the next one."""
        for place in range(self._file.lengths.size):
            yield self._file.matrix(place)

    def widened(self, width: int) -> DiskData:
        """Let sparse data have as many features as a model: those that are missing are zero."""
        if self._file.sparse and self.shape[1] < width:
            self._file.about["features"] = width
            self.shape = self.shape[0], width
        return self

    def _free(self, threads: int, kept: Kept) -> int:
        """Return the bytes that blocks and samples may take up; raise an error if none are left."""
        count, width = self.shape
        side = min(width + 1, LARGEST_MATRIX)
        at_once = threads + 3 + max(1, self._file.lengths.size).bit_length()
        squares = 8 * at_once * side**2
        few = squares if width <= LARGEST_MATRIX else 8 * width * (threads + 20)
        lines, numbers = kept.lines, kept.lines * (VECTORS + WAITING * kept.waiting)
        if numbers > VECTORS:
            few += 8 * width * lines * (threads + 20 + 3 * kept.waiting)
        few += 8 * kept.matrices(width, at_once)
        needed = _resident() + 8 * count * numbers + few + (threads + 1) * self._file.largest
        if needed > self.memory_limit:
            together = f" and {lines} classes at once" if lines > 1 else ""
            raise MemoryError(
                f"memory_limit is {self.memory_limit / 2**20:.0f} MB, but {count} rows with "
                f"{width} features{together} need {needed / 2**20:.0f} MB, the process itself "
                "included"
            )
        return self.memory_limit - needed

    def _shift(self) -> Any:
        """Return what the columns are to be shifted by, judged by the rows that memory would be."""
        places = np.arange(0, self.shape[0], sampled_step(self.shape[0]))
        parts, _, own = split_subset(self._file.cuts, places)
        sample = [self._file.picked(int(p), held) for p, held in zip(parts, own, strict=True)]
        return shift_of_sample(np.concatenate(sample))


def _check_blocks(source: Any, label: Any) -> None:
    """Refuse what gives no blocks of rows."""
    if isinstance(label, str | int):
        raise ValueError("label is for files; blocks are pairs (X, y)")
    if not isinstance(source, Iterable):
        hint = ": call it" if callable(source) else ""
        raise TypeError(
            f"source must name files or give blocks of rows, but {type(source).__name__} cannot be "
            f"iterated over{hint}"
        )


def _blocks_of(file: BlockFile, threads: Threads, free: int, shift: Any) -> LocalBlocks:
    """Describe the blocks of a file, with so many bytes of memory to spare."""
    kept: dict[int, Rows] = {}
    # A third for blocks that stay, a third for samples, the rest for what nobody has counted. Where
    # less than a quarter of the blocks would stay, samples have most of their share too.
    stay, room = int(np.searchsorted(np.cumsum(file.bytes), free // 3)), free / 3.0
    if 4 * stay < file.lengths.size:
        stay, room = 0, 0.75 * free

    def load(place: int) -> Rows:
        if place in kept:
            return kept[place]
        matrix = file.matrix(place, kept=place < stay)
        rows = Rows.of(matrix if shift is None else moved_dense(matrix, shift))
        if place < stay:
            kept[place] = rows
        return rows

    def pick(place: int, subset: Places) -> Rows:
        if place in kept:
            return kept[place].copied(subset)
        matrix = file.picked(place, subset)
        return Rows.of(matrix if shift is None else moved_dense(matrix, shift))

    # A row that is copied has its values, indices and a pointer.
    row_bytes = float(file.bytes.sum()) / max(1.0, float(file.cuts[-1])) + 16.0
    return LocalBlocks(file.cuts, load, threads, False, int(room / row_bytes), pick=pick)


def _cached(files: list[str], options: Options, caches: Path) -> BlockFile:
    """Return the cache of files, made anew if there is none or they have changed."""
    source = fingerprint(files, options)
    names = json.dumps([*(entry[0] for entry in source["files"]), source["label"]])
    folder = caches / f"{hashlib.sha256(names.encode()).hexdigest()[:24]}-{VERSION}"
    if (folder / "about.json").exists():
        try:
            found = BlockFile(folder)
            if found.about.get("source") == source:
                return found
        except (DataFormatError, ValueError, OSError, KeyError):
            pass  # damaged or of another version: made anew
    options.found["source"] = source
    write_folder(folder, chunks_of_files(files, options), options.found)
    return BlockFile(folder)


def _cache_folder(given: Any) -> Path:
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get("WIDEMARGIN_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "widemargin"


def bytes_of(limit: int | str | None) -> int:
    """Return a limit in bytes."""
    if limit is None:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    number: Any = limit
    if isinstance(limit, str):
        text = limit.strip().upper()
        unit = next((name for name in _UNITS if text.endswith(name)), "")
        try:
            number = float(text.removesuffix(unit)) * _UNITS.get(unit, 1)
        except ValueError:
            number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
        raise ValueError(f"memory_limit must be bytes, as 400000000 or '400MB'; got {limit!r}")
    return int(number)


def _resident() -> int:
    """Return the bytes of memory that the process takes up now; 0 where that is not known."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def opened(X: Any, label: Any) -> Any:
    """Return the data that X names, if it names files, else X."""
    if is_files(X):
        return DiskData(X, label)
    if label is not None:
        raise ValueError("label is for files: X must be a path, a pattern, or a list of them")
    return X
