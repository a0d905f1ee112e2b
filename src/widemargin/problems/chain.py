"""Chains of labels: what max-margin sequence labelling and conditional random fields share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import UNDERFLOW, growth, upper_norm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Labels = NDArray[np.int32]
Pointers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChainProblem(OnRows):
    """What problems over chains share: sentences of rows, and weights for labels that follow.

    The weights are one matrix of shape (d + k + 2, padded k): a line for each feature, one for each
    label that a transition leaves, and one each for the first and the last label of a sentence.

    Attributes
    ----------
    rows : Rows
        Of all sentences, below each other.
    first : ndarray of int64, shape (sentences + 1,)
        Where each sentence begins; none is empty.
    label : ndarray of int32, shape (tokens,)
    cost : ndarray of shape (sentences,)
        c_i = C · sample weight.
    mistake : ndarray of shape (k, k)
        What a label (column) costs where another one (row) is right; zero on the diagonal.
    boundaries : bool
        Whether the first and the last label of a sentence have weights.
    threads : int
        Over sentences; no result depends on it.
    """

    first: Pointers
    label: Labels
    cost: Vector
    mistake: Matrix
    boundaries: bool
    threads: int = 1
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def core(self) -> core.ChainCore:
        """The compiled loops over the data."""
        if "core" not in self._kept:
            mistake = np.zeros((self.classes, self.stride))
            mistake[:, : self.classes] = self.mistake
            self._kept["core"] = core.ChainCore(
                self.rows.view, self.first, self.label, self.cost, mistake, self.boundaries
            )
        return self._kept["core"]

    @property
    def classes(self) -> int:
        """Number of labels k."""
        return len(self.mistake)

    @property
    def count(self) -> int:
        """Number of sentences."""
        return int(self.cost.size)

    @property
    def lengths(self) -> Pointers:
        """Rows of each sentence."""
        return np.diff(self.first)

    @property
    def stride(self) -> int:
        """Labels, and padding up to whole vector registers."""
        return int(core.padded_classes(self.classes))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the weights."""
        return self.rows.weights + self.classes + 2, self.stride

    @property
    def pass_work(self) -> float:
        """Price the scores of all rows and the best labeling of every sentence."""
        return self.rows.size.class_product(self.stride) + self._search_work

    @property
    def visit_work(self) -> float:
        """Price visits to all sentences, which also change the weights of their rows."""
        return self.rows.size.block_sweep(self.stride) + self._search_work

    @property
    def _search_work(self) -> float:
        return self.rows.count * self.classes * self.stride * MACHINE.tile_multiply

    def pieces(self, share: float = 1.0) -> Iterator[tuple[int, int]]:
        """Yield ranges of sentences short enough for a compiled call, a checkpoint after each."""
        return self.rows.pieces(share * self.pass_work, self.count)

    def rescaled(self, factor: float) -> Any:
        """Return the problem with all costs multiplied: another C."""
        return replace(self, cost=factor * self.cost, _kept={})

    def _row_errors(self, length: float) -> Vector:
        """Bound, for each sentence, what rounding does to the sum of its rows' scores."""
        norms = np.sqrt(self.rows.norms * (1.0 + 1e-9)) + self.rows.longest * UNDERFLOW
        share = growth(self.rows.longest + 4.0) * length
        return np.asarray(share * np.add.reduceat(norms, self.first[:-1]) * (1.0 + 1e-9))

    def _longest_line(self, weights: Matrix) -> float:
        """Bound the norm of the weights of any one label over the features."""
        squares = np.einsum("fk,fk->k", weights[: self.rows.weights], weights[: self.rows.weights])
        return upper_norm(float(squares.max(initial=0.0)), self.rows.weights)
