"""Tables with a label column, read from CSV (also packed by gzip, bzip2, xz) and Parquet."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from widemargin.data.errors import DataFormatError

PathLike = str | os.PathLike[str]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True, eq=False)
class Table:
    """Examples read from a table.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        float64; float32 if every feature column of a Parquet file is.
    y : ndarray of shape (n_samples,) or None
        The label column: numbers, or strings; None if the table has none.
    feature_names : tuple of str or None
        None if a CSV file has no header.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are the label and the features.

    Attributes
    ----------
    label : str or None
        Name, or number counted from 1 (from the end if negative), of the label column; None means
        the last column.
    features : sequence of str or None
        Names of the features, in the order wanted, when a model has them.
    count : int or None
        Number of features that a model wants. A table with just so many columns has no label.
    """

    label: str | None = None
    features: Sequence[str] | None = None
    count: int | None = None

    def split(
        self, width: int, names: Sequence[str] | None, path: PathLike
    ) -> tuple[int | None, list[int]]:
        """Return the place of the label, or None, and the places of the features."""
        label = self._label_place(width, names, path)
        if self.features is not None and names is not None:
            absent = [name for name in self.features if name not in names]
            if absent:
                _fail(path, f"there is no column {absent[0]!r}, which the model needs", line=1)
            places = [names.index(name) for name in self.features]
            rest = sorted(set(range(width)) - set(places))
            if self.label is None:
                label = rest[-1] if rest else None
            return label, places
        if self.label is None and width == self.count:
            return None, list(range(width))
        label = width - 1 if label is None else label
        return label, [place for place in range(width) if place != label]

    def _label_place(self, width: int, names: Sequence[str] | None, path: PathLike) -> int | None:
        if self.label is None:
            return None
        if names is not None and self.label in names:
            return names.index(self.label)
        try:
            number = int(self.label)
        except ValueError:
            known = "the file has no header" if names is None else f"columns: {_some(names)}"
            _fail(path, f"there is no column {self.label!r} ({known})", line=1)
        if number == 0 or abs(number) > width:
            _fail(path, f"there is no column {number}: columns are 1 to {width}", line=1)
        return number - 1 if number > 0 else width + number


def read_csv(path: PathLike, columns: Columns | None = None, *, header: str = "auto") -> Table:
    """Read a CSV file, or one compressed by gzip, bzip2 or xz, into a dense table.

    The separator is a tab for ``.tsv``; else whichever of comma, semicolon and tab stands in the
    first line. Every feature must be a finite number.

    Parameters
    ----------
    path : path-like
    columns : Columns, optional
        By default the last column is the label and all others are features.
    header : {"auto", "yes", "no"}
        Whether the first line holds names. "auto" takes it for names if no cell of it is a number.

    Returns
    -------
    Table

    Raises
    ------
    DataFormatError
        With line and column, if a cell, a line or the file cannot be used.
    """
    columns = Columns() if columns is None else columns
    delimiter, first = _first_line(path)
    named = header == "yes" or (header == "auto" and not any(map(_is_number, first)))
    names = [name.strip() for name in first] if named else None
    if names is not None and len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        _fail(path, f"two columns are called {twice!r}", line=1)
    width = len(first)
    label, features = columns.split(width, names, path)
    if not features:
        _fail(path, "there is no column besides the label", line=1)

    # The quick way is numpy's parser. It has no line numbers for us; the slow way finds them.
    codes: dict[str, int] = {}
    example = _first_record(path, delimiter, named)
    as_text = label is not None and label < len(example) and not _is_number(example[label])
    wanted = sorted({*features, *(() if label is None else (label,))})
    encode: Any = None
    if as_text:
        encode = {label: lambda cell: codes.setdefault(cell.strip(), len(codes))}
    try:
        with _open(path) as file:
            cells: NDArray[np.float64] = np.loadtxt(
                file,
                dtype=np.float64,
                delimiter=delimiter,
                comments=None,
                quotechar='"',
                skiprows=_header_lines(path) if named else 0,
                converters=encode,
                usecols=None if len(wanted) == width else wanted,
                ndmin=2,
                encoding="utf-8",
            )
        usable = cells.shape[1] == len(wanted) and bool(np.isfinite(cells).all())
        usable = usable and not any(_is_number(text) or not text for text in codes)
    except (ValueError, EOFError, OSError, lzma.LZMAError, zlib.error):
        usable = False
    if not usable:
        _check_cells(path, delimiter, named, width, features, label, names)
        _fail(path, "the file cannot be read as a table of numbers")
    y = None if label is None else cells[:, wanted.index(label)].copy()
    if y is not None and as_text:
        y = np.array(list(codes))[y.astype(np.intp)]
    X = np.ascontiguousarray(cells[:, np.searchsorted(wanted, features)])
    kept = None if names is None else tuple(names[place] for place in features)
    return Table(X, y, kept)


def read_parquet(path: PathLike, columns: Columns | None = None) -> Table:
    """Read a Parquet file into a dense table; needs pyarrow (``widemargin[parquet]``).

    Parameters
    ----------
    path : path-like
    columns : Columns, optional
        By default the last column is the label and all others are features.

    Returns
    -------
    Table
    """
    arrow, parquet = require_pyarrow()
    columns = Columns() if columns is None else columns
    with open(path, "rb") as file:
        try:
            table = parquet.read_table(file)
        except (arrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else "it cannot be read"
            _fail(path, f"not a usable Parquet file: {reason}")
    names = list(table.column_names)
    label, features = columns.split(len(names), names, path)
    if not features:
        _fail(path, "there is no column besides the label")
    if table.num_rows == 0:
        _fail(path, "there are no examples in the file")
    kinds = [table.schema.field(place).type for place in features]
    single = all(arrow.types.is_float32(kind) for kind in kinds)
    X = np.empty((table.num_rows, len(features)), dtype=np.float32 if single else np.float64)
    for target, (place, kind) in enumerate(zip(features, kinds, strict=True)):
        usable = (
            arrow.types.is_integer(kind)
            or arrow.types.is_floating(kind)
            or arrow.types.is_boolean(kind)
        )
        if not usable:
            _fail(path, f"column {names[place]!r} holds {kind}, not numbers")
        X[:, target] = _arrow_values(table.column(place), names[place], path)
    y = None
    if label is not None:
        y = _arrow_values(table.column(label), names[label], path)
        y = y.astype(str) if y.dtype.kind == "O" else y
    return Table(X, y, tuple(names[place] for place in features))


def _fail(path: PathLike, reason: str, line: int | None = None, column: int = 1) -> NoReturn:
    """Refuse a file; columns are cells here, counted from 1."""
    at = None if line is None else column
    raise DataFormatError(reason, path=os.fspath(path), line=line, column=at)


def _open(path: PathLike) -> IO[str]:
    # utf-8-sig: spreadsheets begin their files with a byte order mark.
    opener = _OPENERS.get(Path(path).suffix.lower(), open)
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _first_line(path: PathLike) -> tuple[str, list[str]]:
    try:
        with _open(path) as file:
            line = file.readline()
            while line and not line.strip():
                line = file.readline()
    except UnicodeDecodeError:
        _fail(path, "the file is not text in UTF-8", line=1)
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        _fail(path, f"the file cannot be unpacked: {error}")
    if not line:
        _fail(path, "the file is empty")
    if "\0" in line:
        _fail(path, "the file is not text", line=1)
    counts = {mark: line.count(mark) for mark in ",;\t"}
    tabbed = ".tsv" in (suffix.lower() for suffix in Path(path).suffixes)
    delimiter = "\t" if tabbed else max(counts, key=lambda mark: counts[mark])
    return delimiter, next(csv.reader([line], delimiter=delimiter))


def _records(path: PathLike, delimiter: str, named: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield each example's line number and cells."""
    with _open(path) as file:
        reader = csv.reader(file, delimiter=delimiter)
        skip = named
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if skip:
                skip = False
                continue
            yield reader.line_num, row


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _header_lines(path: PathLike) -> int:
    """Return the number of lines up to and with the header: blank ones may come before it."""
    with _open(path) as file:
        return next(number for number, line in enumerate(file, start=1) if line.strip())


def _first_record(path: PathLike, delimiter: str, named: bool) -> list[str]:
    """Return the cells of the first example; none if they cannot be read."""
    try:
        record = next(_records(path, delimiter, named), None)
    except (ValueError, csv.Error, EOFError, OSError, lzma.LZMAError, zlib.error):
        return []  # the reading proper will say what is wrong
    if record is None:
        _fail(path, "there are no examples in the file")
    return record[1]


def _check_cells(
    path: PathLike,
    delimiter: str,
    named: bool,
    width: int,
    features: list[int],
    label: int | None,
    names: list[str] | None,
) -> None:
    """Read cell by cell and refuse the first that cannot be used."""
    text_labels: list[bool] = []
    line = 0
    try:
        for line, row in _records(path, delimiter, named):
            if len(row) != width:
                _fail(path, f"there are {len(row)} cells, the first line has {width}", line=line)
            for place in features:
                cell = row[place].strip()
                if not _is_number(cell) or not np.isfinite(float(cell)):
                    what = "the cell is empty" if not cell else f"{cell[:40]!r} is not a number"
                    if cell and _is_number(cell):
                        what = f"{cell!r} is not finite"
                    title = "" if names is None else f" (column {names[place]!r})"
                    _fail(path, what + title, line=line, column=place + 1)
            if label is None:
                continue
            cell = row[label].strip()
            if not cell:
                _fail(path, "the label is empty", line=line, column=label + 1)
            if _is_number(cell) and not np.isfinite(float(cell)):
                _fail(path, f"the label {cell!r} is not finite", line=line, column=label + 1)
            text_labels.append(not _is_number(cell))
            if text_labels[-1] != text_labels[0] and len(text_labels) > 2:
                what = "text" if text_labels[-1] else "a number"
                _fail(
                    path,
                    f"the label {cell[:40]!r} is {what}, unlike those before it",
                    line=line,
                    column=label + 1,
                )
            if text_labels[-1] != text_labels[0]:
                _fail(
                    path,
                    "the label of the first line is text and that of the next a number, or the "
                    "other way round; if the first line holds names, say --header yes",
                    line=line,
                    column=label + 1,
                )
    except UnicodeDecodeError:
        _fail(path, "the file is not text in UTF-8", line=line + 1)
    except csv.Error as error:
        _fail(path, str(error), line=line + 1)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        _fail(path, f"the file cannot be unpacked: {error}", line=line + 1)


def require_pyarrow() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet, or say how to get them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'widemargin[parquet]'") from None
    return pyarrow, pyarrow.parquet


def _arrow_values(column: Any, name: str, path: PathLike) -> NDArray[Any]:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        _fail(path, f"row {row + 1}, column {name!r}: there is no value")
    values: NDArray[Any] = (
        column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
    ).to_numpy()
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        _fail(path, f"row {row + 1}, column {name!r}: {values[row]} is not finite")
    return values


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
