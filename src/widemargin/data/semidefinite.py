"""Is a matrix a kernel's: symmetric and positive semidefinite? A certificate is worth no more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from widemargin.data.gram import Gram

Matrix = NDArray[np.float64]

_ROWS_OF_A_BLOCK = 256
_SAMPLE = 1000
"""Examples that stand for all where K does not fit into the memory."""


def refuse_what_is_no_kernel(gram: Gram, rounding: float, what: str = "the kernel") -> None:
    """Raise an error unless K is symmetric and positive semidefinite.

    A kernel whose formula says so is not tested. A matrix that fits into the memory is tested as a
    whole, which takes its memory once more; else the matrix of 1000 random examples is.

    Parameters
    ----------
    gram : Gram
    rounding : float
        What its entries can be trusted to, relative to the mean of the diagonal: eigenvalues down
        to minus that are rounding.
    what : str
        The subject of the sentence.
    """
    if gram.kernel.semidefinite:
        return
    matrix = gram.whole
    if matrix is None:
        size = min(gram.count, _SAMPLE)
        places = np.random.default_rng(0).permutation(gram.count)[:size]
        examples = gram.X[np.sort(places)]
        matrix = gram.kernel.pairs(examples, examples)
    if not _symmetric(matrix, 100.0 * rounding):
        raise ValueError(f"{what} is not symmetric: k(a, b) and k(b, a) must be the same")
    if not _semidefinite(matrix, rounding):
        raise ValueError(
            f"{what} is not positive semidefinite: it is no inner product of features, and the "
            "problem is not convex"
        )


def _symmetric(matrix: Matrix, rounding: float) -> bool:
    """Compare by blocks: no second matrix is made."""
    n = matrix.shape[0]
    allowed = rounding * max(float(matrix.max(initial=0.0)), -float(matrix.min(initial=0.0)))
    for begin in range(0, n, _ROWS_OF_A_BLOCK):
        end = min(begin + _ROWS_OF_A_BLOCK, n)
        difference = matrix[begin:end, begin:] - matrix[begin:, begin:end].T
        if float(np.abs(difference, out=difference).max(initial=0.0)) > allowed:
            return False
    return True


def _semidefinite(matrix: Matrix, rounding: float) -> bool:
    """Whether K + shift has a Cholesky factor, with a shift of what rounding can do."""
    diagonal = np.diagonal(matrix)
    mean = float(diagonal.mean()) if diagonal.size else 0.0
    if float(diagonal.min(initial=0.0)) < -rounding * abs(mean):
        return False
    if mean == 0.0:
        return not matrix.any()
    shifted = np.array(matrix, order="C")
    shifted[np.diag_indices_from(shifted)] += rounding * mean
    try:
        # The transposed view is in the order that the factorisation works in.
        cholesky(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True
