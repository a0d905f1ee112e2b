"""Block-coordinate Frank-Wolfe for structured hinge losses, as published (Lacoste-Julien et al.).

One visit to a sentence takes one step towards its most violated labeling, with the best step size.
`cached_frank_wolfe` also moves between the labelings found before.
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


@dataclass(eq=False)
class SequenceFrankWolfeState(State):
    """The weights, and the compiled shares of labelings."""

    problem: SequenceProblem
    weights: Matrix
    sweeps: core.PlainChains
    random: np.random.Generator

    @property
    def point(self) -> Point:
        """The weights and all labelings seen so far."""
        count, length = self.sweeps.sizes()
        duals = Labelings(
            np.empty(self.problem.count + 1, np.int64), np.empty(count), np.empty(length, np.int32)
        )
        self.sweeps.save(duals.pointers, duals.share, duals.labels)
        return Point(self.weights, None, duals)


class SequenceFrankWolfe:
    """One step a sentence."""

    name = "block_frank_wolfe"
    serves: ClassVar[type[SequenceProblem]] = SequenceProblem

    def refuses(self, problem: SequenceProblem) -> str | None:
        """Serve every sequence problem."""
        return None

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> SequenceFrankWolfeState:
        """Start at w = 0, whatever the warm point, as the paper does."""
        weights = np.zeros(problem.shape)
        sweeps = core.PlainChains(problem.core, weights)
        for begin, end in problem.pieces():
            sweeps.prepare(begin, end)
        random = np.random.default_rng(settings.seed)
        return SequenceFrankWolfeState(problem, weights, sweeps, random, active=problem.count)

    def advance(self, state: SequenceFrankWolfeState) -> None:
        """Visit every sentence once."""
        problem, sweeps = state.problem, state.sweeps
        work = 2.0 * problem.pass_work
        budget = max(1, int(problem.rows.count * MACHINE.call / max(work, 1.0)))
        sweeps.begin(int(state.random.integers(2**63)))
        while not sweeps.sweep(budget):
            problem.rows.checkpoint()
        problem.rows.checkpoint()
        problem.meter.add(MACHINE.sweep_call + work)
        state.passes += 1.0
        flat = state.weights.reshape(-1)
        primal = sweeps.linear - 0.5 * float(flat @ flat) + sweeps.gap
        state.expected_gap = sweeps.gap / primal if primal > 0.0 else np.inf
        state.finished = sweeps.gap == 0.0
