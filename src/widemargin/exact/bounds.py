"""Two rationals around a number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Bounds:
    """A lower and an upper bound of one real number; equal where it is known exactly.

    Attributes
    ----------
    lower, upper : fractions.Fraction
    """

    lower: Fraction
    upper: Fraction

    @classmethod
    def exactly(cls, number: Fraction) -> Bounds:
        """Return the bounds of a number that is known."""
        return cls(number, number)

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other: Bounds) -> Bounds:
        return Bounds(self.lower - other.upper, self.upper - other.lower)

    def scaled(self, factor: Fraction) -> Bounds:
        """Return the bounds of the number times a factor that is not negative."""
        return Bounds(self.lower * factor, self.upper * factor)

    @property
    def exact(self) -> bool:
        """Whether both bounds are the number itself."""
        return self.lower == self.upper
