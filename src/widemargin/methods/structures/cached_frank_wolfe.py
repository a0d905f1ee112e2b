"""Block-coordinate Frank-Wolfe for sequences, with a cache of labelings and pairwise steps.

A visit to a sentence reads its scores once, then searches for better labelings and moves shares
between those in its cache; the inner products of the sentence's rows say what each move does to its
own scores, so that the weights are read once and written once. Between two passes over all labels,
passes over the labels that are kept read a few scores only: they search among the labelings that
can be put together from those that are kept, and move shares. See
core/structures/chain_block.hpp and cached_visit.hpp.
"""

from __future__ import annotations

import numpy as np

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings
from widemargin.methods.structures._labeling_sweeps import LabelingState, LabelingSweeps
from widemargin.methods.structures._passes import batch_of, finish_pass
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import SequenceProblem

_LARGEST_BATCH = 16
"""Sentences of a batch at most: enough to keep a few threads busy. With twice as many,
CoNLL-2000 takes a third more passes without searches."""

_LINE = 8
"""Weights in a line of cache: what a pass without searches reads at each value of a row."""

_HALF = 0.5
"""Passes over the labels that are kept end when the gap among them is half of what the last pass
over all labels saw, or less if that pass saw less than half of what the one before did."""

_STALLED = 0.7
"""They go on twice as long if that pass saw more than this times what the one before did."""

_SURE = 0.95
"""A run ends when the gap at the average of the last passes is thought to be this times the
tolerance. On the OCR words, C from 0.003 to 0.3 and five seeds each, the certified gap was between
0.84 and 1.11 of what was thought, and always below the tolerance. Where it is not, the run goes on
and half of that is the next goal."""

_MOST_SETTLING = 100
"""Such passes in a row at most, for a gap that rounding keeps open."""

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
        sweeps = core.ChainSweeps(problem.core, weights, batch_of(problem.count, _LARGEST_BATCH))
        state = LabelingState(**self.opened(problem, weights, sweeps, settings))
        if warm is not None:
            duals = warm.alpha.feasible()
            sweeps.load(duals.pointers, duals.share, duals.labels)
        return state

    def advance(self, state: LabelingState) -> None:
        """Visit all sentences, then move shares among the labelings that are kept."""
        problem, sweeps = state.problem, state.sweeps
        enough = _OPEN * state.settings.tol * state.last_primal / max(1, problem.count)
        chosen = sweeps.begin(int(state.random.integers(2**63)), enough)
        finish_pass(
            state,
            problem,
            chosen,
            problem.visit_work,
            lambda budget: sweeps.sweep(budget, problem.threads),
        )
        state.finished = sweeps.gap == 0.0
        # Visits see gaps that they then close in part: the next ones will see less by as much as
        # these saw less than the last ones.
        gap, before = float(sweeps.gap), state.last_gap
        rate = gap / before if gap < before < np.inf else 1.0
        goal, last = self._goal(state, gap, rate)
        kept = self._settle(state, enough, goal, last)
        primal = state.primal
        state.expected_gap = max(rate * gap, kept) / primal if primal > 0.0 else np.inf
        state.hopes += state.expected_gap <= state.settings.tol
        state.last_gap, state.last_primal = gap, primal

    @staticmethod
    def _goal(state: LabelingState, gap: float, rate: float) -> tuple[float, bool]:
        """Return the gap among the labels that are kept at which to look at all labels again.

        And whether the run is to end there.
        """
        # Where the gap hardly falls, shares have to be better before others are worth a search.
        stalls = rate > _STALLED and np.isfinite(state.last_gap)
        state.depth = _HALF * state.depth if stalls else min(_HALF, 2.0 * state.depth)
        goal = min(state.depth, rate) * gap
        allowed = state.settings.tol * state.primal
        if goal > allowed or stalls:
            return goal, False
        return _SURE * allowed * _HALF**state.hopes, True

    @staticmethod
    def _settle(state: LabelingState, enough: float, goal: float, last: bool) -> float:
        """Visit the labels that are kept until the gap among them is small; return it.

        It is of no use below what the next pass over all labels will see. Every visit leaves some
        gap to the others, which has the dual value close to its maximum long before the primal one
        is close to its minimum. The average of the shares over the passes has much less of it, and
        a dual value that is not below that of all of them: the run ends with the average. Earlier
        passes do not take it, as it is behind the last shares.
        """
        problem, sweeps = state.problem, state.sweeps
        size = problem.rows.size
        line = min(_LINE, problem.stride)
        budget = max(1, int(problem.rows.count * MACHINE.call / size.block_sweep(line)))
        kept = np.inf
        for count in range(1, _MOST_SETTLING + 1):
            if sweeps.begin_cached(int(state.random.integers(2**63)), enough) == 0:
                return float(sweeps.gap)
            while not sweeps.sweep_cached(budget, problem.threads):
                problem.rows.checkpoint()
            problem.rows.checkpoint()
            problem.meter.add(MACHINE.sweep_call + size.block_sweep(line, sweeps.read))
            kept = float(sweeps.kept_gap)
            if last:
                # Weights that grow with the number of the pass: the first ones are far off.
                sweeps.average(2.0 / (count + 1.0))
                kept *= MACHINE.averaged_gap + (1.0 - MACHINE.averaged_gap) / count
            if kept <= goal:
                break
        if last:
            sweeps.take_average()
        return kept
