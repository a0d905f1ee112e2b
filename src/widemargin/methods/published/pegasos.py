"""Pegasos: primal estimated subgradient steps for the hinge, one example or all at a time.

In the λ-form with λ = 1/Σ c_i, step t is w ← (1 − 1/t) w + 1/(λt) y x for an example inside the
margin. So w is always Xᵀ(yα) with α_i = (times i was inside) n c_i / t: a dual point for free,
and where each epoch visits every example once, it lies in the box. The weights returned
are an average over the epochs, weighted by their number, which takes the noise out of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_JUDGE_EVERY = 5
"""Epochs between two looks at the gap, which cost a pass each."""


@dataclass(eq=False)
class PegasosState(State):
    """The iterate w = scale · direction, the counts behind it, and the running average."""

    problem: BinaryProblem
    direction: Vector
    counts: Vector
    strength: Vector
    mean_w: Vector
    mean_alpha: Vector
    mean_scores: Vector
    random: np.random.Generator
    scale: float = 1.0
    steps: int = 0
    epochs: int = 0

    @property
    def point(self) -> Point:
        """The averaged weights and dual variables."""
        return Point(self.mean_w, 0.0, self.mean_alpha)

    def average(self, w: Vector, alpha: Vector) -> None:
        """Take an epoch's end into the average; later ones count more."""
        self.epochs += 1
        share = 2.0 / (self.epochs + 1.0)
        self.mean_w += share * (w - self.mean_w)
        self.mean_alpha += share * (alpha - self.mean_alpha)

    def judge(self, scores: Vector) -> None:
        """Compute the gap of the average, whose weights are those of its dual variables."""
        problem = self.problem
        primal = problem.primal(self.mean_w, 0.0, scores)
        dual = problem.dual(problem.feasible(self.mean_alpha), self.mean_w)
        self.expected_gap = (primal - dual) / primal if primal > 0.0 else np.inf


class Pegasos:
    """Pegasos-1: an epoch of single examples in random order."""

    name = "pegasos"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Support the hinge without a free intercept."""
        if not problem.loss.linear_dual:
            return (
                f"solver '{self.name}' supports the loss 'hinge', not '{problem.loss.name}'; "
                "the nearest solver that supports it is 'dual_cd'"
            )
        if problem.free_intercept:
            return (
                f"solver '{self.name}' has no free intercept; use fit_intercept='penalised' or "
                "False, or the solver 'bmrm_ls'"
            )
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> PegasosState:
        """Start at zero: the first step forgets any other start."""
        n, d = problem.rows.shape
        return PegasosState(
            problem,
            np.zeros(d),
            np.zeros(n),
            n * problem.cost,
            np.zeros(d),
            np.zeros(n),
            np.zeros(n),
            np.random.default_rng(settings.seed),
        )

    def advance(self, state: PegasosState) -> None:
        """Run one epoch over the examples in a new random order."""
        problem = state.problem
        n = problem.rows.count
        order = state.random.permutation(n).astype(np.int64)
        sweep = problem.rows.size.sweep(problem.loss.visit_cost)
        for begin, end in problem.rows.pieces(sweep):
            state.scale = problem.core.pegasos_sweep(
                order, begin, end, state.steps, state.scale, state.direction, state.counts
            )
            state.steps += end - begin
        # The counts are in proportion to α; the weights follow from the same numbers.
        state.average(
            state.scale * state.direction, state.counts * state.strength / max(1, state.steps)
        )
        state.passes += 1.0
        state.active = int(np.count_nonzero(state.counts))
        if state.epochs % _JUDGE_EVERY == 0:
            state.judge(problem.rows.scores(state.mean_w))
            state.passes += 1.0


class PegasosBatch(Pegasos):
    """Pegasos-n: every example in every step; Frank-Wolfe on the dual with the step 1/t."""

    name = "pegasos_n"

    def advance(self, state: PegasosState) -> None:
        """Take one step with the full subgradient, and judge the average of the points so far."""
        problem = state.problem
        scores = problem.rows.scores(state.direction)
        if state.steps > 0:
            state.average(state.direction, state.counts * problem.cost / state.steps)
            state.mean_scores += 2.0 / (state.epochs + 1.0) * (scores - state.mean_scores)
            state.judge(state.mean_scores)
        inside = problem.y * scores < 1.0
        subgradient = problem.rows.combine(np.where(inside, problem.cost, 0.0), problem.y)
        state.steps += 1
        state.direction += (subgradient - state.direction) / state.steps
        state.counts += inside
        state.passes += 2.0
        state.active = int(np.count_nonzero(state.counts))
