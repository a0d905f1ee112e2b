"""One problem of a cross-validation, at one C after the other: a class against the rest, or all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.methods.auto_binary import AutoBinary
from widemargin.methods.choose import choice_of
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.compressed_duals import CompressedDuals, residual_of
from widemargin.problems.multiclass import MulticlassProblem, both_classes, one_for_two
from widemargin.run import Solution, run
from widemargin.selection.folds import Effort, minority
from widemargin.selection.starts import dual_start

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(eq=False)
class FoldTask(ABC):
    """A problem of one fold; what it knows of its last solutions is where the next one starts.

    Attributes
    ----------
    fold : int
    place : int
        Place of its certificate among those of the fold.
    unit : BinaryProblem or MulticlassProblem
        At C = 1.
    C : float
        Where the solution was found, and the one before it, if there are any.
    begin : tuple of float and ndarray, optional
        A C and weights found there earlier, to begin from.
    """

    fold: int
    place: int
    unit: Any
    C: float = 0.0
    solution: Solution | None = None
    before: tuple[float, Solution] | None = None
    begin: tuple[float, Matrix, Vector] | None = None
    method: str = ""

    @property
    @abstractmethod
    def lines(self) -> slice:
        """Which lines of the fold's weights it finds."""

    @abstractmethod
    def weights(self) -> tuple[Matrix, Vector]:
        """Return the present weights and intercepts, a line each as ``coef_`` has them."""

    @abstractmethod
    def held_out(self, rows: Rows) -> Matrix:
        """Return the scores of rows, a column for each line."""

    @abstractmethod
    def ratio(self, C: float) -> tuple[float, float]:
        """Return ‖∇f(w; C)‖ / ‖∇f(0; C)‖ at the present weights, and the rarest class's share."""

    @abstractmethod
    def _point(self, C: float, w: Matrix, b: Vector) -> Point:
        """Return the point at C that has these weights, as `weights` gives them."""

    @abstractmethod
    def _duals(self, C: float) -> Any:
        """Return dual variables to start from at C, from the last solutions."""

    def solve(self, C: float, solver: str, effort: Effort, start: Point | None) -> Solution:
        """Solve at C: from a point feasible there, else from the solution before."""
        warm, problem = start, self.unit.rescaled(C)
        if start is None and self.solution is not None:
            point = self.solution.point
            warm = Point(point.w, point.b, self._duals(C))
            self.before = (self.C, self.solution)
        elif start is None and self.begin is not None:
            earlier = self.begin[0]
            point = self._point(*self.begin)
            warm = Point(point.w, point.b, C / earlier * point.alpha)
        choice = choice_of(solver, type(self.unit))
        if warm is not None and isinstance(choice, AutoBinary):
            choice.follow(self.method)
        self.C = C
        self.solution = run(
            problem,
            choice,
            tol=effort.tol,
            max_iter=effort.max_iter,
            time_limit=effort.seconds_left,
            callbacks=effort.callbacks,
            warm=warm,
            seed=effort.seed + self.place,
            interrupt=effort.interrupt,
        )
        if self.solution.iterations > 0:
            self.method = self.solution.trace[-1].method
        return self.solution

    def restart(self, C: float, w: Matrix, b: Vector) -> None:
        """Go on from weights that were found at C."""
        self.solution, self.before, self.begin = None, None, (C, w.copy(), b.copy())

    def step_back(self) -> None:
        """Forget the latest C."""
        if self.before is not None:
            self.C, self.solution = self.before


@dataclass(eq=False)
class OneClass(FoldTask):
    """A class against the rest."""

    unit: BinaryProblem

    @property
    def lines(self) -> slice:
        """The class's own."""
        return slice(self.place, self.place + 1)

    def weights(self) -> tuple[Matrix, Vector]:
        """Return the present weights and intercept."""
        assert self.solution is not None
        return self.solution.w[None], np.array([self.solution.b])

    def held_out(self, rows: Rows) -> Matrix:
        """Return the scores of rows."""
        assert self.solution is not None
        return (rows.scores(self.solution.w) + self.solution.b)[:, None]

    def ratio(self, C: float) -> tuple[float, float]:
        """Return the (sub)gradient at C relative to that at zero, and the smaller class's share."""
        assert self.solution is not None
        problem = self.unit.rescaled(C)
        now = problem.point_at(self.solution.w, self.solution.b)
        zero = problem.point_at(np.zeros(problem.rows.weights), 0.0)
        norms = []
        for point in (now, zero):
            gradient = point.w - problem.rows.combine(point.alpha, problem.y)
            slope = float(point.alpha @ problem.y) if problem.free_intercept else 0.0
            norms.append(np.sqrt(float(gradient @ gradient) + slope**2))
        share = float(minority((problem.y * problem.cost)[:, None])[0])
        return norms[0] / norms[1] if norms[1] > 0.0 else 0.0, share

    def _point(self, C: float, w: Matrix, b: Vector) -> Point:
        return self.unit.rescaled(C).point_at(w[0], float(b[0]))

    def _duals(self, C: float) -> Vector:
        assert self.solution is not None
        last = None if self.before is None else (self.before[0], self.before[1].alpha)
        return dual_start(self.unit.rescaled(C), C, (self.C, self.solution.alpha), last)


@dataclass(eq=False)
class AllClasses(FoldTask):
    """All classes at once, by the rule of Weston and Watkins or of Crammer and Singer."""

    unit: MulticlassProblem

    @property
    def lines(self) -> slice:
        """All of them."""
        return slice(None)

    def weights(self) -> tuple[Matrix, Vector]:
        """Return the present weights and intercepts; one line for two classes."""
        assert self.solution is not None
        return one_for_two(self.solution.w), one_for_two(self.solution.b)

    def held_out(self, rows: Rows) -> Matrix:
        """Return the scores of rows."""
        w, b = self.weights()
        return np.stack([rows.scores(np.ascontiguousarray(line)) for line in w], axis=1) + b

    def ratio(self, C: float) -> tuple[float, float]:
        """Return a subgradient at C relative to one at zero, and the rarest class's share."""
        assert self.solution is not None
        problem, k = self.unit.rescaled(C), self.unit.classes
        w, b = self.solution.w, self.solution.b
        beta = CompressedDuals.of(problem.point_at(w, b).alpha)
        gradient = w - problem.losses_and_combination(w, b, beta)[1][:, :k].T
        descent, slope = problem.descent_at_zero()
        now, zero = float((gradient**2).sum()), float((descent**2).sum())
        if problem.free_intercept:
            now += float((residual_of(beta, problem.label, k) ** 2).sum())
            zero += float((slope**2).sum())
        counts = np.bincount(problem.label[problem.cost > 0.0], minlength=k)
        share = max(int(counts.min()), 1) / max(int(counts.sum()), 1)
        return float(np.sqrt(now / zero)) if zero > 0.0 else 0.0, share

    def _point(self, C: float, w: Matrix, b: Vector) -> Point:
        return self.unit.rescaled(C).point_at(both_classes(w), both_classes(b))

    def _duals(self, C: float) -> Any:
        assert self.solution is not None
        return C / self.C * self.solution.alpha
