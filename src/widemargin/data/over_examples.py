"""Vectors that have a number for every example."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class OverExamples:
    """What rows know of vectors over them; those in blocks share it out among threads."""

    _kept: dict[str, Any]

    @property
    def threads(self) -> Any:
        """Threads for vectors over the examples; only rows in blocks have them."""
        return None

    def nonzeros(self, numbers: Vector) -> int:
        """Return how many entries are not zero.

        The answer is kept for the vector that was asked for last, which must not change.
        """
        known = self._kept.get("nonzeros")
        if known is None or known[0]() is not numbers:
            known = self._kept["nonzeros"] = weakref.ref(numbers), self._nonzeros(numbers)
        count: int = known[1]
        return count

    def _nonzeros(self, numbers: Vector) -> int:
        return int(np.count_nonzero(numbers))

    def dot(self, left: Vector, right: Vector) -> float:
        """Return the inner product of two vectors."""
        return float(left @ right)

    def sum(self, numbers: Vector) -> float:
        """Return the sum of a vector."""
        return float(numbers.sum())

    def gather(self, numbers: Vector, places: NDArray[np.int64]) -> Vector:
        """Return some entries of a vector, as a new array."""
        return numbers[places] if self.threads is None else self.threads.gather(numbers, places)

    def scaled(self, numbers: Vector, factor: float, out: Vector | None = None) -> Vector:
        """Return a multiple of an array."""
        if self.threads is None:
            return np.multiply(numbers, factor, out=out)
        out = np.empty(numbers.shape) if out is None else out
        self.threads.scaled(numbers.reshape(-1), factor, _flat(out))
        return out

    def plus(self, left: Vector, right: Vector, factor: float = 1.0) -> Vector:
        """Return left + factor · right, of vectors over the examples or the weights."""
        if self.threads is not None:
            return self.threads.plus(left, right, factor)
        if factor == 1.0:
            return left + right
        return left - right if factor == -1.0 else left + factor * right

    def add_scaled(self, total: Vector, numbers: Vector, factor: float) -> None:
        """Add a multiple of an array to another one, in place."""
        if self.threads is None:
            total += factor * numbers
        else:
            self.threads.add_scaled(_flat(total), numbers.reshape(-1), factor)

    def subtract(self, left: Vector, right: Vector) -> bool:
        """Subtract a vector from another one, in place; return whether anything is left."""
        if self.threads is not None:
            return bool(self.threads.subtract(left, right))
        left -= right
        return bool(left.any())


def _flat(numbers: Vector) -> Vector:
    """View an array as a vector; a copy would be written to in vain."""
    if not numbers.flags.c_contiguous:
        raise ValueError("threads write to arrays in C order only")
    return numbers.reshape(-1)
