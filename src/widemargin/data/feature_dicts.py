"""Sentences of feature dictionaries, as sklearn-crfsuite takes them, as one CSR matrix."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.sequences import Sequences
from widemargin.instruction_sets import core


def _items(token: Any) -> Iterator[tuple[str, float]]:
    """Yield the features of one row: a dictionary, or a list of names."""
    if not isinstance(token, Mapping):
        for name in _in_order(token):
            if not isinstance(name, str):
                raise ValueError(f"a list of feature names has {name!r}, which is not a string")
            yield name, 1.0
        return
    for name, value in token.items():
        if isinstance(value, str):
            yield f"{name}={value}", 1.0
        elif isinstance(value, Mapping):
            yield from ((f"{name}:{inner}", v) for inner, v in _items(value))
        elif isinstance(value, list | tuple | set | frozenset):
            yield from ((f"{name}={inner}", 1.0) for inner in _in_order(value))
        elif value is not None:
            yield str(name), _number(name, value)


def _number(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"feature {name!r} has the value {value!r}; it must be a number, a string, a list of "
            "strings or a dictionary of features"
        ) from error


def _in_order(names: Any) -> Any:
    """Return names in an order that is the same in every process: that of a set is not."""
    return sorted(names, key=str) if isinstance(names, set | frozenset) else names


def _check_sentence(sentence: Any, number: int) -> None:
    """Raise an error unless a sentence is a list of rows: dictionaries, or lists of names."""
    name = f"X has to give one list of feature dictionaries per sequence; sequence {number}"
    if sp.issparse(sentence) or isinstance(sentence, np.ndarray):
        raise ValueError(
            f"{name} is a matrix. Pass matrices as a list; only sequences of feature dictionaries "
            "can come from an iterator"
        )
    if not isinstance(sentence, list | tuple):
        raise ValueError(f"{name} is of type {type(sentence).__name__}")
    for token in sentence:
        if not isinstance(token, Mapping | list | tuple | set | frozenset):
            raise ValueError(f"{name} has a row of type {type(token).__name__}")


class PackedNames:
    """The names of a table in a fraction of the memory that they take as strings."""

    def __init__(self, table: core.NameTable) -> None:
        self._count = len(table)
        self._packed = zlib.compress(table.packed(), 1)

    def unpacked(self) -> NDArray[Any]:
        """Return the names as an array of strings."""
        names = np.empty(self._count, dtype=object)
        names[:] = core.unpacked_names(zlib.decompress(self._packed))
        return names


def table_of(names: Iterable[Any]) -> core.NameTable:
    """Return a table of the names of columns."""
    table = core.NameTable()
    table.numbers([str(name) for name in names], True)
    return table


class _Values:
    """The columns and the values of the rows so far, as small as they can be kept.

    Most values are one: none is kept while all are, and single precision is used as long as it
    holds them all exactly.
    """

    def __init__(self) -> None:
        self.places = array("i")
        self.pointers = array("q", [0])
        self._values: array[float] | None = None

    def add(self, columns: list[int], values: list[float]) -> None:
        """Append a row; columns may repeat, and those below zero are left out."""
        found: dict[int, float] = {}
        for column, value in zip(columns, values, strict=True):
            if column >= 0 and value != 0.0:
                found[column] = found[column] + value if column in found else value
        self.places.extend(sorted(found))
        if self._values is None and any(value != 1.0 for value in found.values()):
            self._values = array("f", [1.0]) * self.pointers[-1]
        if self._values is not None:
            for column in sorted(found):
                self._append(self._values, found[column])
        self.pointers.append(len(self.places))

    def _append(self, values: array[float], value: float) -> None:
        values.append(value)
        if values[-1] != value:
            self._values = array("d", values)
            self._values[-1] = value

    def matrix(self, columns: int) -> sp.csr_matrix:
        """Return the rows; values that are all one take no memory."""
        narrow = np.int32 if len(self.places) < 2**31 else np.int64
        values = self._values
        data = (
            np.broadcast_to(np.float32(1.0), len(self.places))
            if values is None
            else np.frombuffer(values, dtype=values.typecode)
        )
        places = np.frombuffer(self.places, dtype=np.intc).astype(narrow, copy=False)
        pointers = np.array(self.pointers, dtype=narrow)
        shape = (len(self.pointers) - 1, max(1, columns))
        matrix = sp.csr_matrix((data, places, pointers), shape=shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix


def sequences_of_dicts(
    X: Iterable[Any], known: core.NameTable | None
) -> tuple[Sequences, core.NameTable]:
    """Return the sentences as one matrix, and the names of its columns.

    Parameters
    ----------
    X : iterable of sequences of dict
        Each sentence is looked at once and not kept.
    known : NameTable, or None
        The columns of a fitted model, whose unknown features are left out; None to make them.
    """
    table = core.NameTable() if known is None else known
    rows, lengths = _Values(), array("q")
    for number, sentence in enumerate(X):
        _check_sentence(sentence, number)
        lengths.append(len(sentence))
        for token in sentence:
            names: list[str] = []
            values: list[float] = []
            for name, value in _items(token):
                names.append(name)
                values.append(value)
            rows.add(table.numbers(names, known is None), values)
    return Sequences(rows.matrix(len(table)), np.array(lengths, dtype=np.int64)), table
