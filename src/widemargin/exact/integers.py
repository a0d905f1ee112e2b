"""Floating-point numbers as what they are: integers times a power of two.

Sums and products of them are then exact. Arrays hold Python's integers, with one exponent for all.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt, nextafter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Integers = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Exact numbers: values · 2^exponent."""

    values: Integers
    exponent: int

    @classmethod
    def of(cls, numbers: Any) -> Scaled:
        """Convert finite floating-point numbers, without rounding."""
        floats = np.asarray(numbers, dtype=np.float64)
        if not np.isfinite(floats).all():
            raise ValueError("NaN or infinity has no exact value")
        mantissa, exponent = np.frexp(floats)
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        used = whole != 0
        # Trailing zeros out of the integers: most data need few of the 53 bits.
        zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        zeros[~used] = 0
        exponent = exponent.astype(np.int64) - 53 + zeros
        smallest = int(exponent[used].min()) if used.any() else 0
        shifts = np.where(used, exponent - smallest, 0)
        values = (whole >> zeros).astype(object)
        if shifts.any():
            values = values << shifts.astype(object)
        return cls(values, smallest)

    @classmethod
    def of_fraction(cls, number: Fraction) -> Scaled:
        """Convert one rational whose denominator is a power of two."""
        power = number.denominator.bit_length() - 1
        if number.denominator != 1 << power:
            raise ValueError(f"the denominator of {number} is no power of two")
        return cls(np.array([number.numerator], dtype=object), -power)

    def at(self, exponent: int) -> Integers:
        """Return the integers of the same numbers for an exponent that is not larger."""
        shift = self.exponent - exponent
        return self.values << shift if shift else self.values

    def plus(self, other: Scaled) -> Scaled:
        """Return the sum, entry by entry, or with one number."""
        exponent = min(self.exponent, other.exponent)
        return Scaled(self.at(exponent) + other.at(exponent), exponent)

    def times(self, other: Scaled) -> Scaled:
        """Return the product, entry by entry, or with one number."""
        return Scaled(self.values * other.values, self.exponent + other.exponent)

    def total(self) -> Fraction:
        """Return the sum of the entries."""
        return dyadic(int(self.values.sum()) if self.values.size else 0, self.exponent)

    def squared_length(self) -> Fraction:
        """Return the sum of the squares of the entries."""
        return self.times(self).total()

    def floats(self) -> NDArray[np.float64]:
        """Return the nearest floating-point numbers; infinite where there are none."""
        return np.array([_nearest(int(v), self.exponent) for v in self.values.flat], dtype=float)


class ExactRows:
    """The examples, dense or sparse, with exact products."""

    def __init__(self, X: Any) -> None:
        matrix = sp.csr_matrix(X, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        self.matrix = matrix
        """The same numbers in floating point, for choices that need no proof."""
        self._data = Scaled.of(matrix.data)
        counts = np.diff(matrix.indptr)
        self._row_of = np.repeat(np.arange(matrix.shape[0]), counts)
        self._by_column = np.argsort(matrix.indices, kind="stable")

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and features."""
        return self.matrix.shape

    def scores(self, w: Scaled) -> Scaled:
        """Return x_i · w for every row."""
        products = self._data.values * w.values[self.matrix.indices]
        sums = _sums(products, self._row_of, self.shape[0])
        return Scaled(sums, self._data.exponent + w.exponent)

    def combine(self, coefficients: Scaled) -> Scaled:
        """Return Σ coefficients_i x_i."""
        order = self._by_column[coefficients.values[self._row_of[self._by_column]] != 0]
        products = self._data.values[order] * coefficients.values[self._row_of[order]]
        sums = _sums(products, self.matrix.indices[order], self.shape[1])
        return Scaled(sums, self._data.exponent + coefficients.exponent)

    def largest_squared_norm(self) -> Fraction:
        """Return max ‖x_i‖²."""
        squares = self._data.times(self._data)
        sums = _sums(squares.values, self._row_of, self.shape[0])
        return dyadic(max(sums, default=0), squares.exponent)

    def largest_squared_distance(self, middle: Scaled) -> Fraction:
        """Return max ‖x_i − middle‖²."""
        squares = self._data.times(self._data)
        lengths = Scaled(_sums(squares.values, self._row_of, self.shape[0]), squares.exponent)
        products = self.scores(middle)
        both = lengths.plus(Scaled(-2 * products.values, products.exponent))
        largest = dyadic(max(both.values, default=0), both.exponent)
        return largest + middle.squared_length()


def dyadic(whole: int, exponent: int) -> Fraction:
    """Return whole · 2^exponent."""
    if exponent >= 0:
        return Fraction(whole << exponent)
    return Fraction(whole, 1 << -exponent)


def float_above(number: Fraction) -> float:
    """Return the smallest floating-point number that is not below a rational."""
    try:
        nearest = float(number)
    except OverflowError:
        return inf if number > 0 else -sys.float_info.max
    return nearest if Fraction(nearest) >= number else nextafter(nearest, inf)


def float_below(number: Fraction) -> float:
    """Return the largest floating-point number that is not above a rational."""
    return -float_above(-number)


def root_above(number: Fraction, bits: int = 200) -> Fraction:
    """Return a rational that is not below √number, and above it by a share of 2^−bits at most."""
    if number <= 0:
        return Fraction(0)
    # Whole numbers with 2·bits digits in the quotient: isqrt has then about `bits`.
    shift = 2 * bits + 2 + max(0, number.denominator.bit_length() - number.numerator.bit_length())
    shift += shift % 2
    quotient = -((-number.numerator << shift) // number.denominator)
    root = isqrt(quotient)
    return Fraction(root + (root * root < quotient), 1 << (shift // 2))


def root_below(number: Fraction, bits: int = 200) -> Fraction:
    """Return a rational that is not above √number, and as near to it."""
    above = root_above(number, bits)
    return number / above if above else Fraction(0)


def _sums(products: Integers, places: NDArray[Any], count: int) -> Integers:
    """Return the sums of the products at each place; places are in ascending order."""
    sums = np.zeros(count, dtype=object)
    if products.size:
        begins = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        sums[places[begins]] = np.add.reduceat(products, begins)
    return sums


def _nearest(whole: int, exponent: int) -> float:
    try:
        return float(dyadic(whole, exponent))
    except OverflowError:
        return float("inf") if whole > 0 else float("-inf")
