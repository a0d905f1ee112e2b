"""Pragam for sequences: the excessive gap technique with projections onto the marginals of chains.

BMRM paper, Algorithm 1 with the projections (23) and (25) of appendix E. The dual variables are
tables of marginals; both projections of a step are `project_chain`, sentence by sentence. L bounds
the curvature of the dual and is adapted as in `pragam`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State
from widemargin.methods.published._chain_tables import ChainTables, Tables
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import SequenceProblem

Matrix = NDArray[np.float64]


@dataclass(eq=False)
class SequencePragamState(State):
    """The pair (w_k, tables), the weights that the tables stand for, and the smoothing μ_k."""

    problem: SequenceProblem
    layout: ChainTables
    w: Matrix
    tables: Tables
    image: Matrix
    linear: float
    mu: float
    lipschitz: float

    @property
    def point(self) -> Point:
        """The current pair, the tables as labelings."""
        return Point(self.w, None, self.layout.labelings(self.tables))


class SequencePragam:
    """Two projections a step; the gap falls like 1/k²."""

    name = "pragam"
    serves: ClassVar[type[SequenceProblem]] = SequenceProblem

    def refuses(self, problem: SequenceProblem) -> str | None:
        """Serve every sequence problem."""
        return None

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> SequencePragamState:
        """Start by a projected gradient step from the right labelings or the warm ones."""
        layout = ChainTables.of(problem)
        point = problem.cold_point() if warm is None else warm
        before = layout.from_labelings(point.alpha.feasible())
        w, _ = layout.combine(before)
        scores = layout.scores(w)
        # A row moves a label's weights by its own length, and the weights of two transitions.
        largest = float(problem.rows.norms.max(initial=0.0)) + 2.0
        lipschitz = float(problem.cost.max()) ** 2 * largest
        while True:
            tables = layout.project(before + scores / lipschitz)
            image, linear = layout.combine(tables)
            if _curves_less(image - w, tables - before, lipschitz):
                break
            lipschitz *= 2.0
        state = SequencePragamState(
            problem, layout, w, tables, image, linear, 2.0 * lipschitz, lipschitz
        )
        self._judge(state)
        return state

    def advance(self, state: SequencePragamState) -> None:
        """Take one step of the excessive gap technique."""
        layout = state.layout
        # 1) the maximiser of the smoothed dual at w
        smoothed = layout.project(layout.scores(state.w) / state.mu)
        smoothed_image, _ = layout.combine(smoothed)
        lipschitz = 0.9 * state.lipschitz
        while True:
            # 2) β between the tables and the maximiser; τ²/(1−τ) = μ/L
            ratio = state.mu / lipschitz
            tau = 0.5 * (np.sqrt(ratio * ratio + 4.0 * ratio) - ratio)
            beta = (1.0 - tau) * state.tables + tau * smoothed
            image = (1.0 - tau) * state.image + tau * smoothed_image
            # 3) a projected gradient step
            tables = layout.project(beta + layout.scores(image) / lipschitz)
            new_image, linear = layout.combine(tables)
            state.passes += 2.0
            if _curves_less(new_image - image, tables - beta, lipschitz):
                break
            lipschitz *= 2.0
        # 4) w between w_k and w(β)
        state.w = (1.0 - tau) * state.w + tau * image
        state.tables, state.image, state.linear = tables, new_image, linear
        state.mu *= 1.0 - tau
        state.lipschitz = lipschitz
        state.passes += 2.0
        self._judge(state)

    @staticmethod
    def _judge(state: SequencePragamState) -> None:
        problem = state.problem
        _, excess, _ = problem.best_labelings(state.w)
        primal = 0.5 * float(np.vdot(state.w, state.w)) + float(problem.cost @ excess)
        gap = primal - (state.linear - 0.5 * float(np.vdot(state.image, state.image)))
        state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else np.inf
        state.active = problem.count
        state.finished = gap <= 1e-15 * primal


def _curves_less(image: Matrix, step: Tables, lipschitz: float) -> bool:
    """Whether ‖w(step)‖² ≤ L ‖step‖²: L was large enough for this step."""
    return not float(np.vdot(image, image)) > lipschitz * float(np.vdot(step, step)) * (1.0 + 1e-12)
