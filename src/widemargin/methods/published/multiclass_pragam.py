"""Pragam for the multiclass hinge (BMRM, algorithm 1), Crammer-Singer and Weston-Watkins.

The dual variables are a row of β for every example: the gradient of Σ β − ½‖W(β)‖² in β_ij is the
slack 1 − (w_y − w_j)·x_i, and projections go row by row, onto a simplex of size c_i with its inside
(Crammer-Singer) or onto a box (Weston-Watkins).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.methods.base import Settings
from widemargin.methods.published import _excessive_gap
from widemargin.methods.published._excessive_gap import ExcessiveGapState
from widemargin.methods.published._frank_wolfe_blocks import (
    LinearBlocks,
    dense_start,
    refuses_intercept,
)
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]


class MulticlassRange:
    """The range of β, over the scores of a linear problem."""

    def __init__(self, blocks: LinearBlocks) -> None:
        self._blocks = blocks

    def project(self, target: Matrix) -> Matrix:
        """Return the nearest β in the range, row by row."""
        blocks = self._blocks
        nearest = np.maximum(target, 0.0)
        np.put_along_axis(nearest, blocks.labels[:, None], 0.0, axis=1)
        cost = blocks.cost[:, None]
        if blocks.rule == "weston_watkins":
            return np.asarray(np.minimum(nearest, cost))
        over = np.flatnonzero(nearest.sum(axis=1) > blocks.cost)
        if over.size:
            # The threshold t with Σ max(target − t, 0) = c: of the sorted sums, the last that fits.
            falling = -np.sort(-nearest[over], axis=1)
            sums = np.cumsum(falling, axis=1) - cost[over]
            counts = np.arange(1, blocks.classes + 1)
            last = np.maximum(np.count_nonzero(falling * counts > sums, axis=1) - 1, 0)
            level = np.take_along_axis(sums, last[:, None], axis=1) / (last[:, None] + 1.0)
            nearest[over] = np.maximum(nearest[over] - level, 0.0)
        return blocks.feasible(nearest)

    def combine(self, duals: Matrix) -> tuple[Matrix, float]:
        """Return W(β) and Σ β."""
        return self._blocks.weights_of(self._blocks.coefficients(duals)), float(duals.sum())

    def slopes(self, w: Matrix) -> Matrix:
        """Return the slacks 1 − (w_y − w_j)·x_i; they are 1 at the label itself."""
        scores = self._blocks.scores_at(w)
        return 1.0 + scores - np.take_along_axis(scores, self._blocks.labels[:, None], axis=1)

    def primal(self, w: Matrix, slopes: Matrix) -> float:
        """Return P(W); slacks less one are scores, up to the one of the label."""
        return 0.5 * float(np.vdot(w, w)) + self._blocks.loss(slopes - 1.0)

    def point(self, w: Matrix, duals: Matrix) -> Point:
        """Return the pair, β as a sparse matrix."""
        return Point(w, np.zeros(self._blocks.classes), sp.csr_array(duals))

    def active(self, duals: Matrix) -> int:
        """Return how many examples have a β that is not zero."""
        return int(np.count_nonzero(duals.any(axis=1)))


class MulticlassPragam:
    """Two projections and three products per step; the gap falls like 1/k²."""

    name = "pragam"
    serves: ClassVar[type[Any]] = MulticlassProblem

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Support both rules without free intercepts."""
        return refuses_intercept(self.name, problem)

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> ExcessiveGapState:
        """Start by a projected gradient step from β = 0 or the warm dual variables."""
        blocks, before = dense_start(problem, warm)
        # One example alone: moving β_i by d moves W by ‖x_i‖² (‖d‖² + (Σ d)²).
        guess = 2.0 * float(problem.rows.norms.max(initial=0.0))
        return _excessive_gap.start(MulticlassRange(blocks), before, guess)

    def advance(self, state: ExcessiveGapState) -> None:
        """Take one step of the excessive gap technique."""
        _excessive_gap.advance(state)
