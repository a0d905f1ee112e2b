"""Columns far from zero, as times in seconds are, moved to zero where that changes no answer.

With an intercept that is not penalised, P(w, b; X) = P(w, b + w·μ; X − 1μᵀ): an answer does not
depend on where the columns begin. In floating point it does: margins are differences of large
numbers, and coordinate descent crawls. So rows far from zero are copied with a value of each such
column subtracted. Nearly all of these differences are exact; the certificates allow for the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.rows import Rows, as_rows_array
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]

_SAMPLE = 32
"""Rows looked at, or up to twice as many: a column near zero there is left alone."""

_FAR = 8.0
"""A column is far from zero if its mean is this many times what it varies by."""


def with_intercept(X: Any, rows: Rows, free: bool, scaling: float) -> Rows:
    """Return the rows of X with a constant feature, or with columns far from zero shifted."""
    if scaling:
        return rows.with_constant(scaling)
    return centred(X, rows) if free else rows


def centred(X: Any, rows: Rows) -> Rows:
    """Return the rows of X with columns far from zero shifted, or the rows as they are."""
    shift = _sparse_shift(X) if sp.issparse(X) else _dense_shift(X)
    if shift is None:
        return rows
    moved = _moved_sparse(X, shift) if sp.issparse(X) else moved_dense(X, shift)
    return Rows.of(as_rows_array(moved), shift)


def sampled_step(count: int) -> int:
    """Return the distance between the rows that are looked at."""
    return max(1, count // _SAMPLE)


def _dense_shift(X: Any) -> Vector | None:
    return shift_of_sample(X[:: sampled_step(X.shape[0])])


def shift_of_sample(sample: Any) -> Vector | None:
    """Return what to subtract from the columns, judged by some of the rows, or None."""
    least, most = sample.min(axis=0), sample.max(axis=0)
    # The plain case first: a column that has both signs or a zero, or varies much, is near zero.
    if not (np.abs(least + most) > _FAR * (most - least)).any():
        return None
    return _shift_of(sample.astype(np.float64))


def _shift_of(sample: Vector) -> Vector | None:
    """Return a value of each column that is far from zero in the sample, and zero for the rest."""
    middle, spread = sample.mean(axis=0), sample.std(axis=0)
    far = np.abs(middle) > _FAR * spread
    # Beside other columns that vary as much, its distance does no harm.
    if not float(np.square(middle[far]).sum()) > _FAR**2 * float(np.square(spread).sum()):
        return None
    nearest = np.abs(sample - middle).argmin(axis=0)
    return np.where(far, sample[nearest, np.arange(middle.size)], 0.0)


def moved_dense(X: Any, shift: Vector) -> Any:
    """Return a copy of a dense matrix with columns shifted."""
    moved = np.subtract(X, shift, dtype=np.float64, order="C")
    if X.dtype == np.float32:
        narrow = moved.astype(np.float32)
        return narrow if np.array_equal(narrow, moved) else moved
    return moved


def _sparse_shift(X: Any) -> Vector | None:
    """Look at the columns that the sampled rows have in common: others are near zero."""
    step = sampled_step(X.shape[0])
    if not _common_columns(X, range(0, X.shape[0], step)):
        return None
    shift = _shift_of(np.asarray(X[::step].toarray(), dtype=np.float64))
    if shift is None:
        return None
    # Rows without the column, few if any, get an entry.
    stored = np.bincount(X.indices, minlength=X.shape[1])
    shift[(X.shape[0] - stored) * 64 > X.shape[0]] = 0.0
    return shift if shift.any() else None


def _common_columns(X: Any, rows: range) -> bool:
    """Whether any column is stored in all of these rows; two of them mostly tell."""
    stored = [X.indices[X.indptr[i] : X.indptr[i + 1]] for i in rows]
    if not stored or np.intersect1d(stored[0], stored[-1]).size == 0:
        return False
    return bool(np.unique(np.concatenate(stored), return_counts=True)[1].max() >= len(stored))


def _moved_sparse(X: Any, shift: Vector) -> Any:
    data = X.data.astype(np.float64) - shift[X.indices]
    if X.dtype == np.float32 and np.array_equal(data.astype(np.float32), data):
        data = data.astype(np.float32)
    moved = type(X)((data, X.indices, X.indptr), shape=X.shape)
    count = X.shape[0]
    columns = np.flatnonzero(shift)
    lacking = columns[np.bincount(X.indices, minlength=X.shape[1])[columns] < count]
    for column in lacking:
        has = np.zeros(count, dtype=bool)
        owners = np.repeat(np.arange(count), np.diff(X.indptr))
        has[owners[X.indices == column]] = True
        where = np.flatnonzero(~has)
        entries = (np.full(where.size, -shift[column]), (where, np.full(where.size, column)))
        moved = moved + type(X)(entries, shape=X.shape)
    return moved


def given_intercepts(w: Vector, b: Any, shift: Vector | None) -> Any:
    """Return intercepts for the given data, of weights (…, d) and intercepts for shifted rows."""
    return b if shift is None else _shifted(-w, b, shift)


def own_intercepts(w: Vector, b: Any, shift: Vector | None) -> Any:
    """Undo `given_intercepts`."""
    return b if shift is None else _shifted(w, b, shift)


def _shifted(w: Vector, b: Any, shift: Vector) -> Any:
    """Return b + w·shift, each rounded once."""
    lines = w.reshape(-1, w.shape[-1])
    starts = np.asarray(b, dtype=np.float64).reshape(-1)
    sums = [
        sum(core.compensated_dot(np.ascontiguousarray(line), shift, float(start)))
        for line, start in zip(lines, starts, strict=True)
    ]
    return np.array(sums).reshape(np.shape(b)) if np.ndim(b) else sums[0]
