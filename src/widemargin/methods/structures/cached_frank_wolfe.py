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

_PATIENCE = 10.0
"""Times its price that passes cost before an extrapolation, at least: it adds a tenth at most."""

_VECTORS = 9.0
"""Operations on all weights that an extrapolation takes."""

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
    marked: Matrix | None = None
    """The weights that extrapolation looks back to, if it follows."""
    marked_linear: float = 0.0
    spent: float = 0.0
    """Work since the last extrapolation."""
    patience: float = _PATIENCE
    """Times its price that is spent on passes between two extrapolations."""
    partial: int = 0
    full_next: bool = True

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
            problem,
            settings,
            weights,
            sweeps,
            random,
            active=problem.count,
        )

    def advance(self, state: CachedFrankWolfeState) -> None:
        """Visit the sentences that are thought to have a gap, or all."""
        problem, sweeps = state.problem, state.sweeps
        allowed = state.settings.tol * self._primal(state) / max(1, problem.count)
        threshold = -np.inf if state.full_next else _OPEN * allowed
        self._mark(state)
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
        state.spent += share * work
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
