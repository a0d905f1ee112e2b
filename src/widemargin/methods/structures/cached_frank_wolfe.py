"""Block-coordinate Frank-Wolfe for sequences, with a cache of labelings and pairwise steps.

A visit to a sentence reads its scores once, then searches for better labelings and moves shares
between those in its cache; the inner products of the sentence's rows say what each move does to its
own scores, so that the weights are read once and written once. Sentences whose gap was small when
last seen are left out for a while. See core/structures/chain_block.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass

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

_MOST_PARTIAL = 8
"""Passes over sentences with a gap between two over all."""

_PATIENCE = 10.0
"""Times its price that passes cost before an extrapolation, at least: it adds a tenth at most."""

_VECTORS = 9.0
"""Operations on all weights that an extrapolation takes."""

_OPEN = 0.5
"""A sentence takes part if its gap is above this times its share of the tolerance."""


@dataclass(eq=False)
class CachedFrankWolfeState(LabelingState):
    """The weights, the compiled cache of labelings, and what decides about extrapolation."""

    marked: Matrix | None = None
    """The weights that extrapolation looks back to, if it follows."""
    marked_linear: float = 0.0
    spent: float = 0.0
    """Work since the last extrapolation."""
    patience: float = _PATIENCE
    """Times its price that is spent on passes between two extrapolations."""
    partial: int = 0
    full_next: bool = True


class CachedFrankWolfe(LabelingSweeps):
    """Maximise the dual, sentence by sentence."""

    name = "cached_frank_wolfe"

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> CachedFrankWolfeState:
        """Start at w = 0 or at the warm labelings."""
        weights = np.zeros(problem.shape)
        if warm is not None:
            weights, _ = problem.combine(warm.alpha.feasible())
        batch = min(_LARGEST_BATCH, max(1, problem.count // _BATCHES))
        sweeps = core.ChainSweeps(problem.core, weights, batch)
        state = CachedFrankWolfeState(**self.opened(problem, weights, sweeps, settings))
        if warm is not None:
            duals = warm.alpha.feasible()
            sweeps.load(duals.pointers, duals.share, duals.labels)
        return state

    def advance(self, state: CachedFrankWolfeState) -> None:
        """Visit the sentences that are thought to have a gap, or all."""
        problem, sweeps = state.problem, state.sweeps
        allowed = state.settings.tol * state.primal / max(1, problem.count)
        threshold = -np.inf if state.full_next else _OPEN * allowed
        self._mark(state)
        chosen = sweeps.begin(int(state.random.integers(2**63)), threshold, 0.1 * allowed)
        spent = self.visit(state, chosen, lambda budget: sweeps.sweep(budget, problem.threads))
        self._judge(state, chosen == problem.count)
        state.spent += spent
        if state.expected_gap > state.settings.tol and state.marked is not None:
            self._extrapolate(state, state.marked)

    @staticmethod
    def _mark(state: CachedFrankWolfeState) -> None:
        """Remember where the pass begins, if enough was spent for an extrapolation after it."""
        state.sweeps.mark()
        price = _VECTORS * state.weights.size * MACHINE.element
        if state.spent < state.patience * price:
            state.marked = None
            return
        state.marked, state.marked_linear = state.weights.copy(), state.sweeps.linear

    @staticmethod
    def _extrapolate(state: CachedFrankWolfeState, marked: Matrix) -> None:
        """Go on along the change of the last pass, if the dual objective grows.

        If it grows less for its price than by passes, the next one waits twice as long, else half
        as long, so that all of them together cost little where they do not help.
        """
        problem, sweeps = state.problem, state.sweeps
        weights, trial = state.weights.reshape(-1), marked.reshape(-1)
        price = _VECTORS * weights.size * MACHINE.element
        square, before = float(weights @ weights), float(trial @ trial)
        product = float(weights @ trial)
        slope = sweeps.linear - state.marked_linear - (square - product)
        norm = square - 2.0 * product + before
        by_pass = sweeps.linear - state.marked_linear - 0.5 * (square - before)
        gain = 0.0
        if slope > 0.0 and norm > 0.0:
            step = slope / norm
            np.subtract(weights, trial, out=trial)
            trial *= step
            trial += weights
            change = 0.0
            for begin, end in problem.pieces(2.0):
                change += sweeps.extrapolate(step, marked, begin, end)
            gain = change - 0.5 * (float(trial @ trial) - square)
            if gain > 0.0:
                np.copyto(weights, trial)
                sweeps.accept(change)
        poor = gain * 2.0 * problem.pass_work < by_pass * price
        state.patience = 2.0 * state.patience if poor else max(_PATIENCE, 0.5 * state.patience)
        problem.meter.add(price)
        state.spent = 0.0

    @staticmethod
    def _judge(state: CachedFrankWolfeState, whole: bool) -> None:
        """Guess the gap, and decide which sentences the next pass visits."""
        estimate = state.estimate
        state.finished = whole and state.sweeps.gap == 0.0
        full = state.full_next
        state.partial = 0 if full else state.partial + 1
        near = estimate <= state.settings.tol
        state.full_next = not full and (near or state.partial >= _MOST_PARTIAL)
        state.expected_gap = estimate if full else max(estimate, 1.01 * state.settings.tol)
