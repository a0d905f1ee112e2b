"""The layout that rows are read in: contiguous rows, and CSR without repeated entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.instruction_sets import core


def as_rows_array(X: Any) -> Any:
    """Bring a validated matrix into the layout that rows need, copying only by the stated rules.

    The rules, in full: a dense array that is not in C order is copied into C order once, because
    rows must be contiguous; a CSR matrix with repeated entries in a row gets them summed in a copy;
    row pointers and column indices of different widths are widened to int64. Everything else is
    used where it lies. (The view reads a CSR matrix without a single missing entry as the dense
    array that its values are; `widemargin.data.dense_copy` copies one with few zeros, and
    `widemargin.data.memory_rows` one whose columns are out of order, if threads share its rows.)
    """
    if sp.issparse(X):
        # has_canonical_format is remembered by scipy, so only the first look costs a pass.
        if not X.has_canonical_format and _has_repeats(X):
            X = X.copy()
            X.sum_duplicates()
        if X.indices.dtype != X.indptr.dtype:
            X = type(X)(
                (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
            )
        return X
    return np.ascontiguousarray(X)


def _has_repeats(X: Any) -> bool:
    """Whether a row stores a column twice; indices need not be sorted."""
    if X.has_sorted_indices:
        same = X.indices[1:] == X.indices[:-1]
        ends = X.indptr[1:-1] - 1
        same[ends[(ends >= 0) & (ends < same.size)]] = False
        return bool(same.any())
    X.check_format(full_check=False)
    indices, pointers = X.indices, X.indptr
    if indices.dtype != pointers.dtype or indices.dtype != np.int32:
        indices, pointers = indices.astype(np.int64), pointers.astype(np.int64)
    return core.has_repeats(indices, pointers, X.shape[1])
