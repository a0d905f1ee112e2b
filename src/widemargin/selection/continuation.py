"""One problem at one C after the other, each run starting from the solutions before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.registry import choice_of
from widemargin.auto.search import reads_weights
from widemargin.data.along import Along, step_ahead
from widemargin.data.columns import LastColumns
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.sparse_weights import SparseProblem
from widemargin.run import Solution
from widemargin.selection.engines.base import Effort
from widemargin.selection.predicted_starts import Ahead, dual_start, sparse_start

Vector = NDArray[np.float64]


@dataclass(eq=False)
class Continuation:
    """A problem and its last solutions, from which the next run starts.

    A run starts at the weights of the one before, and at its dual variables times the growth of C,
    which are feasible there (WARM, §3), or further along the last two solutions.

    Attributes
    ----------
    unit : BinaryProblem or MulticlassProblem
        At C = 1.
    solver : str
    ahead : Ahead, optional
        Moves the weights on as well; see `moving_on`.
    C : float
    solution : Solution, optional
        The latest, found at C.
    before : tuple of float and Solution, optional
        The C before, and its solution.
    begin : tuple of C, weights and intercepts, optional
        Found earlier, to begin from.
    method : str
        The one that ended the latest run.
    """

    unit: Any
    solver: str = "auto"
    ahead: Ahead | None = None
    C: float = 0.0
    solution: Solution | None = None
    before: tuple[float, Solution] | None = None
    begin: tuple[float, Vector, Any] | None = None
    method: str = ""

    @classmethod
    def moving_on(cls, unit: Any, solver: str) -> Continuation:
        """Return one that moves the weights on where the loss is smooth: its rows keep scores."""
        if isinstance(unit, BinaryProblem) and unit.loss.smooth:
            return cls(replace(unit, rows=unit.rows.remembering()), solver, Ahead())
        if isinstance(unit, SparseProblem):
            return cls(replace(unit, last_columns=LastColumns(along=Along())), solver)
        return cls(unit, solver)

    def solve(
        self, C: float, effort: Effort, start: Point | None = None, place: int = 0
    ) -> Solution:
        """Solve at C: from a point feasible there, else from the solutions before."""
        problem = self._at(C)
        warm = self._start(problem, C) if start is None else start
        choice = choice_of(self.solver, type(self.unit))
        if warm is not None:
            choice.follow(self.method)
        # Weights that a larger C changes are hardly the answer.
        grows = self.solution is not None and C > self.C
        judged = not (isinstance(self.unit, SparseProblem) and grows)
        self.C = C
        settings = {"seed": effort.seed + place, "judge_start": judged}
        self.solution = effort.run(problem, choice, warm, **settings)
        if self.solution.iterations > 0:
            self.method = self.solution.trace[-1].method
        return self.solution

    @property
    def starting(self) -> float:
        """Passes that finding the latest start took."""
        return 0.0 if self.ahead is None or self.before is None else self.ahead.passes

    def restart(self, C: float, w: Vector, b: Any) -> None:
        """Go on from weights that were found at C."""
        self.solution, self.before, self.begin = None, None, (C, w, b)

    def step_back(self) -> None:
        """Forget the latest C."""
        if self.before is not None:
            self.C, self.solution = self.before

    def _at(self, C: float) -> Any:
        return self.unit.rescaled(C)

    def _start(self, problem: Any, C: float) -> Point | None:
        if self.solution is None:
            if self.begin is None:
                return None
            earlier, w, b = self.begin
            point = self._at(earlier).point_at(w, b)
            return Point(point.w, point.b, C / earlier * point.alpha)
        point, last = self.solution.point, self.before
        earlier_duals = None if last is None else (last[0], last[1].alpha)
        alpha = dual_start(problem, C, (self.C, point.alpha), earlier_duals)
        self.before = (self.C, self.solution)
        if last is not None and isinstance(problem, SparseProblem):
            return Point(self._sparse_start(problem, C, point.w, last), point.b, alpha)
        # From one solution only the weights can move on.
        if self.ahead is not None and (last is not None or reads_weights(self.method)):
            return self.ahead.of(problem, (self.C, point), C, alpha)
        return Point(point.w, point.b, alpha)

    def _sparse_start(
        self, problem: SparseProblem, C: float, w: Vector, last: tuple[float, Solution]
    ) -> Vector:
        """Return weights further along the last two solutions, and leave their scores if known."""
        along, before = problem.last_columns.along, last[1].w
        length = step_ahead(C, self.C, last[0])
        ahead = None if along is None else along.mixed(length, w, before)
        return sparse_start(length, w, before) if ahead is None else ahead
