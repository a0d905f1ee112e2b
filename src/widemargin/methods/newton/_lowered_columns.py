"""Sparse weights by way of lower costs, on a loss that is quadratic on pieces.

Where costs are large and examples few, steps from afar put most examples on the wrong piece, as
those of Newton's method do (see `widemargin.methods.newton.newton`). At ten times the costs at
which the first weight appears few columns are in work and steps are few. From one solution to that
at ten times the costs they stay so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.data.columns import LastColumns
from widemargin.methods.newton._column_state import ColumnState
from widemargin.methods.newton._full_costs import RAISE, RAISE_GAP, SORTED
from widemargin.problems.certificate import Point
from widemargin.problems.sparse_weights import SparseProblem

_MOST_STEPS = 20
"""At the same costs; from the solution at a tenth of them, ten are many."""


def lost_at_full_costs(state: ColumnState, before: float) -> bool:
    """Take note of a step that began at a relative gap; whether steps lead nowhere.

    Lower costs are tried once: they lead to where none are needed any more.
    """
    problem = state.problem
    if not state.may_lower or not isinstance(problem, SparseProblem):
        return False
    if problem.loss.curvature_level is None or state.expected_gap <= state.settings.tol:
        return False
    primal = state.total + state.penalised
    if not state.full.lost(primal, before, state.expected_gap):
        return False
    nothing = np.zeros(problem.rows.count)
    at_zero = problem.loss.total(problem.y, problem.cost, nothing, 0.0)
    return primal <= SORTED * at_zero and RAISE * problem.smallest_factor() < 1.0 / RAISE


def by_lowered_costs(state: ColumnState, method: Any) -> ColumnState:
    """Solve at lower costs, raised tenfold at a time; return where that has led.

    All of it is part of one step: who keeps the steps of a run gets the same answer.
    """
    state.may_lower = False
    share = RAISE * state.problem.smallest_factor()
    part = _at(state, method, share, None)
    while True:
        for _ in range(_MOST_STEPS):
            if part.finished or part.expected_gap <= RAISE_GAP:
                break
            method.advance(part)
        state.passes += part.passes
        share *= RAISE
        if share >= 1.0:
            return part
        part = _at(state, method, share, part.point)


def _at(state: ColumnState, method: Any, share: float, warm: Point | None) -> ColumnState:
    last = state.last  # but for what a path over C leaves for its next value
    own = LastColumns(last.places, last.rows, last.source, last.lent)
    problem = replace(state.problem.rescaled(share), last_columns=own)
    part: ColumnState = method.start(problem, warm, state.settings)
    part.sample = None  # what it would lead near to is near already
    part.sampled, part.may_lower = True, False
    return part
