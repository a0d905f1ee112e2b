"""Block dual coordinate descent for multinomial logistic regression.

A visit to an example minimises the dual in all of its dual variables at once, on their simplex, see
core/sweeps/multinomial_dual_cd.hpp. The exact intercept is kept by the method of multipliers, as in
`block_dual_cd`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.coordinate._multiplier import carried_forward, penalty
from widemargin.problems.certificate import Point
from widemargin.problems.multinomial import MultinomialProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(eq=False)
class MultinomialDualState(State):
    """Dual variables A, and the weights W and the residual r that follow from them; padded."""

    problem: MultinomialProblem
    duals: Matrix
    weights: Matrix
    residual: Vector
    b: Vector
    rho: float
    sweeps: core.MultinomialSweeps
    random: np.random.Generator
    last_gap: float = np.inf

    @property
    def point(self) -> Point:
        """The current point; the intercept is the multiplier's running value."""
        k = self.problem.classes
        b = (self.b + self.rho * self.residual)[:k]
        return Point(np.ascontiguousarray(self.weights[:, :k].T), b, self.duals[:, :k])


class MultinomialDualCD(SupportsAll):
    """Maximise the dual, example by example."""

    name = "dual_cd"
    serves: ClassVar[type[MultinomialProblem]] = MultinomialProblem

    def start(
        self, problem: MultinomialProblem, warm: Point | None, settings: Settings
    ) -> MultinomialDualState:
        """Start at W = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        duals = problem.padded(point.alpha)
        problem.core.feasible(duals, 0, problem.rows.count)
        if not problem.free_intercept:
            # Examples without features have even probabilities, whatever the weights.
            empty = problem.rows.norms == 0.0
            duals[empty, : problem.classes] = problem.cost[empty, None] / problem.classes
        b = problem.padded(point.b) if problem.free_intercept else np.zeros(problem.stride)
        weights = np.zeros((problem.rows.weights, problem.stride))
        residual = np.zeros(problem.stride)
        if warm is not None:
            weights, residual = problem.combine(duals)
        rho = (
            penalty(problem.cost, problem.rows.mean_squared_norm) if problem.free_intercept else 0.0
        )
        sweeps = core.MultinomialSweeps(
            problem.core, problem.rows.norms, duals, weights, residual, b, rho
        )
        return MultinomialDualState(
            problem,
            duals,
            weights,
            residual,
            b,
            rho,
            sweeps,
            np.random.default_rng(settings.seed),
            active=sweeps.active,
        )

    def advance(self, state: MultinomialDualState) -> None:
        """Visit every example once."""
        problem = state.problem
        size = problem.rows.size
        sweep = size.multinomial_sweep(problem.stride)
        budget = max(64, int(problem.rows.count * MACHINE.call / sweep))
        state.sweeps.begin(int(state.random.integers(2**63)))
        while not state.sweeps.sweep(budget):
            problem.rows.checkpoint()
        problem.meter.add(MACHINE.sweep_call + sweep)
        state.passes += 1.0
        gap = state.sweeps.gap
        if state.rho > 0.0:
            # The multipliers of r(A) = 0 take over what the penalty had to do.
            state.b += state.rho * state.residual
            gap += state.rho * float(state.residual @ state.residual)
        state.last_gap, gap = gap, carried_forward(gap, state.last_gap)
        flat = state.weights.reshape(-1)
        primal = 0.5 * float(flat @ flat) + state.sweeps.losses
        state.expected_gap = gap / primal if primal > 0.0 else np.inf
        state.finished = gap == 0.0
