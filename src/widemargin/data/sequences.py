"""Sequences: sentences of rows, given in any of the usual forms, as one matrix and lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from widemargin.data.dense_copy import sparse_if_cheaper
from widemargin.data.rows import Rows, as_rows_array
from widemargin.data.validation import check_consistent
from widemargin.instruction_sets import core

Lengths = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sequences:
    """The rows of all sentences below each other.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (tokens, features)
    lengths : ndarray of int64, shape (sentences,)
        Rows of each sentence; zero is allowed.
    """

    X: Any
    lengths: Lengths

    @property
    def count(self) -> int:
        """Number of sentences, the empty ones included."""
        return int(self.lengths.size)

    @property
    def kept(self) -> NDArray[np.intp]:
        """The sentences that are not empty."""
        return np.flatnonzero(self.lengths > 0)

    @property
    def first(self) -> NDArray[np.int64]:
        """Where each sentence that is not empty begins, and the end of the last one."""
        return np.concatenate([[0], np.cumsum(self.lengths[self.kept])]).astype(np.int64)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut values of all rows into one array a sentence."""
        return np.split(values, np.cumsum(self.lengths)[:-1]) if self.count else []

    def rows(self) -> Rows:
        """View the rows; raise an error where a value is not finite or overflows when squared."""
        if self._all_one:
            view = core.OnesRows(self.X.indices, self.X.indptr, self.X.shape[1])
            return Rows(view, _longest=core.longest_row(self.X.indptr))
        rows = Rows.of(self.X)
        if not rows.is_finite():
            values = self.X.data if sp.issparse(self.X) else self.X
            if not np.isfinite(values).all():
                raise ValueError("X contains NaN or infinity")
            raise ValueError("the sum of squares of X overflows; scale the features")
        return rows

    @property
    def _all_one(self) -> bool:
        """Whether all stored values are one, and take no memory: those of named features."""
        if not sp.issparse(self.X) or not self.X.has_canonical_format:
            return False
        values = self.X.data
        return bool(values.size and values.strides == (0,) and values[0] == 1.0)

    def take(self, sentences: NDArray[Any]) -> Sequences:
        """Copy some of the sentences."""
        ends = np.cumsum(self.lengths)
        places = [np.arange(ends[i] - self.lengths[i], ends[i]) for i in sentences]
        chosen = np.concatenate(places) if places else np.zeros(0, dtype=np.int64)
        return Sequences(self.X[chosen], self.lengths[sentences])


def are_feature_dicts(X: Any) -> bool:
    """Whether X is a list of lists of feature dictionaries, as sklearn-crfsuite takes them.

    A row may also be a list or set of feature names. An iterator has to be one over such lists: it
    cannot be looked at twice.
    """
    if isinstance(X, Iterator):
        return True
    if not isinstance(X, list | tuple):
        return False
    for sentence in X:
        if isinstance(sentence, list | tuple) and len(sentence):
            return _has_names(sentence[0])
    return False


def _has_names(row: Any) -> bool:
    """Whether a row is given by the names of its features."""
    if isinstance(row, list | tuple):
        return any(isinstance(name, str) for name in row)
    return isinstance(row, Mapping | set | frozenset)


def sequences_of(X: Any, lengths: Any, features: int | None) -> Sequences:
    """Bring sentences into one matrix: a list of matrices, or one matrix and lengths.

    Parameters
    ----------
    X : list of arrays or sparse matrices, or one of them
    lengths : sequence of int, or None
        Rows of each sentence, if X is one matrix.
    features : int, or None
        The number that a fitted model has, or None to take that of X.
    """
    if lengths is not None:
        return _with_lengths(X, lengths, features)
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim == 2):
        raise ValueError("X is one matrix: pass lengths=, the number of rows of each sequence")
    if not hasattr(X, "__len__") or isinstance(X, str | bytes | Mapping):
        raise ValueError("X must be a list of sequences, or one matrix with lengths=")
    parts = list(X)
    if parts and isinstance(parts[0], Mapping):
        raise ValueError("X is one sequence of feature dictionaries; pass a list of them, [X]")
    return _joined(parts, features)


def _with_lengths(X: Any, lengths: Any, features: int | None) -> Sequences:
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        raise ValueError("lengths must be a list of whole numbers, none of them negative")
    if isinstance(X, list | tuple) and len(X) and _is_matrix(X[0]):
        raise ValueError("lengths= goes with one matrix; X is a list of sequences")
    X = _checked(X)
    if int(lengths.sum()) != X.shape[0]:
        raise ValueError(f"lengths add up to {int(lengths.sum())}, but X has {X.shape[0]} rows")
    _check_width(X.shape[1], features, "X")
    return Sequences(as_rows_array(X), lengths.astype(np.int64))


def _joined(parts: list[Any], features: int | None) -> Sequences:
    lengths = np.zeros(len(parts), dtype=np.int64)
    matrices, sparse = [], False
    for place, part in enumerate(parts):
        size = part.shape[0] if hasattr(part, "shape") and part.shape else len(part)
        lengths[place] = size
        if size == 0:
            continue
        matrix = part
        if not _is_plain(part):
            matrix = _checked_alone(part, place)
            sparse = sparse or sp.issparse(matrix)
        _check_width(matrix.shape[1], features, f"sequence {place}")
        features = matrix.shape[1]
        matrices.append(matrix)
    if not matrices:
        return Sequences(np.zeros((0, features or 0)), lengths)
    if sparse:
        X = sp.vstack([sp.csr_matrix(matrix) for matrix in matrices], format="csr")
    else:
        X = sparse_if_cheaper(_checked_joined(np.concatenate(matrices), lengths))
    return Sequences(as_rows_array(X), lengths)


def _checked_joined(X: NDArray[Any], lengths: Lengths) -> Any:
    try:
        return _checked(X)
    except ValueError as error:
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if bad.size == 0:
            raise
        place = np.searchsorted(np.cumsum(lengths), bad[0], side="right")
        raise ValueError(f"sequence {place}: {error}") from error


def _is_matrix(part: Any) -> bool:
    if isinstance(part, list | tuple):
        return len(part) > 0 and isinstance(part[0], list | tuple | np.ndarray | Mapping)
    return len(getattr(part, "shape", ())) == 2


def _is_plain(part: Any) -> bool:
    """Whether the check of a sequence can wait until all are joined: a check costs 0.1 ms."""
    return isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype.kind in "fiu"


def _checked_alone(part: Any, place: int) -> Any:
    """Return one sequence as a matrix; errors name it."""
    try:
        return _checked(part)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sequence {place} is neither a matrix of numbers, a row for each label, nor a list of "
            f"feature dictionaries: {error}"
        ) from error


def _checked(X: Any) -> Any:
    check_consistent(X)
    return check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=0,
        input_name="X",
    )


def _check_width(width: int, expected: int | None, name: str) -> None:
    if expected is not None and width != expected:
        raise ValueError(f"{name} has {width} features, expected {expected}")


def joined_labels(y: Any, lengths: Lengths) -> NDArray[Any]:
    """Put the labels of all sentences into one array: a list a sentence, or one flat array."""
    tokens = int(lengths.sum())
    flat = isinstance(y, np.ndarray) and y.dtype != object and y.ndim == 1
    if flat and len(y) == tokens:
        return np.asarray(y)
    if not hasattr(y, "__len__") or len(y) != lengths.size:
        raise ValueError(
            f"y must have one list of labels for each of the {lengths.size} sequences, "
            f"or one label for each of the {tokens} rows"
        )
    parts = [
        _labels_of(labels, place, int(length))
        for place, (labels, length) in enumerate(zip(y, lengths, strict=True))
    ]
    return _concatenated([part for part in parts if part.size])


def _concatenated(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if len({part.dtype.kind in "US" for part in parts}) > 1:
        raise ValueError("y mixes strings with other labels")
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _labels_of(labels: Any, place: int, length: int) -> NDArray[Any]:
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise ValueError(f"the labels of sequence {place} must be a list; got {labels!r}")
    if len(labels) != length:
        raise ValueError(f"sequence {place} has {length} rows but {len(labels)} labels")
    found = np.asarray(labels)
    if found.ndim != 1:
        raise ValueError(f"the labels of sequence {place} must be a list, one for each row")
    if not _is_complete(found, labels):
        raise ValueError(f"some labels of sequence {place} are missing, or of another type")
    return found


def _is_complete(found: NDArray[Any], labels: Any) -> bool:
    """Whether no label is missing, and either all or none are strings: numpy would convert them."""
    if found.dtype.kind == "f":
        return not np.isnan(found).any()
    if found.dtype.kind in "biu" or (isinstance(labels, np.ndarray) and labels.dtype != object):
        return True
    types = {type(label) for label in labels}
    return type(None) not in types and len({issubclass(each, str) for each in types}) == 1
