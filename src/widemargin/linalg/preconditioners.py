"""Approximations of a matrix that are cheap to solve, for one right-hand side or for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.cholesky import Factor

Array = NDArray[np.float64]


class Preconditioner(Protocol):
    """What conjugate gradients ask for; a `Factor` is one."""

    def solve(self, right: Array) -> Array:
        """Return M⁻¹ right, as a new array."""


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The diagonal alone, the same for all columns."""

    entries: Array

    def solve(self, right: Array) -> Array:
        """Divide."""
        return right / (self.entries if right.ndim == 1 else self.entries[:, None])


@dataclass(frozen=True, eq=False)
class ByColumn:
    """A factor of its own for each column; columns without one are padding, and become zero."""

    factors: Sequence[Factor]

    def solve(self, right: Array) -> Array:
        """Solve column by column."""
        out = np.zeros_like(right)
        for column, factor in enumerate(self.factors):
            out[:, column] = factor.solve(np.ascontiguousarray(right[:, column]))
        return out
