"""Read and write LIBSVM's text format: ``label [qid:n] index:value ... [# comment]``, by line."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from io import BytesIO
from numbers import Integral
from typing import IO, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.compression import (
    READ_ERRORS,
    Compression,
    compression_named,
    compression_of,
    writing,
)
from widemargin.data.errors import DataFormatError
from widemargin.instruction_sets import core

_BLOCK_BYTES = 1 << 24
_LARGEST_INDEX = np.iinfo(np.int64).max
_LOOKED_AT_BYTES = 4096


def load_svmlight(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    query_id: bool = False,
    n_threads: int | None = None,
) -> tuple[Any, ...]:
    """Read a file in LIBSVM's text format.

    The file is mapped into memory and parsed by several threads; the result does not depend on
    their number. Files compressed by gzip, bzip2 or xz are recognised by their first bytes. Do not
    truncate a file while it is being read.

    Parameters
    ----------
    path : str, path-like or binary file object
        The file. ``~`` is the home directory. A file object is read from its current position to
        the end.
    n_features : int, default=None
        Number of columns of `X`; None: the largest index in the file. A larger index in the file
        raises an error.
    dtype : float64 or float32, default=float64
        Type of the values. A float32 value is the float64 value, rounded.
    zero_based : bool or "auto", default="auto"
        Whether the first feature has index 0 (True) or 1 (False). "auto": 0 if the file contains
        an index 0, else 1.
    query_id : bool, default=False
        Also return the ``qid`` of each line, which every line must then have. Otherwise they are
        checked and dropped.
    n_threads : int, default=None
        Number of threads; None: one per CPU available to the process.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        The values of the file, explicit zeros included; int32 indices unless the file needs int64.
    y : ndarray of shape (n_samples,)
        The labels, float64.
    query_id : ndarray of shape (n_samples,)
        The ``qid`` of each line, int64; only if `query_id` is True.

    Raises
    ------
    DataFormatError
        If a line cannot be parsed; the message starts with file, line and column of the first one.

    Examples
    --------
    >>> from io import BytesIO
    >>> from widemargin.data.svmlight import load_svmlight
    >>> X, y = load_svmlight(BytesIO(b"+1 1:0.5 3:2\\n-1 2:1  # a comment\\n"))
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y
    array([ 1., -1.])
    """
    width = -1 if n_features is None else _at_least("n_features", n_features, 0, _LARGEST_INDEX)
    threads = _usable_cpus() if n_threads is None else _at_least("n_threads", n_threads, 1, 256)
    arguments = (_base_name(zero_based), width, bool(query_id), _is_single(dtype), threads)
    with _opened(path) as (file, name, own):
        try:
            parsed = _read(file, name, own, arguments)
        except core.SvmlightError as error:
            line, column, message = error.args
            raise DataFormatError(message, name, line, column) from None
    y, query_ids, values, indices, pointers, width = parsed
    if len(y) == 0:
        raise DataFormatError("the file holds no examples", name)
    X = sp.csr_matrix((values, indices, pointers), shape=(len(y), width), copy=False)
    # The parser guarantees both; this saves scipy the check.
    X.has_sorted_indices = True
    X.has_canonical_format = True
    return (X, y, query_ids) if query_id else (X, y)


def dump_svmlight(
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    zero_based: bool = False,
    query_id: Any = None,
    comment: str | None = None,
) -> None:
    """Write data in LIBSVM's text format.

    Numbers are written with the fewest digits that read back as the same number. The file appears
    under its name only once it is complete.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite numbers. Every stored entry of a sparse matrix is written, and every nonzero of a
        dense one.
    y : array-like of shape (n_samples,)
        Labels: finite numbers.
    path : str, path-like or binary file object
        Where to write. The file is compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    zero_based : bool, default=False
        Whether the first feature gets index 0 instead of 1. ``zero_based="auto"`` recognises such
        a file only if it uses feature 0.
    query_id : array-like of shape (n_samples,), default=None
        Integers to be written as ``qid``.
    comment : str, default=None
        Text for the top of the file; each line gets a ``#``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from widemargin.data.svmlight import dump_svmlight
    >>> file = BytesIO()
    >>> dump_svmlight([[0.5, 0, 2], [0, 1, 0]], [1, -1], file)
    >>> print(file.getvalue().decode(), end="")
    1 1:0.5 3:2
    -1 2:1
    """
    rows = _as_rows(X)
    labels = _as_labels(y, rows.shape[0])
    query_ids = None if query_id is None else _as_query_ids(query_id, rows.shape[0])
    heading = _as_comment(comment)
    to_file = hasattr(path, "write")
    target: Any = path if to_file else os.path.expanduser(os.fsdecode(path))  # type: ignore[arg-type]
    with contextlib.nullcontext(target) if to_file else writing(target) as file:
        file.write(heading)
        for begin, end in _blocks(rows):
            part = _canonical(rows[begin:end])
            if not np.isfinite(part.data).all():
                raise ValueError(f"X contains NaN or infinity in rows {begin} to {end - 1}")
            file.write(
                core.format_svmlight(
                    labels[begin:end],
                    None if query_ids is None else query_ids[begin:end],
                    part.data,
                    part.indices,
                    part.indptr,
                    bool(zero_based),
                    0,
                    end - begin,
                )
            )


def _base_name(zero_based: bool | str) -> str:
    if isinstance(zero_based, str):
        if zero_based == "auto":
            return "auto"
    elif isinstance(zero_based, (bool, np.bool_)):
        return "zero" if zero_based else "one"
    raise ValueError(f"zero_based must be True, False or 'auto', not {zero_based!r}")


def _at_least(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return min(int(value), most)


def _is_single(dtype: DTypeLike) -> bool:
    wanted = np.dtype(dtype)
    if wanted not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be float64 or float32, not {wanted}")
    return wanted == np.dtype(np.float32)


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- reading


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[tuple[IO[bytes], str, bool]]:
    """Yield a file to read, its name, and whether it was opened here."""
    if hasattr(path, "read"):
        yield path, str(getattr(path, "name", "<stream>")), False
        return
    name = os.path.expanduser(os.fsdecode(path))
    with open(name, "rb") as file:
        yield file, name, True


def _read(file: IO[bytes], name: str, own: bool, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Parse an open file in the cheapest way its kind allows."""
    start = file.read(_LOOKED_AT_BYTES)
    if not isinstance(start, bytes):
        raise TypeError(f"{name}: the file must be opened in binary mode")
    if not start:
        raise DataFormatError("the file is empty", name)
    # No text in this format starts with one of the signatures, so they alone decide.
    compression = compression_of(start)
    if compression is not None:
        return _parse(_decompressed(file, start, compression, name), name, arguments)
    # Map only files opened here: a GzipFile has a descriptor too, but reads something else from it.
    if own:
        _refuse_false_suffix(name)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            _refuse_binary(start, name)
            return core.read_svmlight_file(file.fileno(), *arguments)
    return _parse(start + file.read(), name, arguments)


def _refuse_false_suffix(name: str) -> None:
    claimed = compression_named(name)
    if claimed is not None:
        raise DataFormatError(
            f"the name ends in {claimed.suffix}, but this is not a {claimed.name} file", name
        )


def _decompressed(file: IO[bytes], start: bytes, compression: Compression, name: str) -> bytearray:
    source: Any = file
    try:
        file.seek(-len(start), os.SEEK_CUR)
    except (OSError, AttributeError):  # a pipe
        source = BytesIO(start + file.read())
    text = bytearray()
    try:
        with compression.open(source, "rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                text += block
    except EOFError:
        raise DataFormatError(
            f"the {compression.name} file is truncated after {len(text)} bytes of text", name
        ) from None
    except READ_ERRORS as error:
        raise DataFormatError(f"the {compression.name} file is corrupt: {error}", name) from None
    return text


def _parse(text: bytes | bytearray, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    if not text:
        raise DataFormatError("the file is empty", name)
    _refuse_binary(text[:_LOOKED_AT_BYTES], name)
    return core.read_svmlight_text(np.frombuffer(text, np.uint8), *arguments)


def _refuse_binary(start: bytes | bytearray, name: str) -> None:
    if b"\0" in start:
        raise DataFormatError("this is a binary file, not LIBSVM text", name)


# --- writing


def _as_rows(X: Any) -> Any:
    """Return a matrix of float32 or float64 with rows to slice; values are not checked yet."""
    rows = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions, not {rows.ndim}")
    return rows if rows.dtype == np.float32 else _as_float64(rows, "X")


def _as_float64(array: Any, name: str) -> Any:
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ValueError(f"{name} must contain numbers of at most 64 bits, not {array.dtype}")
    converted = array.astype(np.float64, copy=False)
    if array.dtype.kind in "iu" and (converted.astype(array.dtype) != array).sum() > 0:
        raise ValueError(f"{name} contains {array.dtype} numbers that float64 cannot represent")
    return converted


def _as_labels(y: Any, length: int) -> NDArray[np.float64]:
    labels = np.ascontiguousarray(_as_float64(np.asarray(y), "y"))
    if labels.shape != (length,):
        raise ValueError(f"y must have shape ({length},), one label per row, not {labels.shape}")
    if not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    return labels


def _as_query_ids(query_id: Any, length: int) -> NDArray[np.int64]:
    ids = np.asarray(query_id)
    if ids.dtype.kind not in "iu" or (ids.size and ids.max() > np.iinfo(np.int64).max):
        raise ValueError("query_id must contain integers of at most 64 bits")
    if ids.shape != (length,):
        raise ValueError(f"query_id must have shape ({length},), one per row, not {ids.shape}")
    return np.ascontiguousarray(ids, np.int64)


def _as_comment(comment: str | None) -> bytes:
    if comment is None:
        return b""
    if "\0" in comment:  # would make the file look binary
        raise ValueError("comment must not contain a null character")
    return "".join(f"# {line}\n" for line in comment.splitlines()).encode()


def _canonical(part: Any) -> Any:
    """Return CSR rows with increasing indices, without changing the caller's matrix."""
    part = sp.csr_matrix(part)
    if not part.has_canonical_format:
        part = part.copy()
        part.sum_duplicates()
    if part.indices.dtype != part.indptr.dtype:
        part.indices, part.indptr = part.indices.astype(np.int64), part.indptr.astype(np.int64)
    return part


def _blocks(rows: Any) -> Iterator[tuple[int, int]]:
    """Split the rows into ranges that one compiled call formats."""
    count, width = rows.shape
    entries = rows.nnz if sp.issparse(rows) else count * width
    step = max(1, int(count * MACHINE.call / max(1.0, MACHINE.written_value * entries)))
    for begin in range(0, count, step):
        yield begin, min(begin + step, count)
