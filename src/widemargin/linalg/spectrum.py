"""The spectrum of the rows, judged by the products of a few of them with each other.

Rows that point every which way among many columns are next to orthogonal; rows that share a
direction, as those of columns far from zero do, are not. How fast first-order methods converge
depends on it, and no count of rows and columns tells. As many rows as the root of their number are
looked at: the products of their pairs cost less than one pass over the data.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.linalg.power_iteration import largest_eigenvalue

Matrix = NDArray[np.float64]

_MOST = 32
"""Rows that are looked at, at most."""

_FEWEST = 8
"""Rows below which their products say nothing."""


@dataclass(frozen=True)
class Spectrum:
    """What is known about the eigenvalues of Σ x xᵀ.

    Attributes
    ----------
    leading : float
        Share of the squared norms that lies along one direction.
    largest, second : float
        The largest eigenvalue and the one after it, in multiples of the mean squared norm; between
        1 and the number of rows, up to errors of estimation.
    spread : float
        The mean squared norm about the centre of the rows, as a share of that about zero; one where
        the rows are not centred.
    """

    leading: float
    largest: float
    second: float
    spread: float = 1.0


def rows_looked_at(rows: int) -> int:
    """Return how many rows tell about so many."""
    return min(_MOST, math.isqrt(rows))


def spectrum_of(rows: Rows, centred: bool) -> Spectrum | None:
    """Estimate the spectrum; None where there are too few rows, or nothing in them.

    Parameters
    ----------
    rows : Rows
    centred : bool
        Whether `largest` is about the centre of the rows, as it is for an intercept that is not
        penalised. `leading` never is.
    """
    name = "spectrum about the centre" if centred else "spectrum"
    found: Spectrum | None = rows.kept(name, lambda: _estimate(rows, centred))
    return found


def _estimate(rows: Rows, centred: bool) -> Spectrum | None:
    count = rows_looked_at(rows.count)
    if count < _FEWEST:
        return None
    places = np.arange(count, dtype=np.int64) * rows.count // count
    products = rows.glance(places).row_gram()
    mean = float(np.trace(products)) / count
    if not sys.float_info.min < mean < math.inf:
        return None
    products /= mean
    norms = np.diagonal(products).copy()
    leading, largest, second = _parts(products - np.diag(norms), rows.count)
    if not centred:
        return Spectrum(leading, largest, second)
    row_means = products.mean(axis=1)
    centre = float(row_means.mean())
    own = np.maximum(norms - 2.0 * row_means + centre, 0.0) * (count / (count - 1.0))
    spread = float(own.mean())
    if not spread > 0.0:
        return Spectrum(leading, 1.0, 1.0, 0.0)
    apart = products - row_means[:, None] - row_means + centre - _projected(own)
    _, largest, second = _parts(apart / spread, rows.count)
    return Spectrum(leading, largest, second, min(1.0, spread))


def _parts(products: Matrix, rows: int) -> tuple[float, float, float]:
    """Return the share of the leading direction, and the two largest eigenvalues.

    `products` are those of different rows, in multiples of the mean squared norm. What is left of
    their squares beside the leading direction tells among how many directions the rest is shared:
    by the law of Marchenko and Pastur, its largest eigenvalue over n rows and d directions is
    (1 + √(n/d))² of its mean.
    """
    count = len(products)
    # The norm: the least eigenvalue, below zero, is no larger than the largest one.
    top = largest_eigenvalue(products.__matmul__, count, seed=0, most_steps=8)
    # A direction that all share leaves −top / (count − 1) where the squared norms were taken away.
    along = top**2 * count / (count - 1.0)
    squares = max(0.0, float(np.vdot(products, products)) - along)
    leading = max(0.0, top - 2.0 * math.sqrt(squares / count)) / (count - 1.0)
    rest = max(1.0 - leading, 1e-6)
    directions = rest**2 * count * (count - 1.0) / max(squares, 1e-12)
    second = rest * (1.0 + math.sqrt(rows / directions)) ** 2
    return min(leading, 1.0), max(second, 1.0 - leading + rows * leading), second


def _projected(diagonal: NDArray[np.float64]) -> Matrix:
    """Return a diagonal matrix between two projections to what sums to zero."""
    count = len(diagonal)
    matrix = np.diag(diagonal) - (diagonal[:, None] + diagonal) / count
    result: Matrix = matrix + diagonal.mean() / count
    return result
