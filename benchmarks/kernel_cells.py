"""The cells of the kernel comparison: data, kernels, and the dual objective of a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .multiclass_data import load as load_multiclass
from .problems import libsvm_file
from .problems import load as load_binary

DATA = ("a1a", "svmguide1-like", "digits", "usps", "a5a", "letter", "mnist", "a9a")
KERNELS = ("rbf", "poly")
COSTS = (1.0, 100.0)


class Cell(NamedTuple):
    """One comparison."""

    data: str
    kernel: str
    C: float


def cells(data: tuple[str, ...] = DATA) -> list[Cell]:
    """List all cells, quick ones first."""
    return [Cell(name, kernel, C) for name in data for kernel in KERNELS for C in COSTS]


@cache
def examples(name: str) -> tuple[Any, np.ndarray]:
    """Load a set: CSR where most entries are zero and there is no image, else dense."""
    if name == "svmguide1-like":
        # As many rows and features, clouds and noisy labels as svmguide1 has.
        from sklearn.datasets import make_classification

        return make_classification(
            3089, 4, n_informative=4, n_redundant=0, flip_y=0.05, class_sep=0.8, random_state=0
        )
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    if name in ("usps", "letter", "mnist"):
        X, y = load_multiclass(name)
        rows = slice(0, 10_000 if name == "mnist" else X.shape[0])
        return X[rows].toarray(), y[rows]
    X, y = load_binary(name) if name in ("a1a", "a9a") else libsvm_file(name)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def pairs(model: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield places in ``support_`` and coefficients of every pair of classes, in SVC's layout."""
    ends = np.cumsum(model.n_support_)
    begins = ends - model.n_support_
    places = [np.arange(b, e) for b, e in zip(begins, ends, strict=True)]
    rows = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    if len(places) == 2:
        yield np.arange(rows.shape[1]), rows[0]
        return
    for i in range(len(places)):
        for j in range(i + 1, len(places)):
            both = np.concatenate([rows[j - 1][places[i]], rows[i][places[j]]])
            yield np.concatenate([places[i], places[j]]), both


def dual_objective(cell: Cell, model: Any, gamma: float) -> float:
    """Return Σα − ½ αᵀQα of a model's dual variables, over all pairs, in double precision."""
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

    X, _ = examples(cell.data)
    kept = X[model.support_].astype(np.float64)
    total = 0.0
    for places, values in pairs(model):
        used = values != 0.0
        rows, u = kept[places[used]], values[used]
        total += float(np.abs(u).sum())
        for begin in range(0, u.size, 1000):
            piece = rows[begin : begin + 1000]
            if cell.kernel == "rbf":
                block = rbf_kernel(piece, rows, gamma=gamma)
            else:
                block = polynomial_kernel(piece, rows, degree=3, gamma=gamma, coef0=0.0)
            total -= 0.5 * float(u[begin : begin + 1000] @ (block @ u))
    return total
