"""What conjugate gradients of a Newton step ask of the rows, in few passes over the data.

Where rows are in blocks a pass may mean reading all of them from a disk. There the pass that forms
the gradient also sums up what preconditions the matrix, and few rows that have curvature are copied
once. Products keep the scores of their directions where that costs no more than the pass that the
line search would take.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.memory_rows import MemoryRows
from widemargin.data.rows import Rows
from widemargin.methods.newton._samples import SAMPLE_GROWTH
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]


class Opening(NamedTuple):
    """Σ h_i x_ij² of every weight, and Σ h_i x_i if the intercept is free."""

    diagonal: Vector
    first: Vector | None


class GradientProducts:
    """Products with Σ h_i x_i x_iᵀ.

    Parameters
    ----------
    problem : BinaryProblem
    curvature : ndarray of shape (n,)
        The h_i.
    opening : Opening, optional
        What an earlier pass has summed up.
    expected : int
        Products that are likely to be asked for.

    Attributes
    ----------
    slopes : ndarray of shape (n,), or None
        The scores of what was moved so far, where products keep them.
    members : ndarray of int, or None
        The rows with curvature, where they were copied to `rows`.
    rows : Rows
    """

    def __init__(
        self,
        problem: BinaryProblem,
        curvature: Vector,
        opening: Opening | None = None,
        expected: int = 1,
    ) -> None:
        rows = problem.rows
        self.slopes: Vector | None = None
        self.members: NDArray[np.int64] | None = None
        if few_curved(problem, curvature):
            self.members = np.flatnonzero(curvature)
            rows, curvature = rows.take(self.members), curvature[self.members]
        elif rows.blocked and _keeps_scores(rows, curvature, expected):
            self.slopes = np.zeros(rows.count)
        self.rows, self._curvature, self._opening = rows, curvature, opening
        self._scores: Vector | None = None

    @property
    def diagonal(self) -> Vector:
        """Σ h_i x_ij² for every weight."""
        opening = self._opening
        return self.rows.curvature_diagonal(self._curvature) if opening is None else opening[0]

    @property
    def first(self) -> Vector:
        """Σ h_i x_i."""
        found = None if self._opening is None else self._opening.first
        return self.rows.combine(self._curvature) if found is None else found

    @property
    def total(self) -> float:
        """Σ h_i."""
        return self.rows.sum(self._curvature)

    def product(self, direction: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        """Return Σ h_i s_i x_i and Σ h_i s_i with s_i = x_i · direction + shift."""
        rows, curvature = self.rows, self._curvature
        if self.slopes is None or not isinstance(rows, BlockedRows):
            return rows.curvature_product(curvature, direction, shift)
        image, share, self._scores = rows.curvature_product_and_scores(curvature, direction, shift)
        return image, share

    @property
    def compiled(self) -> Callable[..., tuple[int, bool]] | None:
        """Steps of conjugate gradients with these products, where compiled code can make them."""
        if not isinstance(self.rows, MemoryRows) or not self.rows.in_one_stretch:
            return None
        return partial(self.rows.gradient_steps, self._curvature, self.slopes)

    def combine_change(self, fresh: Vector, old: Vector, signs: Vector) -> Vector:
        """Return Σ (fresh_i − old_i) signs_i x_i over the rows that were copied."""
        own = slice(None) if self.members is None else self.members
        return self.rows.combine_change(fresh[own], old[own], signs[own])

    def moved(self, length: float) -> None:
        """Move the slopes by a multiple of the last direction's scores."""
        if self.slopes is not None and self._scores is not None:
            self.rows.threads.add_scaled(self.slopes, self._scores, float(length))


def few_curved(problem: BinaryProblem, curvature: Vector) -> bool:
    """Whether the rows with curvature are so few that they are worth a copy, and have room."""
    rows = problem.rows
    if not rows.blocked:
        return False
    few = rows.nonzeros(curvature)
    return few <= min(rows.count // 2, rows.largest_sample)


def _keeps_scores(rows: Rows, curvature: Vector, products: int) -> bool:
    """Whether products should compute the scores of all rows, to save those of the direction.

    A product needs those of rows with curvature alone: the others come to no more than one pass.
    Few rows with curvature that have no room in memory are on a disk, where passes cost most.
    """
    share = rows.nonzeros(curvature) / max(1, curvature.size)
    return share * SAMPLE_GROWTH <= 1.0 or products * (1.0 - share) <= 1.0


def opened(
    problem: BinaryProblem, curvature: Vector, name: str, over: tuple[Vector, ...]
) -> tuple[Vector, Opening | None]:
    """Return a combination of the rows and, from the same pass, what opens conjugate gradients."""
    rows = problem.rows
    if not isinstance(rows, BlockedRows) or few_curved(problem, curvature):
        return getattr(rows, name)(*over), None
    total, diagonal, first = rows.combine_with_diagonal(
        (name, over), curvature, problem.free_intercept
    )
    return total, Opening(diagonal, first)
