"""Products with a kernel matrix, in double or in extended precision, and their rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.gram import Gram
from widemargin.problems.margins import Bound
from widemargin.problems.rounding import UNDERFLOW, UNIT, Magnitudes, ScoreError, growth

Vector = NDArray[np.float64]
_ROWS = 64
"""Rows of the matrix that are converted at once."""


@dataclass(frozen=True)
class KernelProducts:
    """Products K u and uᵀK u with a matrix taken as it is.

    In extended precision, numpy's long double, they are rounded to double precision once. Where a
    machine has no longer type the two are the same, and so are their bounds.
    """

    gram: Gram
    extended: bool = False

    @property
    def unit(self) -> float:
        """The relative error of one operation."""
        return 0.5 * float(np.finfo(np.longdouble).eps) if self.extended else UNIT

    def share(self, terms: float) -> float:
        """Return the relative error of a sum of so many products."""
        return growth(terms) * (self.unit / UNIT) + (2.0 * UNIT if self.extended else 0.0)

    def times(self, right: Any) -> Any:
        """Return K times a vector or a matrix."""
        if not self.extended:
            return self.gram.multiply(right)
        out, wide = np.empty_like(right), right.astype(np.longdouble)
        for begin in range(0, self.gram.count, _ROWS):
            places = np.arange(begin, min(begin + _ROWS, self.gram.count), dtype=np.int64)
            out[places] = self.gram.rows(places).astype(np.longdouble) @ wide
        return out

    def quadratic(self, left: Any, product: Any) -> Bound:
        """Return uᵀK u for K u, with how far it can be off."""
        if self.extended:
            value = float((left.astype(np.longdouble) * product).sum())
        else:
            value = float(np.vdot(left, product))
        sizes = self.gram.sizes if left.ndim == 1 else self.gram.sizes[:, None]
        weight = np.sum(np.abs(left) * sizes, axis=0)
        terms = 2.0 * self.gram.count + left.size + 8.0
        allowance = self.share(terms) * float(np.sum(weight * weight)) + terms * UNDERFLOW
        return Bound(value, (1.0 + 1e-6) * allowance)

    def error(self, size: Magnitudes, length: float, b: float) -> ScoreError:
        """Return the error of the scores, where Σ_j |u_j| √K_jj ≤ length."""
        share = self.share(size.longest + 3.0)
        fixed = growth(4.0) * abs(b) + size.longest * UNDERFLOW
        return ScoreError((share + growth(4.0)) * length, fixed)
