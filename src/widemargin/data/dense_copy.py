"""The layout of rows by the price of products: CSR with few zeros as dense, and the reverse.

Indices cost more than they save where most values are stored, and save more than they cost where
most are zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.rows import Rows
from widemargin.data.work import Size


def dense_if_cheaper(rows: Rows) -> Rows:
    """Return the same rows as a dense array where products with that cost less.

    By the prices of stored values that is where about half of them or more are stored. A copy
    beyond `MACHINE.largest_copy` bytes is not made. (A CSR matrix that stores every entry in order
    is read as the dense array that it is, without a copy.)
    """
    matrix = rows.array
    if not sp.issparse(matrix) or matrix.nnz == matrix.shape[0] * matrix.shape[1]:
        return rows
    n, d = matrix.shape
    if n * d * matrix.dtype.itemsize > MACHINE.largest_copy or not _is_cheaper(n, d, matrix.nnz):
        return rows
    dense = replace(Rows.of(matrix.toarray(), rows.shift), _kept=rows._kept, _means=rows._means)
    return dense.with_constant(rows.constant) if rows.constant else dense


def _is_cheaper(rows: int, features: int, stored: int) -> bool:
    """Whether products with sparse rows cost more than with all their zeros."""
    sparse = MACHINE.sparse_value * stored + MACHINE.row * rows
    return Size(rows, features, rows * features).product() < sparse


def sparse_if_cheaper(X: NDArray[Any]) -> Any:
    """Return an array as CSR where products of its rows with the weights of classes cost less."""
    stored = X != 0.0
    sparse = MACHINE.class_multiply * np.count_nonzero(stored)
    return _compressed(X, stored) if sparse < MACHINE.tiled_class_multiply * X.size else X


def _compressed(X: NDArray[Any], stored: NDArray[np.bool_]) -> Any:
    """Return an array as CSR: scipy goes by way of coordinates, which takes three times as long."""
    places = np.flatnonzero(stored)
    pointers = np.zeros(X.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(stored, axis=1), out=pointers[1:])
    narrow = np.int32 if max(places.size, X.shape[1]) < 2**31 else np.int64
    columns = (places % X.shape[1]).astype(narrow)
    values = np.ascontiguousarray(X).reshape(-1)[places]
    return sp.csr_matrix((values, columns, pointers.astype(narrow)), shape=X.shape)
