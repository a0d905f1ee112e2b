"""Scales of an axis: where a value lies, which ticks to draw, how a number is written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


def number(value: float, digits: int = 3) -> str:
    """Return a number for people: few digits, thousands apart, powers of ten where they help."""
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-3:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(power)}".replace("-", "−")
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign."""
    return ("+" if value > 0 else "") + number(value, digits)


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100.0 * share:.{digits}f} %"


def seconds(value: float) -> str:
    """Return a duration in the unit that suits it."""
    if value < 1e-3:
        return f"{1e6 * value:.0f} µs"
    if value < 1.0:
        return f"{1e3 * value:.3g} ms"
    return f"{value:.3g} s" if value < 120.0 else f"{value / 60.0:.1f} min"


@dataclass(frozen=True)
class Scale:
    """A map from values to the unit interval, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def over(cls, values: object, *, log: bool = False, zero: bool = False) -> Scale:
        """Return a scale that holds all finite values, positive ones if it is logarithmic."""
        array = np.asarray(values, dtype=float).ravel()
        array = array[np.isfinite(array) & ((array > 0.0) | (not log))]
        if array.size == 0:
            return cls(0.1, 1.0, log) if log else cls(0.0, 1.0)
        low, high = float(array.min()), float(array.max())
        if log:
            low, high = math.log10(low), math.log10(high)
            low, high = (low - 0.5, high + 0.5) if high - low < 0.2 else (low, high)
            return cls(
                10.0 ** (low - 0.03 * (high - low)), 10.0 ** (high + 0.03 * (high - low)), True
            )
        low = min(low, 0.0) if zero else low
        if high - low <= 1e-12 * max(abs(high), abs(low)):
            pad = 0.5 * abs(high) or 0.5
            return cls(low - (0.0 if zero else pad), high + pad)
        return cls(low if zero else low - 0.04 * (high - low), high + 0.04 * (high - low))

    def place(self, value: float) -> float:
        """Return where a value lies, 0 at the low end and 1 at the high end, kept inside."""
        if self.log:
            if value <= 0.0:
                return 0.0
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values inside."""
        return self._powers(most) if self.log else self._multiples(most)

    def _powers(self, most: int) -> list[float]:
        powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        if len(powers) >= 2:
            every = max(1, math.ceil(len(powers) / most))
            return [10.0**power for power in powers if power % every == 0]
        first = math.floor(math.log10(self.low))
        fine = [m * 10.0**p for p in range(first, first + 3) for m in (1.0, 2.0, 5.0)]
        inside = [value for value in fine if self.low <= value <= self.high]
        return inside if len(inside) > 1 else [self.low, self.high]

    def _multiples(self, most: int) -> list[float]:
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= span / most)
        first = math.ceil(self.low / step - 1e-9)
        values = [k * step for k in range(first, first + most + 2)]
        inside = [value for value in values if value <= self.high + 1e-9 * span]
        return [0.0 if abs(value) < 1e-9 * step else value for value in inside]

    def labels(self) -> list[str]:
        """Return the ticks as text, with as many digits as tell them apart."""
        ticks = self.ticks()
        for digits in (3, 4, 5, 6, 8):
            texts = [number(tick, digits) for tick in ticks]
            if len(set(texts)) == len(texts):
                return texts
        return texts
