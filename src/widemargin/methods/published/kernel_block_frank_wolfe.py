"""Block-wise Frank-Wolfe on the multiclass duals: one example at a time, compiled.

The plain step moves an example's block towards its best corner, exactly or by 2n/(t + 2n); the away
and pairwise variants can also move weight off the worst corner that the block leans on, which gives
a linear rate. After each example the scores of all others are brought up to date by its row of K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem

Matrix = NDArray[np.float64]

_REFRESH = 20
"""Sweeps after which the scores are computed from β again."""


@dataclass(eq=False)
class BlockFrankWolfeState(State):
    """β and the scores K A(β)."""

    problem: KernelMulticlassProblem
    beta: Matrix
    scores: Matrix
    random: np.random.Generator
    steps: float = 0.0
    sweeps: int = 0

    @property
    def point(self) -> Point:
        """The current point."""
        return Point(self.problem.coefficients(self.beta), 0.0, self.beta.copy())


class KernelBlockFrankWolfe(SupportsAll):
    """A sweep over all examples in random order, with the exact step of each block."""

    name = "block_frank_wolfe"
    serves: ClassVar[type[Any]] = KernelMulticlassProblem
    step = "exact"
    steps_per_class: ClassVar[int] = 0
    """Steps of a block while its row of K is at hand, for each class; one at least."""

    def start(
        self, problem: KernelMulticlassProblem, warm: Point | None, settings: Settings
    ) -> BlockFrankWolfeState:
        """Start at β = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        beta = problem.feasible(np.array(point.alpha, dtype=np.float64))
        scores = problem.scores_of(problem.coefficients(beta))
        return BlockFrankWolfeState(problem, beta, scores, np.random.default_rng(settings.seed))

    def advance(self, state: BlockFrankWolfeState) -> None:
        """Sweep once over the examples."""
        problem = state.problem
        gram, n = problem.gram, problem.gram.count
        order = state.random.permutation(n).astype(np.int64)
        repeats = max(1, self.steps_per_class * problem.classes)
        sweep = core.FrankWolfeSweep(
            problem.core, self.step, repeats, state.steps, order, state.beta
        )
        whole = gram.whole
        stride = max(1, MACHINE.kernel_steps // max(1, n * problem.classes))
        gap = 0.0
        for begin in range(0, n, stride):
            end = min(begin + stride, n)
            kernel = gram.rows(order[begin:end]) if whole is None else whole
            gap += sweep.kernel(kernel, whole is not None, state.scores, begin, end)
            gram.checkpoint()
        state.steps += n
        state.sweeps += 1
        state.passes += 1.0
        if state.sweeps % _REFRESH == 0:
            state.scores = problem.scores_of(problem.coefficients(state.beta))
        self._judge(state, gap)

    def _judge(self, state: BlockFrankWolfeState, gap: float) -> None:
        """Compute the gap where the sweep ended: everything for it is there."""
        problem = state.problem
        coefficients = problem.coefficients(state.beta)
        quadratic = float(np.vdot(coefficients, state.scores))
        primal = 0.5 * quadratic + problem.loss(state.scores)
        dual = float(state.beta.sum()) - 0.5 * quadratic
        state.expected_gap = max(primal - dual, 0.0) / primal if primal > 0.0 else np.inf
        state.active = int(np.count_nonzero(state.beta.any(axis=1)))
        state.finished = gap <= 0.0


class KernelObliviousFrankWolfe(KernelBlockFrankWolfe):
    """The same with the step 2n/(t + 2n), which looks at nothing."""

    name = "oblivious_frank_wolfe"
    step = "oblivious"


class KernelAwayFrankWolfe(KernelBlockFrankWolfe):
    """A block moves towards its best corner or away from its worst one."""

    name = "away_frank_wolfe"
    step = "away"
    steps_per_class = 2


class KernelPairwiseFrankWolfe(KernelAwayFrankWolfe):
    """Weight moves from a block's worst corner straight to its best one."""

    name = "pairwise_frank_wolfe"
    step = "pairwise"
