"""Interior point for regression within a tube: that of the hinge, with two hinges per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings, State
from widemargin.methods.interior._hinge_pair import HingePair, joined
from widemargin.methods.interior._hinge_path import InteriorPointState, advance, begin
from widemargin.problems.certificate import Point
from widemargin.problems.regression import RegressionProblem


@dataclass(eq=False)
class TubeInteriorState(State):
    """The state of the two hinges; `kept` are the rows that have a cost, None if all have."""

    inner: InteriorPointState
    kept: NDArray[np.int64] | None
    count: int

    @property
    def point(self) -> Point:
        """The current point, with zeros for the examples that were left out."""
        inner = self.inner
        beta = joined(inner.alpha)
        if self.kept is not None:
            all_rows = np.zeros(self.count)
            all_rows[self.kept] = beta
            beta = all_rows
        return Point(inner.w, inner.b, beta)


class TubeInteriorPoint:
    """Follow the central path; few steps, whatever C and the data."""

    name = "interior_point"
    serves: ClassVar[type[RegressionProblem]] = RegressionProblem

    def refuses(self, problem: RegressionProblem) -> str | None:
        """Support the loss that is not squared while the matrix in the weights can be formed."""
        if not problem.loss.linear_dual:
            return (
                "solver 'interior_point' supports the loss 'epsilon_insensitive', not "
                f"'{problem.loss.name}'; the nearest solver that supports it is 'newton'"
            )
        if problem.rows.weights > MACHINE.largest_factorised:
            return (
                f"solver 'interior_point' forms a matrix in the weights and supports at most "
                f"{MACHINE.largest_factorised} of them, not {problem.rows.weights}; "
                "the nearest solver that supports this problem is 'dual_cd'"
            )
        return None

    def start(
        self, problem: RegressionProblem, warm: Point | None, settings: Settings
    ) -> TubeInteriorState:
        """Start on the central path at w = 0, or at warm weights if they are better."""
        count, kept = problem.rows.count, None
        if not (problem.cost > 0.0).all():
            kept = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
            problem = problem.subproblem(kept)
        inner = begin(HingePair(problem), warm)
        return TubeInteriorState(inner, kept, count)

    def advance(self, state: TubeInteriorState) -> None:
        """Take one predictor-corrector step."""
        inner = state.inner
        advance(inner)
        state.expected_gap, state.active = inner.expected_gap, inner.active // 2
        state.passes, state.finished = inner.passes, inner.finished
