"""Sentences of feature dictionaries, as sklearn-crfsuite takes them, as one CSR matrix."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.sequences import Sequences


class PackedNames:
    """Names as one string: each of them alone takes 50 bytes more."""

    def __init__(self, names: list[str]) -> None:
        self._text = "".join(names)
        self._lengths = array("i", map(len, names))

    def unpacked(self) -> NDArray[Any]:
        """Return the names as an array of strings."""
        names = np.empty(len(self._lengths), dtype=object)
        end = 0
        for place, length in enumerate(self._lengths):
            begin, end = end, end + length
            names[place] = self._text[begin:end]
        return names


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
            yield str(name), float(value)


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


def sequences_of_dicts(
    X: Iterable[Any], known: dict[str, int] | None
) -> tuple[Sequences, list[str]]:
    """Return the sentences as one matrix, and the names of its columns.

    Parameters
    ----------
    X : iterable of sequences of dict
        Each sentence is looked at once and not kept.
    known : dict, or None
        The columns of a fitted model, whose unknown features are left out; None to make them.
    """
    columns: dict[str, int] = {} if known is None else known
    # Most values are one: half the memory, as long as single precision holds them all exactly.
    values, places, pointers = array("f"), array("i"), array("q", [0])
    lengths = array("q")
    for number, sentence in enumerate(X):
        _check_sentence(sentence, number)
        lengths.append(len(sentence))
        for token in sentence:
            for name, value in _items(token):
                column = (
                    columns.setdefault(name, len(columns)) if known is None else columns.get(name)
                )
                if column is not None and value != 0.0:
                    places.append(column)
                    values.append(value)
                    if values[-1] != value:
                        values = array("d", values)
                        values[-1] = value
            pointers.append(len(values))
    narrow = np.int32 if len(values) < 2**31 else np.int64
    matrix = sp.csr_matrix(
        (
            np.frombuffer(values, dtype=values.typecode),
            np.frombuffer(places, dtype=np.intc).astype(narrow, copy=False),
            np.array(pointers, dtype=narrow),
        ),
        shape=(len(pointers) - 1, max(1, len(columns))),
    )
    matrix.sum_duplicates()
    return Sequences(matrix, np.array(lengths, dtype=np.int64)), list(columns)
