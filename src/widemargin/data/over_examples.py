"""Sums over vectors that have a number for every example."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class OverExamples:
    """What rows know of vectors over them; those in blocks share it out among threads."""

    _kept: dict[str, Any]

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
