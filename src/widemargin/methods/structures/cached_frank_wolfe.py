"""Block-coordinate Frank-Wolfe for sequences, with a cache of labelings and pairwise steps.

A visit to a sentence reads its scores once, then searches for better labelings and moves shares
between those in its cache; the inner products of the sentence's rows say what each move does to its
own scores, so that the weights are read once and written once. Between two passes with searches,
passes without them move shares among the labelings that are kept: they read a few scores only. See
core/structures/chain_block.hpp and cached_visit.hpp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings
from widemargin.methods.structures._labeling_sweeps import LabelingState, LabelingSweeps
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import SequenceProblem

Matrix = NDArray[np.float64]

_BATCHES = 200
"""Batches that a pass is cut into, at least: those of a batch do not see each other's steps."""

_LARGEST_BATCH = 32
"""Sentences of a batch at most: enough to keep threads busy."""

_LINE = 8
"""Weights in a line of cache: what a pass without searches reads at each value of a row."""

_OPEN = 0.1
"""A sentence is left alone if its gap is below this times its share of the tolerance."""


class CachedFrankWolfe(LabelingSweeps):
    """Maximise the dual, sentence by sentence."""

    name = "cached_frank_wolfe"

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> LabelingState:
        """Start at w = 0 or at the warm labelings."""
        weights = np.zeros(problem.shape)
        if warm is not None:
            weights, _ = problem.combine(warm.alpha.feasible())
        batch = min(_LARGEST_BATCH, max(1, problem.count // _BATCHES))
        sweeps = core.ChainSweeps(problem.core, weights, batch)
        state = LabelingState(**self.opened(problem, weights, sweeps, settings))
        if warm is not None:
            duals = warm.alpha.feasible()
            sweeps.load(duals.pointers, duals.share, duals.labels)
        return state

    def advance(self, state: LabelingState) -> None:
        """Visit all sentences, then move shares among the labelings that are kept."""
        problem, sweeps = state.problem, state.sweeps
        enough = _OPEN * state.settings.tol * state.primal / max(1, problem.count)
        chosen = sweeps.begin(int(state.random.integers(2**63)), enough)
        self.visit(state, chosen, lambda budget: sweeps.sweep(budget, problem.threads))
        state.finished = sweeps.gap == 0.0
        self._settle(state, enough)
        # Visits see gaps that they and the passes after them then close. What is left is about what
        # the next visits will see: less than now by as much as now is less than before.
        gap, last = float(sweeps.gap), state.last_gap
        state.expected_gap = state.estimate * (gap / last if gap < last < np.inf else 1.0)
        state.last_gap = gap

    @staticmethod
    def _settle(state: LabelingState, enough: float) -> None:
        """Pass without searches as long as this gains as much for its price as searches did."""
        problem, sweeps = state.problem, state.sweeps
        size, count = problem.rows.size, problem.rows.count
        goal = sweeps.gained / problem.visit_work
        line = min(_LINE, problem.stride)
        budget = max(1, int(count * MACHINE.call / size.block_sweep(line)))
        price = 0.0  # the pass with searches was worth its price
        while sweeps.gained > goal * price:
            if sweeps.begin_cached(int(state.random.integers(2**63)), enough) == 0:
                return
            while not sweeps.sweep_cached(budget):
                problem.rows.checkpoint()
            problem.rows.checkpoint()
            price = size.block_sweep(line, sweeps.read)
            problem.meter.add(MACHINE.sweep_call + price)
