"""Dual block ascent for conditional random fields: exponentiated gradients, sentence by sentence.

The marginals of a sentence are those of scores of its own, nodes and edges. A visit moves these
scores towards those at the weights, with a step size from a parabola through the dual objective
(Collins et al., 2008, have one step size for all). The sentences of a batch are visited side by
side. See core/structures/gibbs_sweep.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.structures._passes import batch_of, finish_pass
from widemargin.problems.certificate import Point
from widemargin.problems.conditional import ConditionalProblem, Potentials

Matrix = NDArray[np.float64]

_LARGEST_BATCH = 8
"""Sentences of a batch at most. With 16, CoNLL-2000 takes two more passes and repeats three times
as many visits."""

_MOST_PARTIAL = 8
"""Passes over sentences with a gap between two over all."""

_OPEN = 0.5
"""A sentence takes part if its gap is above this times its share of the tolerance."""


@dataclass(eq=False)
class ExponentiatedGradientState(State):
    """The weights, and the potentials that they follow from."""

    problem: ConditionalProblem
    settings: Settings
    weights: Matrix
    potentials: Potentials
    sweeps: core.GibbsSweeps
    random: np.random.Generator
    entropy: float
    partial: int = 0
    full_next: bool = True

    @property
    def point(self) -> Point:
        """The weights and the potentials, both lent."""
        return Point(self.weights, None, replace(self.potentials, lent=True))


class ExponentiatedGradient(SupportsAll):
    """Maximise the dual, sentence by sentence."""

    name = "exponentiated_gradient"
    serves: ClassVar[type[ConditionalProblem]] = ConditionalProblem
    rounds_duals: ClassVar[bool] = True
    """Dual points are in single precision: where rounding ends a run, others may get further."""
    leaves_weights: ClassVar[bool] = True
    """Nobody else refers to the weights of a state: a run that ends need not copy them."""

    def start(
        self, problem: ConditionalProblem, warm: Point | None, settings: Settings
    ) -> ExponentiatedGradientState:
        """Start near the right labelings, or at the warm point's marginals."""
        potentials = self._first(problem, warm)
        entropy, _, weights = problem.potentials(potentials)
        longest = float(problem.rows.norms.max(initial=0.0))
        sweeps = core.GibbsSweeps(
            problem.core,
            weights,
            potentials.nodes,
            potentials.edges,
            longest,
            batch_of(problem.count, _LARGEST_BATCH),
        )
        for begin, end in problem.pieces():
            sweeps.prepare(begin, end, problem.threads)
        return ExponentiatedGradientState(
            problem,
            settings,
            weights,
            potentials,
            sweeps,
            np.random.default_rng(settings.seed),
            float(problem.cost @ entropy),
            active=problem.count,
        )

    @staticmethod
    def _first(problem: ConditionalProblem, warm: Point | None) -> Potentials:
        if warm is not None and isinstance(warm.alpha, Potentials):
            return warm.alpha.copy()
        if warm is not None:
            return problem.potentials_at(warm.alpha)
        nodes = np.zeros((problem.rows.count, problem.classes), np.float32)
        # So much of the probability for the right labels that the others add up to a few rows.
        mass = float(problem.cost @ problem.lengths)
        nodes[np.arange(problem.rows.count), problem.label] = np.log1p(mass)
        edges = (problem.count, (problem.classes + 2) * problem.classes)
        return Potentials(nodes, np.zeros(edges, np.float32))

    def advance(self, state: ExponentiatedGradientState) -> None:
        """Visit the sentences that are thought to have a gap, or all."""
        problem, sweeps = state.problem, state.sweeps
        primal = self._primal(state)
        allowed = state.settings.tol * max(primal, 0.0) / max(1, problem.count)
        threshold = -np.inf if state.full_next else _OPEN * allowed
        chosen = sweeps.begin(int(state.random.integers(2**63)), threshold)
        finish_pass(
            state,
            problem,
            chosen,
            problem.ascent_work,
            lambda budget: sweeps.sweep(budget, problem.threads),
        )
        primal, gap, full = self._primal(state), sweeps.gap, state.full_next
        estimate = gap / primal if primal > 0.0 else np.inf
        state.partial = 0 if full else state.partial + 1
        near = estimate <= state.settings.tol
        state.full_next = not full and (near or state.partial >= _MOST_PARTIAL)
        state.expected_gap = estimate if full else max(estimate, 1.01 * state.settings.tol)
        state.finished = full and gap == 0.0

    @staticmethod
    def _primal(state: ExponentiatedGradientState) -> float:
        gap = state.sweeps.gap
        if not np.isfinite(gap):
            return 0.0
        flat = state.weights.reshape(-1)
        return state.entropy + state.sweeps.entropy - 0.5 * float(flat @ flat) + gap
