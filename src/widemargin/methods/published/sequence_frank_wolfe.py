"""Block-coordinate Frank-Wolfe for structured hinge losses, as published (Lacoste-Julien et al.).

One visit to a sentence takes one step towards its most violated labeling, with the best step size.
`cached_frank_wolfe` also moves between the labelings found before.
"""

from __future__ import annotations

import numpy as np

from widemargin.instruction_sets import core
from widemargin.methods.base import Settings
from widemargin.methods.structures._labeling_sweeps import LabelingState, LabelingSweeps
from widemargin.methods.structures._passes import finish_pass
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import SequenceProblem


class SequenceFrankWolfe(LabelingSweeps):
    """One step per sentence."""

    name = "block_frank_wolfe"

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> LabelingState:
        """Start at w = 0, whatever the warm point, as the paper does."""
        weights = np.zeros(problem.shape)
        sweeps = core.PlainChains(problem.core, weights)
        return LabelingState(**self.opened(problem, weights, sweeps, settings))

    def advance(self, state: LabelingState) -> None:
        """Visit every sentence once."""
        problem, sweeps = state.problem, state.sweeps
        sweeps.begin(int(state.random.integers(2**63)))
        finish_pass(state, problem, problem.count, problem.visit_work, sweeps.sweep)
        state.expected_gap = state.estimate
        state.finished = sweeps.gap == 0.0
