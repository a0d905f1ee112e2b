"""What rounding can do to a certificate, so that what is printed holds in exact arithmetic.

With u = 2⁻⁵³, a sum of m products in any order is off by at most γ_m = m u / (1 − m u) times the
sum of their magnitudes. Magnitudes are bounded by norms that are known anyway; only where that
costs too much of the tolerance are the products computed again, with compensated sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.quick_init import quick_init

Vector = NDArray[np.float64]

UNIT = 2.0**-53
"""u, the largest relative error of one operation."""

UNDERFLOW = 2.3e-308
"""What one operation can lose below the normal numbers."""

ACCURACY = 1e-5
"""The share of the objective that rounding may cost unless a caller asks for less."""

ROUNDING_SHARE = 0.1
"""Of the tolerance, that rounding may cost before products are computed again, more exactly."""

_SAFE = 1.0 + 1e-6
"""Covers the rounding of the bounds themselves, and the denominator of γ."""

_CHAINS = 8
"""Running sums that the compiled loops over examples are spread over."""


def worth_repeating(rounding: float, gap: float, allowed: float) -> bool:
    """Whether products are worth computing again, more exactly.

    Where rounding costs more than the `allowed` share of the tolerance, unless the gap without it
    is above twice the tolerance: no proof meets that one.
    """
    return rounding > allowed and not gap > 2.0 / ROUNDING_SHARE * allowed


def growth(terms: Any) -> Any:
    """Return γ_m for a sum of m terms."""
    return _SAFE * UNIT * terms


def of_examples(count: int) -> float:
    """Return γ for a sum over the examples of terms that take some thirty operations each."""
    return growth(count / _CHAINS + 64.0)


@quick_init
@dataclass(frozen=True)
class Magnitudes:
    """Magnitudes of the data, from above.

    Attributes
    ----------
    frobenius : float
        √(Σ‖x_i‖²), so that Σ_i a_i ‖x_i‖ ≤ ‖a‖ · this.
    longest : float
        Products in a score, at most.
    count : int
        Number of examples n.
    width : int
        Number of weights.
    """

    frobenius: float
    longest: float
    count: int
    width: int


def upper_norm(squared: float, terms: float) -> float:
    """Return an upper bound of the norm of so many numbers whose square came out as `squared`."""
    return _SAFE * math.sqrt(squared + terms * UNDERFLOW) if squared >= 0.0 else math.inf


def half_square_error(squared: float, terms: float, off: float = 0.0) -> float:
    """Return what ½‖v‖² can exceed ½ `squared` by, which came from a vector within `off` of v."""
    own = upper_norm(squared, terms)
    return growth(terms + 4.0) * squared + (own + off) * off * _SAFE + terms * UNDERFLOW


@quick_init
@dataclass(frozen=True)
class ScoreError:
    """How far a score plus intercept can be from what was computed: relative·‖x_i‖ + fixed."""

    per_norm: float
    fixed: float
    once: float = 0.0
    """Of the score itself, where it was rounded once from a compensated sum."""

    @classmethod
    def plain(cls, size: Magnitudes, length: float, b: float, b_error: float) -> ScoreError:
        """Return the error of x_i·w + b in double precision, with ‖w‖ ≤ length."""
        share = growth(size.longest + 3.0)
        fixed = share * abs(b) + b_error + (size.longest + 3.0) * UNDERFLOW
        return cls(share * length, fixed)

    @classmethod
    def compensated(cls, size: Magnitudes, length: float, b: float, b_error: float) -> ScoreError:
        """Return the error of x_i·w + b in compensated sums, rounded once."""
        share = 4.0 * growth(size.longest + 8.0) ** 2
        fixed = share * abs(b) + b_error + (size.longest + 8.0) * UNDERFLOW
        return cls(share * length, fixed, 2.0 * UNIT)

    def reach(self, size: Magnitudes, largest: float = 0.0) -> float:
        """Return a bound for all examples; `largest` is above every score."""
        return _SAFE * (self.per_norm * size.frobenius + self.fixed + self.once * largest)

    def allowance(
        self, size: Magnitudes, slopes: float, squares: float, scores: float = 0.0
    ) -> float:
        """Return what the errors can add to losses.

        `slopes` and √`squares` are the sum and the norm of c_i |ℓ′|, `scores` is the norm of the
        scores.
        """
        steep = upper_norm(squares, size.count)
        each = self.per_norm * size.frobenius + self.once * scores
        return _SAFE * (steep * each + _SAFE * slopes * self.fixed)


def combination_error(size: Magnitudes, norm: float, compensated: bool, own: float) -> float:
    """Return a bound on ‖v − fl(v)‖ for v = Σ a_i x_i with ‖a‖ ≤ norm and ‖fl(v)‖ ≤ own."""
    lost = size.count * math.sqrt(size.width) * UNDERFLOW
    if compensated:
        share = 4.0 * growth(size.count + 8.0) ** 2
        return _SAFE * (2.0 * UNIT * own + share * norm * size.frobenius) + lost
    return _SAFE * growth(size.count + 8.0) * norm * size.frobenius + lost


def or_infinite(value: float, worst: float) -> float:
    """Return a value, or the worst one where it is not a number."""
    return worst if math.isnan(value) else value


def exact_sums(places: Any, values: Vector, count: int) -> tuple[Vector, float]:
    """Return Σ values at each place, and how far any of them can be off: next to nothing.

    The leading parts of the values lie on a grid so coarse that their sums are exact.
    """
    total = float(np.abs(values).sum())
    if not 0.0 < total < np.inf:
        return np.zeros(count), 0.0
    grid = 2.0 ** (np.floor(np.log2(total)) + 2.0)
    high = (values + grid) - grid
    low = np.bincount(places, values - high, count)
    sums = np.asarray(np.bincount(places, high, count) + low, dtype=np.float64)
    return sums, exact_sums_error(values.size, total)


def exact_sums_error(count: int, total: float) -> float:
    """Return the error of `exact_sums` of so many values whose magnitudes add up to `total`."""
    return growth(count + 4.0) * count * 2.0**-50 * total


def exact_sum(values: Vector) -> tuple[float, float]:
    """Return a sum and how far it can be off, as `exact_sums` does."""
    sums, error = exact_sums(np.zeros(values.size, dtype=np.intp), values, 1)
    return float(sums[0]), error
