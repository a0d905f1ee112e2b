"""Cholesky factors of positive semidefinite matrices, with one policy for jitter.

Matrices here are sums of squares: semidefinite, but for rounding. A direction that may have no
curvature at all, such as a shift of all intercepts, is lifted before the first attempt. Whatever
fails then fails by rounding, and is tried again with a little more on the diagonal each time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from widemargin.data.block_work import Threads
from widemargin.instruction_sets import core

Matrix = NDArray[np.float64]

LIFT = 1e-10
"""Added to the diagonal of a flat direction, in units of 1 + its entry."""

JITTERS = (0.0, 1e1, 1e3, 1e5, 1e7)
"""Tried one after the other, in units of what the factorisation itself rounds: n unit roundoffs,
relative to the entry and to the mean of the diagonal."""


_ROUNDOFF = float(np.finfo(float).eps)

_TILE_FUNCTIONS = (
    cython_lapack.__pyx_capi__["dpotrf"],
    *(cython_blas.__pyx_capi__[name] for name in ("dtrsm", "dsyrk", "dgemm")),
)
"""Pointers to what compiled code asks of LAPACK and BLAS, as `widemargin.data.blas_gram` has."""


@dataclass(frozen=True, eq=False)
class Factor:
    """U with UᵀU = A, in one triangle of an array; what is in the other has no meaning.

    It is U in the upper triangle or, where `lower` is true, Uᵀ in the lower one. Where `threads`
    are given, they share the work on a vector.
    """

    stored: Matrix
    threads: Threads | None = None
    lower: bool = False

    @property
    def side(self) -> int:
        """The number of rows of the matrix."""
        return len(self.stored)

    def root(self) -> Matrix:
        """Return Uᵀ, with zeros above its diagonal, in C order."""
        return np.tril(self.stored if self.lower else self.stored.T)

    def solve(self, right: Matrix) -> Matrix:
        """Return A⁻¹ right, for a vector or for all columns of a matrix."""
        if self.threads is not None and right.ndim == 1:
            solution = np.array(right, dtype=np.float64)
            core.solve_factorised(self.threads.pool, self.stored.T, solution)
            return solution
        solution = dpotrs(self.stored, right, lower=int(self.lower))[0]
        return np.asarray(solution) if right.ndim == 1 else np.ascontiguousarray(solution)

    def solve_half(self, right: Matrix, transposed: bool = False) -> Matrix:
        """Return U⁻¹ right, or U⁻ᵀ right."""
        turned = int(transposed != self.lower)
        return np.asarray(dtrtrs(self.stored, right, lower=int(self.lower), trans=turned)[0])


def cholesky(
    matrix: Matrix,
    flat: slice | None = None,
    singular: bool = False,
    threads: Threads | None = None,
) -> Factor | None:
    """Factorise a symmetric positive semidefinite matrix in place.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        In C order; the factor takes its place.
    flat : slice, optional
        Places on the diagonal whose directions may have no curvature.
    singular : bool
        Whether the matrix may well be singular, so that without jitter its factor would be made of
        rounding.
    threads : Threads, optional
        That share the work, in tiles of one size: the factor has the same bits for any number.

    Returns
    -------
    Factor or None
        None if the matrix is not semidefinite, or its diagonal not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.linalg.cholesky import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 3.0]])).solve(np.array([6.0, 5.0]))
    array([1., 1.])
    """
    diagonal = np.einsum("ii->i", matrix)
    if flat is not None:
        diagonal[flat] += LIFT * (1.0 + diagonal[flat])
    kept = diagonal.copy()
    if not np.isfinite(kept).all():
        return None
    unit = _ROUNDOFF * kept.size * (kept + kept.mean()) + np.finfo(float).tiny
    for jitter in JITTERS[1:] if singular else JITTERS:
        if jitter > 0.0:
            # Only one triangle was written to: the other one says what was there.
            matrix[:] = np.tril(matrix, -1) if threads is None else np.triu(matrix, 1)
            matrix += matrix.T
            diagonal[:] = kept + jitter * unit
        if threads is not None:
            if core.factorise(threads.pool, matrix, _TILE_FUNCTIONS):
                return Factor(matrix.T, threads)
            continue
        # The transposed view is in the order that LAPACK works in: nothing is copied. OpenBLAS
        # takes 1.1 to 2 times as long for the upper triangle (60 to 1500 columns).
        lower, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return Factor(lower, lower=True)
    return None
