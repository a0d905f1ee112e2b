"""Data written as tables: CSV and Parquet, the label in the last column."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.tables import require_pyarrow

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LARGEST_DENSE = 1_000_000_000
_ROWS_AT_ONCE = 4096


def write_csv(
    X: Any, y: Any, file: IO[bytes], names: Sequence[str] | None = None, *, path: str = ""
) -> None:
    """Write examples to an open binary file as CSV, with a header, the label last.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    file : binary file
    names : sequence of str, optional
        By default ``x1``, ``x2``, ...
    path : str
        The file's name: ``.tsv`` means tabs, ``.gz``, ``.bz2`` or ``.xz`` packed text.
    """
    _refuse_huge(X)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    opener = _OPENERS.get(suffixes[-1]) if suffixes else None
    delimiter = "\t" if ".tsv" in suffixes[-2:] else ","
    with contextlib.nullcontext(file) if opener is None else opener(file, "wb") as packed:
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="")
        _write_rows(X, y, csv.writer(text, delimiter=delimiter, lineterminator="\n"), names)
        text.detach()


def _write_rows(X: Any, y: Any, writer: Any, names: Sequence[str] | None) -> None:
    writer.writerow([*_names(X, names), *([] if y is None else [_label_name(names)])])
    for begin, block in _blocks(X):
        rows: list[list[Any]] = [[_shortest(value) for value in row] for row in block.tolist()]
        if y is not None:
            for row, label in zip(rows, y[begin : begin + len(rows)].tolist(), strict=True):
                row.append(label if isinstance(label, str) else _shortest(label))
        writer.writerows(rows)


def write_parquet(X: Any, y: Any, file: IO[bytes], names: Sequence[str] | None = None) -> None:
    """Write examples to an open binary file as Parquet, the label last; needs pyarrow.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    file : binary file
    names : sequence of str, optional
        By default ``x1``, ``x2``, ...
    """
    arrow, parquet = require_pyarrow()
    _refuse_huge(X)
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    columns = {name: arrow.array(dense[:, place]) for place, name in enumerate(_names(X, names))}
    if y is not None:
        columns[_label_name(names)] = arrow.array(y)
    parquet.write_table(arrow.table(columns), file)


def _refuse_huge(X: Any) -> None:
    if X.shape[0] * X.shape[1] > _LARGEST_DENSE:
        raise ValueError(
            f"a table of {X.shape[0]} x {X.shape[1]} cells is too large: "
            "keep sparse data in the LIBSVM format"
        )


def _names(X: Any, names: Sequence[str] | None) -> list[str]:
    return [f"x{place + 1}" for place in range(X.shape[1])] if names is None else list(names)


def _label_name(names: Sequence[str] | None) -> str:
    name = "label"
    while names is not None and name in names:
        name += "_"
    return name


def _shortest(value: float) -> str:
    """Return the shortest text that reads back as the same number; integers without a point."""
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _blocks(X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    for begin in range(0, X.shape[0], _ROWS_AT_ONCE):
        block = X[begin : begin + _ROWS_AT_ONCE]
        yield begin, block.toarray() if sp.issparse(block) else np.asarray(block)
