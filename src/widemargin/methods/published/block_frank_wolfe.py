"""Block-wise Frank-Wolfe for linear multiclass problems: a sweep costs a pass over the data.

The steps are those of `block_frank_wolfe`; the scores of an example are computed when it is met,
from the weights, which every step keeps up to date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.methods.published._frank_wolfe_blocks import (
    LinearBlocks,
    dense_start,
    refuses_intercept,
)
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]


@dataclass(eq=False)
class LinearBlockState(State):
    """β and the weights (features x classes) that follow from it."""

    blocks: LinearBlocks
    beta: Matrix
    weights: Matrix
    random: np.random.Generator
    steps: float = 0.0

    @property
    def point(self) -> Point:
        """The current point."""
        return self.blocks.point(self.blocks.coefficients(self.beta), self.beta.copy())


class BlockFrankWolfe:
    """A sweep over all examples in random order, with the exact step of each block."""

    name = "block_frank_wolfe"
    serves: ClassVar[type[Any]] = MulticlassProblem
    step = "exact"
    steps_per_class: ClassVar[int] = 0
    """Steps of a block while its row is at hand, for each class; one at least."""

    def refuses(self, problem: MulticlassProblem) -> str | None:
        """Support both rules without free intercepts."""
        return refuses_intercept(self.name, problem)

    def start(
        self, problem: MulticlassProblem, warm: Point | None, settings: Settings
    ) -> LinearBlockState:
        """Start at β = 0 or at the warm dual variables."""
        blocks, beta = dense_start(problem, warm)
        weights = np.ascontiguousarray(blocks.weights_of(blocks.coefficients(beta)).T)
        return LinearBlockState(blocks, beta, weights, np.random.default_rng(settings.seed))

    def advance(self, state: LinearBlockState) -> None:
        """Sweep once over the examples."""
        blocks = state.blocks
        rows = blocks.problem.rows
        n = rows.count
        order = state.random.permutation(n).astype(np.int64)
        repeats = max(1, self.steps_per_class * blocks.classes)
        sweep = core.FrankWolfeSweep(
            blocks.core, self.step, repeats, state.steps, order, state.beta
        )
        gap = 0.0
        for begin, end in rows.pieces(rows.size.block_sweep(blocks.classes)):
            gap += sweep.linear(rows.view, rows.norms, state.weights, begin, end)
        state.steps += n
        state.passes += 1.0
        # The gaps as the sweep met them: an estimate from a little earlier.
        dual = float(state.beta.sum()) - 0.5 * float(np.vdot(state.weights, state.weights))
        state.expected_gap = gap / (dual + gap) if dual + gap > 0.0 else np.inf
        state.active = int(np.count_nonzero(state.beta.any(axis=1)))
        state.finished = gap <= 0.0


class ObliviousFrankWolfe(BlockFrankWolfe):
    """The same with the step 2n/(t + 2n), which looks at nothing."""

    name = "oblivious_frank_wolfe"
    step = "oblivious"


class AwayFrankWolfe(BlockFrankWolfe):
    """A block moves towards its best corner or away from its worst one."""

    name = "away_frank_wolfe"
    step = "away"
    steps_per_class = 2


class PairwiseFrankWolfe(AwayFrankWolfe):
    """Weight moves from a block's worst corner straight to its best one."""

    name = "pairwise_frank_wolfe"
    step = "pairwise"
