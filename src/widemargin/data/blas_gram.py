"""Gram matrices of rows that store many of their values, by BLAS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas

from widemargin.auto.machine import MACHINE

SYRK = cython_blas.__pyx_capi__["dsyrk"]
"""A pointer to the function of BLAS, for compiled code: scipy's own wrapper holds the GIL."""


def add_gram_by_blas(
    view: Any,
    curvature: NDArray[np.float64],
    constant: bool,
    matrix: NDArray[np.float64],
    checkpoint: Callable[[], None],
) -> None:
    """Add Σ h_i x_i x_iᵀ to one triangle of zeros, half of it on the diagonal.

    The rows are scaled by √h_i and laid side by side, dense; what is left is a product that BLAS
    has a kernel for on every processor.

    Parameters
    ----------
    view : compiled row view
    curvature : ndarray of shape (n,)
        The h_i; rows without are not read.
    constant : bool
        Whether the matrix has a last row and column for the constant 1.
    matrix : ndarray
    checkpoint : callable
        Called about every 0.1 seconds.
    """
    pack = MACHINE.blas_rows * len(matrix) ** 2 * MACHINE.blas_multiply
    most, done = max(1, int(MACHINE.call / pack)), 0
    while done < view.count:
        done = view.gram_by_blas(curvature, constant, matrix, done, SYRK, MACHINE.blas_rows, most)
        checkpoint()
    np.einsum("ii->i", matrix)[:] *= 0.5
