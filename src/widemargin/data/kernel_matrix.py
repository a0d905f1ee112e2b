"""From examples and the arguments of a kernel to its matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.gram import Gram, Kernel
from widemargin.data.semidefinite import refuse_what_is_no_kernel

Vector = NDArray[np.float64]


def is_precomputed(kernel: str | Callable[[Any, Any], Any]) -> bool:
    """Whether X is the kernel matrix itself."""
    return not callable(kernel) and kernel == "precomputed"


def kernel_matrix(X: Any, kernel: Kernel, memory: float) -> Gram:
    """Return the matrix of a kernel, or X as one; refuse what is not positive semidefinite.

    Parameters
    ----------
    X : array or CSR matrix
    kernel : Kernel
    memory : float
        Bytes of the matrix that may be kept.
    """
    # What the entries can be trusted to, where they come from X by other hands.
    rounding = 1e-5 if X.dtype == np.float32 else 1e-10
    if not is_precomputed(kernel.name):
        gram = Gram.of(X, kernel, memory)
        refuse_what_is_no_kernel(gram, rounding)
        return gram
    if sp.issparse(X):
        raise TypeError("a precomputed kernel matrix must be dense; X is sparse")
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel matrix must be square; got shape {X.shape}")
    gram = Gram.precomputed(np.ascontiguousarray(X, dtype=np.float64))
    refuse_what_is_no_kernel(gram, rounding, "the precomputed kernel matrix")
    return gram


def width_of(gamma: str | float, X: Any, weight: Vector | None) -> float:
    """Return the number that ``gamma`` stands for.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
        1 / (n_features · variance of X, its rows weighted), 1 / n_features, or the number.
    X : array or CSR matrix
    weight : ndarray of shape (n,), optional
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    variance = _variance(X, weight)
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0


def _variance(X: Any, weight: Any) -> float:
    """Return the variance of all entries, where a row of weight 2 counts twice.

    In float64 and about the mean: a mean square less a squared mean loses all digits where the
    mean is large.
    """
    n, d = X.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    total = float(weight.sum()) * d
    mean = float(weight @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()) / total
    if sp.issparse(X):
        about = X.astype(np.float64)
        about.sum_duplicates()
        stored = np.diff(about.indptr)
        np.square(about.data - mean, out=about.data)
        squares = np.asarray(about.sum(axis=1)).ravel() + (d - stored) * mean**2
        return float(weight @ squares) / total
    # By blocks of rows: no second X is made.
    squares = np.empty(n)
    for begin in range(0, n, 1024):
        about = X[begin : begin + 1024] - np.float64(mean)
        squares[begin : begin + 1024] = np.einsum("ij,ij->i", about, about)
    return float(weight @ squares) / total
