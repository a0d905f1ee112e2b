"""Ball arithmetic: real numbers with a bound on their error, by python-flint."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import dyadic

_PRECISION = 192
"""Bits of a ball."""


class Balls:
    """Ball arithmetic of 192 bits, by python-flint."""

    def __enter__(self) -> Balls:
        try:
            import flint
        except ImportError:
            raise ImportError(
                "the logistic loss is checked in ball arithmetic, which needs python-flint: "
                "pip install 'widemargin[exact]'"
            ) from None
        self._arb = flint.arb
        self._context = flint.ctx
        self._powers: dict[int, Any] = {}
        self._before = flint.ctx.prec
        flint.ctx.prec = _PRECISION
        return self

    def __exit__(self, *_: object) -> None:
        self._context.prec = self._before

    def number(self, whole: int, exponent: int) -> Any:
        """Return a ball around whole · 2^exponent."""
        if exponent not in self._powers:
            self._powers[exponent] = self._arb(2) ** exponent
        return self._arb(whole) * self._powers[exponent]

    def entropy(self, part: int, whole: int, exponent: int) -> Any:
        """Return part · log(whole / part), without cancellation; 0 for none and for all of it."""
        if part in (0, whole):
            return self.number(0, 0)
        number, total = self.number(part, exponent), self.number(whole, exponent)
        if 2 * part <= whole:
            return number * (total / number).log()
        return -number * (-self.number(whole - part, exponent) / total).log1p()

    def log_sum(self, numbers: list[Any]) -> Any:
        """Return log Σ exp of balls, around the one with the largest middle."""
        largest = numbers[0]
        for number in numbers[1:]:
            largest = number if number.mid() > largest.mid() else largest
        total = self.number(0, 0)
        for number in numbers:
            total += (number - largest).exp()
        return total.log() + largest

    def bounds(self, ball: Any) -> Bounds:
        """Return the ends of a ball, rounded outwards far below the smallest number."""
        ends = (ball.lower().man_exp(), ball.upper().man_exp())
        (low, low_exponent), (high, high_exponent) = ((int(m), int(e)) for m, e in ends)
        return Bounds(_floor(low, low_exponent), -_floor(-high, high_exponent))


def _floor(whole: int, exponent: int) -> Fraction:
    """Return whole · 2^exponent, or the multiple of the finest unit below it.

    The logistic loss at a margin of 10⁹ would take gigabytes.
    """
    # The square of the smallest floating-point number, and as many bits again.
    finest = 4 * (sys.float_info.min_exp - sys.float_info.mant_dig)
    if exponent < finest:
        whole, exponent = whole >> (finest - exponent), finest
    return dyadic(whole, exponent)
