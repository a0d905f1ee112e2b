"""Dual variables whose weights are zero exactly, as a robust problem of radius zero asks for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from widemargin.exact.integers import Integers, Scaled, dyadic

_MOST_WEIGHTS = 80
"""Unknowns of a system that is solved in whole numbers."""


def gain_at_rest(
    matrix: sp.csr_matrix, y: Integers, alpha: Scaled, weight: Scaled, free_intercept: bool
) -> Fraction:
    """Return Σ α'_i for some 0 ≤ α' ≤ p near α with Σ α'_i y_i x_i = 0; 0 if none was found.

    α' = α − S Mᵀ (M S Mᵀ)⁻¹ M α, M with the columns y_i x_i, and a row of y_i where the intercept
    is free; S is the diagonal of the squares of what room there is. Of rows of M that depend on
    others, equal features among them, only the first count.
    """
    dense = np.asarray(matrix.todense(), dtype=np.float64)
    dense = dense[:, np.abs(dense).max(axis=0, initial=0.0) > 0.0]
    if free_intercept:
        dense = np.column_stack([dense, np.ones(dense.shape[0])])
    if not 0 < dense.shape[1] <= _MOST_WEIGHTS:
        return Fraction(0)
    # Each row of M has an exponent of its own: that changes no solution.
    M = np.stack([Scaled.of(column).values for column in dense.T]) * y
    exponent = min(alpha.exponent, weight.exponent)
    a, p = alpha.at(exponent), weight.at(exponent)
    S = np.maximum(np.minimum(a, p - a), 0) ** 2
    spread = M * S
    kept = independent(spread @ M.T)
    if not kept:
        return Fraction(0)
    solved = solved_in_integers(spread[kept] @ M[kept].T, M[kept] @ a)
    if solved is None:
        return Fraction(0)
    numerators, determinant = solved
    moved = a * determinant - numerators @ spread[kept]
    if (moved < 0).any() or (moved > p * determinant).any() or (M @ moved).any():
        return Fraction(0)
    return dyadic(int(moved.sum()), exponent) / determinant


def independent(squares: Integers) -> list[int]:
    """Return the first rows that no others before them make up, from their inner products.

    By Bareiss's elimination: what is left of a dependent row has length zero.
    """
    A, last, found = squares.astype(object), 1, []
    for k in range(A.shape[0]):
        if A[k, k] == 0:
            continue
        found.append(k)
        A[k + 1 :] = (A[k + 1 :] * A[k, k] - np.outer(A[k + 1 :, k], A[k])) // last
        last = A[k, k]
    return found


def solved_in_integers(matrix: Integers, right: Integers) -> tuple[Integers, int] | None:
    """Return x · determinant and a positive determinant for matrix · x = right, or None.

    By Bareiss's elimination, in which every division is exact.
    """
    A = np.column_stack([matrix, right]).astype(object)
    side, last = A.shape[0], 1
    for k in range(side):
        pivot = next((i for i in range(k, side) if A[i, k]), None)
        if pivot is None:
            return None
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
        others = [i for i in range(side) if i != k]
        A[others] = (A[others] * A[k, k] - np.outer(A[others, k], A[k])) // last
        last = A[k, k]
    # Every diagonal entry is the determinant by now.
    sign = 1 if last > 0 else -1
    return sign * A[:, -1], sign * int(last)
