"""The descent of one kernel problem by working sets, as LIBSVM, SVMlight and ThunderSVM have it.

A working set is made of the examples that violate optimality most and of all that are free between
their bounds. Two dual variables at a time, one without an intercept, descend inside it; then the
change is carried to all slacks y − K u. Rows of K are computed in blocks and kept in single
precision; they steer the descent and never reach a certificate. Where the certificate does not
confirm what they promise, the slacks are computed anew in double precision and descent goes on from
there, as iterative refinement does; if that is not enough, with rows in double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import State
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem

Vector = NDArray[np.float64]

_MARGIN = 0.9
"""Share of the tolerance that is aimed at: rounding in the estimate must not cost a certificate."""
_ALL_DIGITS = 1e-14
"""A relative gap that double precision does not reach."""
_INSIDE = 0.1
"""Share of the violation that descent inside a working set leaves."""


@dataclass(eq=False)
class KernelDualCDState(State):
    """A compiled descent, and how far its estimates have been trusted."""

    problem: KernelProblem
    descent: Any
    target: float
    exact: bool
    refreshed: int = 0

    @property
    def u(self) -> Vector:
        """The dual variables times the labels."""
        u = np.empty(self.problem.gram.count)
        self.descent.values(u)
        return u

    @property
    def point(self) -> Point:
        """The current point."""
        u = self.u
        return Point(u, float(self.descent.intercept), self.problem.y * u)


def refusal(problem: KernelProblem) -> str | None:
    """Return why a loss is not supported: its dual must be a parabola, as that of both hinges."""
    if problem.loss.dual_quadratic is None:
        return (
            "solver 'dual_cd' supports kernel problems with the losses 'hinge', "
            f"'squared_hinge', not '{problem.loss.name}', which is supported without a kernel"
        )
    return None


def begin(problem: KernelProblem, warm: Point | None, tol: float) -> KernelDualCDState:
    """Start at α = 0 or at the warm dual variables."""
    # The smallest problems get all their digits, which cost nothing there: weights then equal
    # repeated rows far beyond the tolerance.
    tiny = problem.gram.count**2 <= MACHINE.tiny_problem
    exact = tiny or not problem.gram.fits_single_precision
    target = min(_MARGIN * tol, _ALL_DIGITS) if tiny else _MARGIN * tol
    state = KernelDualCDState(problem, _descent_of(problem, exact), target, exact)
    if warm is not None:
        u, scores = problem.image(problem.feasible(np.asarray(warm.alpha, dtype=np.float64)))
        state.descent.place(u, scores)
    return state


def go_on(state: KernelDualCDState) -> None:
    """Take working sets until the gap is estimated to be closed, or for one compiled call."""
    if state.expected_gap <= state.target:
        # The certificate has not confirmed it.
        _refresh(state)
    gap, primal, work, stuck = _call(state)
    count = state.problem.gram.count
    state.passes += work / max(1, count * count)
    state.problem.gram.checkpoint()
    state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else np.inf
    if stuck and state.expected_gap > state.target:
        state.finished = state.exact and state.refreshed > 0
        _refresh(state)


def _refresh(state: KernelDualCDState) -> None:
    """Compute the slacks from α again; the second time, go over to double precision."""
    problem = state.problem
    u = state.u
    if state.refreshed > 0 and not state.exact:
        state.exact = True
        state.descent = _descent_of(problem, True)
    state.refreshed += 1
    state.target *= 0.5 if state.expected_gap <= state.target else 1.0
    state.descent.place(u, problem.image(problem.y * u)[1])


def _descent_of(problem: KernelProblem, exact: bool) -> Any:
    """Return a compiled descent at α = 0."""
    cost = problem.cost
    shift = np.zeros_like(cost)
    upper = problem.loss.upper(cost)
    if problem.loss.dual_quadratic:
        np.divide(problem.loss.dual_quadratic, cost, out=shift, where=cost > 0.0)
    if upper is None:
        upper = np.where(cost > 0.0, np.inf, 0.0)
    kind = core.ExactKernelDescent if exact else core.KernelDescent
    count = problem.gram.count
    item = 8.0 if exact else 4.0
    side = _members(count, problem.gram.memory / item)
    fresh = max(MACHINE.working_set // 4, min(MACHINE.working_set, count // 32))
    # The matrix of a working set comes out of the same memory.
    room = max(problem.gram.memory - item * side * side, 0.0)
    return kind(
        problem.y,
        upper,
        shift,
        problem.gram.diagonal,
        problem.free_intercept,
        (fresh, side, _INSIDE),
        room,
    )


def _members(count: int, numbers: float) -> int:
    """Return how many examples a working set may have: rows of K and their own matrix must fit.

    The largest m with m (n + m) ≤ numbers; two variables must move in any case.
    """
    numbers = min(numbers, 1e18)
    fits = 2.0 * numbers / (count + math.sqrt(count * count + 4.0 * numbers))
    return max(2, min(count, MACHINE.largest_working_set, int(fits)))


def _call(state: KernelDualCDState) -> tuple[float, float, float, bool]:
    """Advance by one compiled call; rows that only Python can compute are handed in."""
    gram = state.problem.gram
    source = gram.source
    if source is None:
        wanted = np.array(state.descent.choose(), dtype=np.int64)
        result: tuple[float, float, float, bool] = state.descent.descend(gram.rows(wanted))
    else:
        result = state.descent.advance(source, gram.bounds, state.target, MACHINE.kernel_work)
    return result
