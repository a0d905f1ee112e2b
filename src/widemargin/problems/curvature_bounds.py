"""The lower bound from the curvature, rounding included.

The bound of `widemargin.problems.unpenalised` needs λ and ρ from above, for the second derivatives
H at the true scores. Any matrix F of floating-point numbers is exact, and gives them: with t = F s,

    tᵀHt ≥ κ²‖s‖²,   λ ≤ ‖Fᵀg‖/κ,   ρ ≤ max_i ‖Fᵀx_i‖/κ,

where κ² is at least 1 − ‖FᵀHF − I‖ less what rounding can hide. F comes from a Cholesky factor of
H as it was computed; where that was too inaccurate, κ says so. Columns that depend on others are
left out, after a proof in exact arithmetic that they do: a column that only nearly depends on
others can still be made use of by large weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from widemargin.problems.rounding import UNIT, growth

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Column = Callable[[int], Vector]

_RANK = 1e-13
"""Pivots below this count as zero; columns are scaled to length one."""

_TINY = 1e-200
"""Below it squares can have lost digits to underflow."""

_DENOMINATORS = range(1, 13)
_LARGEST_FACTOR = 2.0**20
"""Relations between columns that are looked for: fractions with these denominators."""

_SPLIT = 2.0**27 + 1.0
"""Splits a number into two halves of 26 bits (Dekker)."""


@dataclass(frozen=True)
class Lengths:
    """Upper bounds of λ and ρ."""

    decrement: float
    largest: float

    def below(self) -> float:
        """Return what P can exceed the optimum by; infinity where nothing is known."""
        u = self.decrement * self.largest * (1.0 + 1e-9)
        if not u < 1.0:
            return math.inf
        if self.largest == 0.0 or u == 0.0:
            return 0.5 * self.decrement**2 * (1.0 + 1e-9)
        return _shortfall(u) / self.largest**2 * (1.0 + 1e-9)


def _shortfall(u: float) -> float:
    """Return u + (1 − u) log(1 − u), without cancellation for small u."""
    if u < 1e-4:
        return 0.5 * u * u * (1.0 + u / 3.0 + u * u / 6.0 + u**3)
    return u + (1.0 - u) * math.log1p(-u)


def spanning_columns(H: Matrix, column: Column, rows: int) -> NDArray[np.intp] | None:
    """Return columns that span all others, or None if that cannot be proved.

    Parameters
    ----------
    H : ndarray of shape (d, d)
        Σ h_i x_i x_iᵀ with positive h_i, as it was computed.
    column : callable
        Returns the entries of a column, over the rows with h_i > 0.
    rows : int
        How many of them there are.
    """
    diagonal = np.diag(H)
    filled = np.flatnonzero(diagonal > 0.0)
    if diagonal[filled].min(initial=1.0) < _TINY or not np.isfinite(diagonal).all():
        return None
    if any(column(int(j)).any() for j in np.flatnonzero(diagonal <= 0.0)):
        return None
    if filled.size == 0:
        return filled
    scale = 1.0 / np.sqrt(diagonal[filled])
    scaled = H[np.ix_(filled, filled)] * scale[:, None] * scale
    _, order, rank, _ = lapack.dpstrf(scaled, tol=_RANK)
    order = order - 1
    kept, left = order[:rank], order[rank:]
    # As many independent columns as there are rows span everything.
    if left.size and rank < rows:
        factor = np.linalg.lstsq(scaled[np.ix_(kept, kept)], scaled[np.ix_(kept, left)], _RANK)[0]
        factor *= scale[kept][:, None] / scale[left]
        for place, j in enumerate(left):
            if not _depends(column, int(filled[j]), filled[kept], factor[:, place]):
                return None
    return np.asarray(np.sort(filled[kept]))


def _depends(column: Column, j: int, others: NDArray[np.intp], factors: NDArray[Any]) -> bool:
    """Say whether a column is exactly a sum of fractions of others, near the given factors."""
    near = np.abs(factors) > 1e-6 * max(1.0, float(np.abs(factors).max(initial=0.0)))
    for q in _DENOMINATORS:
        whole = np.rint(q * factors)
        if np.abs(whole).max(initial=0.0) > _LARGEST_FACTOR:
            return False
        if np.abs(q * factors - whole)[near].max(initial=0.0) < 1e-4:
            used = np.flatnonzero(whole)
            terms = [float(q) * part for part in _halves(column(j))]
            for place in used:
                own = _halves(column(int(others[place])))
                terms += [-float(whole[place]) * part for part in own]
            return _vanishes(terms)
    return False


def _halves(values: Vector) -> tuple[Vector, Vector]:
    """Return two parts of 26 bits each, which products with small integers keep exact."""
    big = _SPLIT * values
    high = big - (big - values)
    return high, values - high


def _vanishes(terms: list[Vector]) -> bool:
    """Say whether a sum of vectors is exactly zero, by sums that lose nothing."""
    largest = max(float(np.abs(term).max(initial=0.0)) for term in terms)
    if not largest < 1e290:
        return False
    for _ in terms:
        for i in range(1, len(terms)):
            a, b = terms[i - 1], terms[i]
            total = a + b
            part = total - a
            terms[i - 1], terms[i] = (a - (total - part)) + (b - part), total
        if not any(term.any() for term in terms):
            return True
    return False


def factor_of(H: Matrix) -> tuple[Matrix, Vector]:
    """Return F with FᵀHF about I, and the sums of its scaled entries; zeros if there is none.

    The entries of row j are scaled by √H_jj.
    """
    lengths = np.sqrt(np.diag(H))
    with np.errstate(all="ignore"):
        scaled = H / lengths[:, None] / lengths
    # Second derivatives that underflow to zero have no scale, nor have infinite ones.
    found = bool(np.isfinite(scaled).all())
    upper, info = lapack.dpotrf(scaled, clean=1) if found else (scaled, 1)
    if info != 0:
        return np.zeros_like(H), np.zeros(len(H))
    inverse = solve_triangular(upper, np.eye(len(H)))
    return inverse / lengths[:, None], np.abs(inverse).sum(axis=0)


def stretch(M: Matrix, hidden: float, off: float, share: float) -> float:
    """Return κ, or 0 if nothing is proved.

    Parameters
    ----------
    M : ndarray
        FᵀHF as it was computed.
    hidden : float
        What rounding can have hidden of its entries, in the Frobenius norm.
    off : float
        What errors of the rows can take from a length √(tᵀHt).
    share : float
        The relative error of the curvatures.
    """
    away = float(np.linalg.norm(M - np.eye(len(M)))) * (1.0 + 1e-9) + hidden
    if not (away < 1.0 and share < 1.0):
        return 0.0
    return max(math.sqrt(1.0 - away) * (1.0 - 1e-12) - off, 0.0) * math.sqrt(1.0 - share)


def curvature_error(reach: float) -> float:
    """Return the relative error of slopes and curvatures whose scores are within `reach`."""
    return math.expm1(min(reach, 1.0)) + 128.0 * UNIT if reach < 1.0 else math.inf


def rounding_of_gram(sums: Vector, count: int) -> tuple[float, float]:
    """Return `hidden` and `off` of `stretch`, where H is a sum over so many rows."""
    size = float(sums @ sums) * (1.0 + 1e-9)
    return (growth(count + 16.0) + growth(2.0 * sums.size + 8.0)) * size, 4.0 * UNIT * math.sqrt(
        size
    )
