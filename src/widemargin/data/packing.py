"""Sparse rows with few zeros, stored with their zeros: indices cost more than they save."""

from __future__ import annotations

from dataclasses import replace

import scipy.sparse as sp

from widemargin.data.rows import Rows
from widemargin.data.work import Size


def packed(rows: Rows) -> Rows:
    """Return the same rows as a dense array where products with that cost less.

    By the prices of stored values that is where about half of them or more are stored. The copy
    then takes at most 4/3 of the memory of the sparse matrix (4/3 at float64, 1 at float32).
    """
    matrix = rows.array
    if not sp.issparse(matrix) or not dense_is_cheaper(rows.size):
        return rows
    dense = replace(Rows.of(matrix.toarray(), rows.shift), _kept=rows._kept)
    return dense.with_constant(rows.constant) if rows.constant else dense


def dense_is_cheaper(size: Size) -> bool:
    """Whether products with sparse rows of this size cost more than with all their zeros."""
    if size.dense:
        return False  # read as the dense array that it is
    return Size(size.rows, size.weights, size.rows * size.weights).product() < size.product()
