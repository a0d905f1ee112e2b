"""Block-coordinate Frank-Wolfe for sequences, with a cache of labelings and pairwise steps.

A visit to a sentence reads its scores once, then searches for better labelings and moves shares
between those in its cache; the inner products of the sentence's rows say what each move does to its
own scores, so that the weights are read once and written once. Sentences whose gap was small when
last seen are left out for a while. See core/structures/chain_block.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import Labelings, SequenceProblem

Matrix = NDArray[np.float64]

_BATCHES = 200
"""Batches that a pass is cut into, at least: those of a batch do not see each other's steps."""

_LARGEST_BATCH = 32
"""Sentences of a batch at most: enough to keep threads busy."""

_MOST_PARTIAL = 8
"""Passes over sentences with a gap between two over all."""

_OPEN = 0.5
"""A sentence takes part if its gap is above this times its share of the tolerance."""


@dataclass(eq=False)
class CachedFrankWolfeState(State):
    """The weights, and the compiled cache of labelings."""

    problem: SequenceProblem
    settings: Settings
    weights: Matrix
    sweeps: core.ChainSweeps
    random: np.random.Generator
    partial: int = 0
    full_next: bool = True
    last_gap: float = np.inf

    @property
    def point(self) -> Point:
        """The weights and the labelings with a share."""
        count, length = self.sweeps.sizes()
        duals = Labelings(
            np.empty(self.problem.count + 1, np.int64), np.empty(count), np.empty(length, np.int32)
        )
        self.sweeps.save(duals.pointers, duals.share, duals.labels)
        return Point(self.weights, None, duals)


class CachedFrankWolfe:
    """Maximise the dual, sentence by sentence."""

    name = "cached_frank_wolfe"
    serves: ClassVar[type[SequenceProblem]] = SequenceProblem

    def refuses(self, problem: SequenceProblem) -> str | None:
        """Serve every sequence problem."""
        return None

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> CachedFrankWolfeState:
        """Start at w = 0 or at the warm labelings."""
        weights = np.zeros(problem.shape)
        if warm is not None:
            weights, _ = problem.combine(warm.alpha.feasible())
        batch = min(_LARGEST_BATCH, max(1, problem.count // _BATCHES))
        sweeps = core.ChainSweeps(problem.core, weights, batch)
        for begin, end in problem.pieces():
            sweeps.prepare(begin, end)
        if warm is not None:
            duals = warm.alpha.feasible()
            sweeps.load(duals.pointers, duals.share, duals.labels)
        random = np.random.default_rng(settings.seed)
        return CachedFrankWolfeState(
            problem, settings, weights, sweeps, random, active=problem.count
        )

    def advance(self, state: CachedFrankWolfeState) -> None:
        """Visit the sentences that are thought to have a gap, or all."""
        problem, sweeps = state.problem, state.sweeps
        allowed = state.settings.tol * self._primal(state) / max(1, problem.count)
        threshold = -np.inf if state.full_next else _OPEN * allowed
        seed = int(state.random.integers(2**63))
        chosen = sweeps.begin(seed, threshold, 0.1 * allowed)
        work = 2.0 * problem.pass_work
        budget = max(1, int(problem.rows.count * MACHINE.call / max(work, 1.0)))
        while not sweeps.sweep(budget, problem.threads):
            problem.rows.checkpoint()
        problem.rows.checkpoint()
        share = chosen / max(1, problem.count)
        problem.meter.add(MACHINE.sweep_call + share * work)
        state.passes += share
        state.active = chosen
        self._judge(state, share)

    def _primal(self, state: CachedFrankWolfeState) -> float:
        gap = state.sweeps.gap
        if not np.isfinite(gap):
            return 0.0
        flat = state.weights.reshape(-1)
        return state.sweeps.linear - 0.5 * float(flat @ flat) + gap

    def _judge(self, state: CachedFrankWolfeState, share: float) -> None:
        """Guess the gap, and decide which sentences the next pass visits."""
        gap, primal = state.sweeps.gap, self._primal(state)
        estimate = gap / primal if primal > 0.0 else np.inf
        state.finished = share == 1.0 and gap == 0.0
        full = state.full_next
        state.partial = 0 if full else state.partial + 1
        near = estimate <= state.settings.tol
        state.full_next = not full and (near or state.partial >= _MOST_PARTIAL)
        state.expected_gap = estimate if full else max(estimate, 1.01 * state.settings.tol)
