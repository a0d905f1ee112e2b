"""Dual descent for kernels: two coordinates at a time, one without an intercept.

Where all of K is at hand, each step looks at all examples for the pair that promises most. Else it
takes the rows of K of the few hundred examples that violate the optimality conditions most,
descends inside them, and adds the change to all scores by one product: nearly all the work is in
blocks, and rows of K are asked for a block at a time.
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
from widemargin.problems.kernel import KernelProblem

Vector = NDArray[np.float64]

_REFRESH = 50
"""Steps after which the scores are computed from α again."""


@dataclass(eq=False)
class KernelDualCDState(State):
    """Dual variables and the scores K(yα) that follow from them."""

    problem: KernelProblem
    alpha: Vector
    scores: Vector
    shift: Vector
    upper: Vector
    chosen: NDArray[np.int64]
    b: float
    steps: int = 0

    @property
    def point(self) -> Point:
        """The current point."""
        return Point(self.problem.y * self.alpha, self.b, self.alpha)


class KernelDualCD:
    """Working sets for both hinges."""

    name = "dual_cd"
    serves: ClassVar[type[KernelProblem]] = KernelProblem

    def refuses(self, problem: KernelProblem) -> str | None:
        """Serve losses whose dual is a parabola: both hinges."""
        if problem.loss.dual_quadratic is None:
            return (
                "solver 'dual_cd' supports kernel problems with the losses 'hinge', "
                f"'squared_hinge', not '{problem.loss.name}', which is supported without a kernel"
            )
        return None

    def start(
        self, problem: KernelProblem, warm: Point | None, settings: Settings
    ) -> KernelDualCDState:
        """Start at α = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        alpha = problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        cost = problem.cost
        shift = np.zeros_like(cost)
        upper = problem.loss.upper(cost)
        if problem.loss.dual_quadratic:
            np.divide(problem.loss.dual_quadratic, cost, out=shift, where=cost > 0.0)
        return KernelDualCDState(
            problem,
            alpha,
            problem.image(alpha)[1],
            shift,
            np.full_like(cost, np.inf) if upper is None else upper,
            np.zeros(0, dtype=np.int64),
            float(point.b),
        )

    def advance(self, state: KernelDualCDState) -> None:
        """Choose a working set, descend inside it, and carry its change to all scores."""
        problem = state.problem
        y = problem.y
        gradient = y * state.scores + state.shift * state.alpha - 1.0
        state.steps += 1
        if problem.gram.whole is not None:
            self._descend_everywhere(state, gradient)
            return
        # 1) half of the set is new, half stays from the last step
        places, violation = self._choose(state, gradient)
        if places.size == 0:
            state.finished = True
            return
        rows = problem.gram.rows(places)
        block = np.ascontiguousarray(rows[:, places])
        # 2) descend inside it, to a tenth of what is wrong outside
        alpha, inside = state.alpha[places], gradient[places]
        working = core.WorkingSet(block, y[places], state.shift[places], state.upper[places])
        working.descend(alpha, inside, problem.free_intercept, 0.1 * violation, 100 * places.size)
        # 3) all scores
        change = y[places] * (alpha - state.alpha[places])
        state.finished = not change.any()
        state.alpha[places] = alpha
        state.scores += change @ rows
        state.chosen = places
        state.passes += places.size / problem.gram.count
        if state.steps % _REFRESH == 0:
            state.scores = problem.image(state.alpha)[1]
        self._judge(state)

    def _descend_everywhere(self, state: KernelDualCDState, gradient: Vector) -> None:
        """Descend with all of K at hand; the scores come out of the gradient."""
        problem = state.problem
        n, whole = problem.gram.count, problem.gram.whole
        assert whole is not None
        alpha = state.alpha.copy()
        steps = max(200, MACHINE.kernel_steps // max(1, n))
        everyone = core.WorkingSet(whole, problem.y, state.shift, state.upper)
        violation = everyone.descend(alpha, gradient, problem.free_intercept, 1e-10, steps)
        state.finished = np.array_equal(alpha, state.alpha) or violation <= 1e-10
        state.alpha = alpha
        state.passes += 2.0 * steps / n
        if state.steps % _REFRESH == 0 or state.finished:
            state.scores = problem.image(alpha)[1]
        else:
            state.scores = problem.y * (gradient - state.shift * alpha + 1.0)
        self._judge(state)

    def _choose(
        self, state: KernelDualCDState, gradient: Vector
    ) -> tuple[NDArray[np.int64], float]:
        problem = state.problem
        y, alpha = problem.y, state.alpha
        rises = (alpha < state.upper) & (problem.cost > 0.0)
        falls = alpha > 0.0
        size = min(MACHINE.working_set, problem.gram.count)
        kept = state.chosen[: size // 2] if state.chosen.size >= size else state.chosen[:0]
        if not problem.free_intercept:
            wrong = np.where(gradient < 0.0, rises, falls) * np.abs(gradient)
            order = np.argpartition(-wrong, min(size, wrong.size) - 1)[:size]
            order = order[np.argsort(-wrong[order], kind="stable")]
            order = order[wrong[order] > 0.0]
            fresh = order[~np.isin(order, kept)][: size - kept.size]
            return np.concatenate([fresh, kept]).astype(np.int64), float(wrong.max(initial=0.0))
        value = -y * gradient
        up = np.where(y > 0.0, rises, falls)
        down = np.where(y > 0.0, falls, rises)
        if not up.any() or not down.any():
            return np.zeros(0, dtype=np.int64), 0.0
        half = size // 2
        highest = np.argsort(-np.where(up, value, -np.inf), kind="stable")[:half]
        lowest = np.argsort(np.where(down, value, np.inf), kind="stable")[:half]
        violation = float(value[highest[0]] - value[lowest[0]])
        if violation <= 0.0:
            return np.zeros(0, dtype=np.int64), 0.0
        # Alternately from both ends, so that a short list has both kinds.
        mixed = np.column_stack([highest, lowest]).ravel()
        mixed = mixed[np.where(np.arange(mixed.size) % 2 == 0, up[mixed], down[mixed])]
        _, first = np.unique(mixed, return_index=True)
        order = mixed[np.sort(first)]
        fresh = order[~np.isin(order, kept)][: max(2, size - kept.size)]
        # The worst pair is always in.
        must = np.array([highest[0], lowest[0]])
        return np.unique(np.concatenate([must, fresh, kept])).astype(np.int64), violation

    def _judge(self, state: KernelDualCDState) -> None:
        problem = state.problem
        if problem.free_intercept:
            state.b = problem.loss.best_intercept(problem.y, problem.cost, state.scores, state.b)
        quadratic = float((problem.y * state.alpha) @ state.scores)
        primal = 0.5 * quadratic + problem.loss.total(
            problem.y, problem.cost, state.scores, state.b
        )
        gap = primal - problem.loss.dual_total(state.alpha, problem.cost) + 0.5 * quadratic
        state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else np.inf
        state.active = int(np.count_nonzero(state.alpha))
