"""Tables of numbers with a label column: what CSV and Parquet files have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from numpy.typing import NDArray

from widemargin.data.errors import DataFormatError

PathLike = str | os.PathLike[str]
_LARGEST_TABLE = 1_000_000_000


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
class TableColumns:
    """Which columns of a table are the label and the features.

    Attributes
    ----------
    label : str or None
        Name or number of the label column, counted from 1 (from the end if negative); None means
        the last column.
    features : sequence of str or None
        Names of the features that a model was trained on, in its order.
    count : int or None
        Number of features of a model. A table with exactly as many columns has no label.
    """

    label: str | None = None
    features: Sequence[str] | None = None
    count: int | None = None

    def split(
        self, width: int, names: Sequence[str] | None, path: PathLike
    ) -> tuple[int | None, list[int]]:
        """Return the position of the label, or None, and the positions of the features."""
        label = self._label_place(width, names, path)
        if self.features is not None and names is not None:
            places = self._feature_places(self.features, names, path)
            if self.label is None:
                label = max(set(range(width)) - set(places), default=None)
        elif self.label is None and width == self.count:
            places = list(range(width))
        else:
            label = width - 1 if label is None else label
            places = [place for place in range(width) if place != label]
        if not places:
            fail(path, "there is no column besides the label", line=1)
        return label, places

    @staticmethod
    def _feature_places(features: Sequence[str], names: Sequence[str], path: PathLike) -> list[int]:
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        for name in features:
            if name not in places:
                fail(path, f"there is no column {name!r}, which the model needs", line=1)
        return [places[name] for name in features]

    def _label_place(self, width: int, names: Sequence[str] | None, path: PathLike) -> int | None:
        if self.label is None:
            return None
        if names is not None and self.label in names:
            return names.index(self.label)
        try:
            number = int(self.label)
        except ValueError:
            known = "the file has no header" if names is None else f"columns: {_some(names)}"
            fail(path, f"there is no column {self.label!r} ({known})", line=1)
        if number == 0 or abs(number) > width:
            fail(path, f"there is no column {number}: columns are 1 to {width}", line=1)
        return number - 1 if number > 0 else width + number


def column_names(X: Any, y: Any, names: Sequence[str] | None) -> list[str]:
    """Return the header of a table to be written, the label last; refuse a table too large.

    Features without names are called ``x1``, ``x2``, ...
    """
    if X.shape[0] * X.shape[1] > _LARGEST_TABLE:
        raise ValueError(
            f"a table of {X.shape[0]} x {X.shape[1]} cells is too large: "
            "keep sparse data in the LIBSVM format"
        )
    header = [f"x{place + 1}" for place in range(X.shape[1])] if names is None else list(names)
    label = "label"
    while label in header:
        label += "_"
    return header if y is None else [*header, label]


def fail(path: PathLike, reason: str, line: int | None = None, column: int = 1) -> NoReturn:
    """Raise an error about a file; columns are cells here, counted from 1."""
    at = None if line is None else column
    raise DataFormatError(reason, path=os.fspath(path), line=line, column=at)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
