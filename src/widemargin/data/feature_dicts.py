"""Sentences of feature dictionaries, as sklearn-crfsuite takes them, as one CSR matrix."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.data.sequences import Sequences


def _items(token: Any) -> Iterator[tuple[str, float]]:
    """Yield the features of one row: a dictionary, or a list of names."""
    if not isinstance(token, Mapping):
        yield from ((str(name), 1.0) for name in token)
        return
    for name, value in token.items():
        if isinstance(value, str):
            yield f"{name}={value}", 1.0
        elif isinstance(value, Mapping):
            yield from ((f"{name}:{inner}", v) for inner, v in _items(value))
        elif isinstance(value, list | tuple | set):
            yield from ((f"{name}={inner}", 1.0) for inner in value)
        elif value is not None:
            yield str(name), float(value)


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
    values, places, pointers = array("d"), array("i"), array("q", [0])
    lengths = array("q")
    for sentence in X:
        if sp.issparse(sentence) or isinstance(sentence, np.ndarray):
            raise ValueError("an iterator must yield lists of feature dictionaries, not matrices")
        lengths.append(len(sentence))
        for token in sentence:
            for name, value in _items(token):
                column = (
                    columns.setdefault(name, len(columns)) if known is None else columns.get(name)
                )
                if column is not None and value != 0.0:
                    places.append(column)
                    values.append(value)
            pointers.append(len(values))
    narrow = np.int32 if len(values) < 2**31 else np.int64
    matrix = sp.csr_matrix(
        (
            np.frombuffer(values),
            np.frombuffer(places, dtype=np.intc).astype(narrow, copy=False),
            np.array(pointers, dtype=narrow),
        ),
        shape=(len(pointers) - 1, max(1, len(columns))),
    )
    matrix.sum_duplicates()
    return Sequences(matrix, np.array(lengths, dtype=np.int64)), list(columns)
