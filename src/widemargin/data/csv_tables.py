"""CSV files: read into a dense table, and written from rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.compression import READ_ERRORS, compression_named, writing
from widemargin.data.tables import PathLike, Table, TableColumns, column_names, fail

_ROWS_AT_ONCE = 4096
_BYTES_AT_ONCE = 2**20
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r"))
"""Parsers differ in which of these they take for spaces; a file of numbers needs none of them."""


def read_csv(path: PathLike, columns: TableColumns | None = None, *, header: str = "auto") -> Table:
    """Read a CSV file, or one compressed by gzip, bzip2 or xz, into a dense table.

    The separator is a tab for ``.tsv``; otherwise whichever of comma, semicolon and tab occurs most
    often in the first line. Every feature must be a finite number. By default the last column is
    the label and all others are features. `header` is "yes", "no" or "auto": the first line holds
    column names if none of its cells is a number.
    """
    layout = _layout_of(path, TableColumns() if columns is None else columns, header)
    names, label, features = layout.names, layout.label, layout.features
    wanted = sorted({*features, *(() if label is None else (label,))})
    codes: dict[str, int] = {}
    cells = _checked(layout, wanted, codes)
    y: NDArray[Any] | None = None
    if label is not None:
        y = cells[:, wanted.index(label)].copy()
        y = np.array(list(codes))[y.astype(np.intp)] if codes else y
    X = np.ascontiguousarray(cells[:, np.searchsorted(wanted, features)])
    return Table(X, y, None if names is None else tuple(names[place] for place in features))


def write_csv(X: Any, y: Any, path: PathLike, names: Sequence[str] | None = None) -> None:
    """Write examples as CSV, with a header, the label last.

    The suffix ``.tsv`` means tabs; ``.gz``, ``.bz2`` and ``.xz`` mean compressed text.
    """
    header = column_names(X, y, names)
    delimiter = "\t" if ".tsv" in (suffix.lower() for suffix in Path(path).suffixes[-2:]) else ","
    with writing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        for begin in range(0, X.shape[0], _ROWS_AT_ONCE):
            block = X[begin : begin + _ROWS_AT_ONCE]
            dense = block.toarray() if sp.issparse(block) else np.asarray(block)
            rows = [[_shortest(value) for value in row] for row in dense.tolist()]
            if y is not None:
                for row, label in zip(rows, y[begin : begin + len(rows)].tolist(), strict=True):
                    row.append(label if isinstance(label, str) else _shortest(label))
            writer.writerows(rows)
        text.detach()


def _shortest(value: float) -> str:
    """Return the shortest text that reads back as the same number; integers without a point."""
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


@dataclass(frozen=True)
class _Layout:
    """How a CSV file is laid out, and which of its columns are used."""

    path: PathLike
    delimiter: str
    width: int
    names: list[str] | None
    header_lines: int
    label: int | None
    features: list[int]


def _layout_of(path: PathLike, columns: TableColumns, header: str) -> _Layout:
    number, line = _first_line(path)
    tabs = ".tsv" in (suffix.lower() for suffix in Path(path).suffixes)
    delimiter = "\t" if tabs else max(",;\t", key=line.count)
    first = next(csv.reader([line], delimiter=delimiter))
    names = None
    if header == "yes" or (header == "auto" and not any(map(_is_number, first))):
        for place, name in enumerate(first):
            _check_controls(path, name, number, place)
        names = [name.strip() for name in first]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            fail(path, f"two columns are called {twice!r}", line=1)
    label, features = columns.split(len(first), names, path)
    return _Layout(
        path, delimiter, len(first), names, 0 if names is None else number, label, features
    )


def _open(path: PathLike) -> IO[str]:
    compression = compression_named(path)
    opener: Any = open if compression is None else compression.open
    # utf-8-sig: spreadsheets begin their files with a byte order mark.
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _has_controls(path: PathLike) -> bool:
    """Say whether there are control characters in the file, besides tabs and ends of lines."""
    compression = compression_named(path)
    opener: Any = open if compression is None else compression.open
    with opener(path, "rb") as file:
        while block := file.read(_BYTES_AT_ONCE):
            if len(block.translate(None, _CONTROLS)) < len(block):
                return True
    return False


def _first_line(path: PathLike) -> tuple[int, str]:
    """Return the first line that is not blank, and its number."""
    try:
        with _open(path) as file:
            lines = enumerate(file, start=1)
            number, line = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    except UnicodeDecodeError:
        fail(path, "the file is not text in UTF-8", line=1)
    except READ_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # there is no such file, or it may not be read
        fail(path, f"the file cannot be decompressed: {error}")
    if not line:
        fail(path, "the file is empty")
    if "\0" in line:
        fail(path, "the file is not text", line=1)
    return number, line


def _checked(layout: _Layout, wanted: list[int], codes: dict[str, int]) -> NDArray[np.float64]:
    """Return the wanted columns; errors name the line and column at fault."""
    cells = _numbers(layout, wanted, codes)
    unusable = cells is None or any(_is_number(text) or not text for text in codes)
    if unusable or _has_controls(layout.path):
        # numpy's parser is quick but gives no line numbers; the slow way finds them.
        _check_cells(layout)
    if cells is None or unusable:
        fail(layout.path, "the file cannot be read as a table of numbers")
    return cells


def _numbers(
    layout: _Layout, wanted: list[int], codes: dict[str, int]
) -> NDArray[np.float64] | None:
    """Return the wanted columns by numpy's parser, or None if anything in them is unusable.

    Labels that are text are numbered in the order of `codes`, which is filled.
    """
    label, first = layout.label, _first_record(layout)
    converters: Any = None
    if label is not None and label < len(first) and not _is_number(first[label]):
        converters = {label: lambda cell: codes.setdefault(cell.strip(), len(codes))}
    try:
        with _open(layout.path) as file:
            cells: NDArray[np.float64] = np.loadtxt(
                file,
                dtype=np.float64,
                delimiter=layout.delimiter,
                comments=None,
                quotechar='"',
                skiprows=layout.header_lines,
                converters=converters,
                usecols=None if len(wanted) == layout.width else wanted,
                ndmin=2,
                encoding="utf-8",
            )
    except (ValueError, *READ_ERRORS):
        return None
    usable = cells.shape[1] == len(wanted) and np.isfinite(cells).all()
    return cells if usable else None


def _records(layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each example."""
    with _open(layout.path) as file:
        reader = csv.reader(file, delimiter=layout.delimiter)
        for row in reader:
            blank = not row or (len(row) == 1 and not row[0].strip())
            if not blank and reader.line_num > layout.header_lines:
                yield reader.line_num, row


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _first_record(layout: _Layout) -> list[str]:
    """Return the cells of the first example; none if they cannot be read."""
    try:
        record = next(_records(layout), None)
    except (ValueError, csv.Error, *READ_ERRORS):
        return []  # _check_cells will say what is wrong
    if record is None:
        fail(layout.path, "there are no examples in the file")
    return record[1]


def _check_cells(layout: _Layout) -> None:
    """Read cell by cell and refuse the first one that cannot be used."""
    path, width, label = layout.path, layout.width, layout.label
    text_labels: list[bool] = []
    line = 0
    try:
        for line, row in _records(layout):
            if len(row) != width:
                fail(path, f"there are {len(row)} cells, the first line has {width}", line=line)
            for place in layout.features:
                _check_feature(layout, row[place], line, place)
            if label is not None:
                _check_controls(path, row[label], line, label)
                cell = row[label].strip()
                text_labels.append(not _is_number(cell))
                reason = _label_fault(cell, text_labels)
                if reason is not None:
                    fail(path, reason, line=line, column=label + 1)
    except UnicodeDecodeError:
        fail(path, "the file is not text in UTF-8", line=line + 1)
    except csv.Error as error:
        fail(path, str(error), line=line + 1)
    except READ_ERRORS as error:
        fail(path, f"the file cannot be decompressed: {error}", line=line + 1)


def _check_feature(layout: _Layout, cell: str, line: int, place: int) -> None:
    _check_controls(layout.path, cell, line, place)
    cell = cell.strip()
    if not cell:
        reason = "the cell is empty"
    elif not _is_number(cell):
        reason = f"{cell[:40]!r} is not a number"
    elif not np.isfinite(float(cell)):
        reason = f"{cell!r} is not finite"
    else:
        return
    title = "" if layout.names is None else f" (column {layout.names[place]!r})"
    fail(layout.path, reason + title, line=line, column=place + 1)


def _check_controls(path: PathLike, cell: str, line: int, place: int) -> None:
    for character in cell:
        if character < "\x80" and ord(character) in _CONTROLS:
            reason = f"there is a control character, {character!r}"
            fail(path, reason, line=line, column=place + 1)


def _label_fault(cell: str, are_text: list[bool]) -> str | None:
    """Say what is wrong with the latest label, given which of those so far are not numbers."""
    if not cell:
        return "the label is empty"
    if not are_text[-1] and not np.isfinite(float(cell)):
        return f"the label {cell!r} is not finite"
    if are_text[-1] == are_text[0]:
        return None
    if len(are_text) > 2:
        kind = "text" if are_text[-1] else "a number"
        return f"the label {cell[:40]!r} is {kind}, unlike those before it"
    return (
        "one of the first two labels is text, the other a number; if the first line holds column "
        "names, pass --header yes"
    )
