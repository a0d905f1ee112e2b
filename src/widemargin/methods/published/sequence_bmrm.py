"""The bundle method for sequences (BMRM, appendix E; `qp`).

The tangent of the risk at w is a = −Σ c_i (f_i(y_i) − f_i(ŷ_i)), b = Σ c_i Δ_i(ŷ_i) with ŷ_i the
most violated labelings: one pass of dynamic programming. A convex combination of tangents is a dual
point that gives each sentence the same shares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State
from widemargin.methods.published._simplex_qp import solve_simplex_qp
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import Labelings, SequenceProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(eq=False)
class _Tangent:
    """A lower bound on the risk, offset − ⟨w, direction⟩, and the labelings it comes from."""

    direction: Matrix
    offset: float
    labels: NDArray[np.int32]


@dataclass(eq=False)
class SequenceBMRMState(State):
    """The best weights so far, and the model: its tangents, their shares and its minimiser."""

    problem: SequenceProblem
    w: Matrix
    best: Matrix
    best_primal: float = np.inf
    model: float = -np.inf
    bundle: list[_Tangent] = field(default_factory=list)
    shares: Vector = field(default_factory=lambda: np.zeros(0))
    gram: Matrix = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def point(self) -> Point:
        """The best weights of all steps, and the model's dual point."""
        labels = [tangent.labels for tangent in self.bundle]
        return Point(self.best, None, Labelings.mixture(labels, self.shares, self.problem.lengths))


class SequenceBMRM:
    """A tangent at w, then the minimiser of the model, by a quadratic program over the bundle."""

    name = "bmrm_qp"
    serves: ClassVar[type[SequenceProblem]] = SequenceProblem

    def refuses(self, problem: SequenceProblem) -> str | None:
        """Serve every sequence problem."""
        return None

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> SequenceBMRMState:
        """Start at w = 0 or at the warm weights, with an empty model."""
        w = np.zeros(problem.shape) if warm is None else np.array(warm.w)
        return SequenceBMRMState(problem, w, w, active=problem.count)

    def advance(self, state: SequenceBMRMState) -> None:
        """Take the tangent at w into the model, and minimise the model."""
        problem = state.problem
        labels, excess, _ = problem.best_labelings(state.w)
        primal = 0.5 * float(np.vdot(state.w, state.w)) + float(problem.cost @ excess)
        if primal < state.best_primal:
            state.best_primal, state.best = primal, state.w
        one = Labelings.mixture([labels], np.ones(1), problem.lengths)
        direction, offset = problem.combine(one)
        self._minimise(state, _Tangent(direction, offset, labels))
        state.passes += 2.0
        gap = state.best_primal - state.model
        state.expected_gap = max(gap, 0.0) / state.best_primal if state.best_primal > 0 else np.inf
        state.finished = gap <= 1e-14 * state.best_primal

    def _minimise(self, state: SequenceBMRMState, tangent: _Tangent) -> None:
        """Move to the minimiser of the model with one more tangent."""
        old = state.shares
        offsets = self._take(state, tangent)
        # A share for every tangent, also if the limit of time ends the quadratic program.
        start = state.shares = np.append(old, 1.0 if old.size == 0 else 0.0)
        shares = solve_simplex_qp(state.gram, offsets, start, state.problem.rows.checkpoint)
        self._settle(state, shares, offsets)

    @staticmethod
    def _take(state: SequenceBMRMState, tangent: _Tangent) -> Vector:
        """Add a tangent to the bundle and its row to the matrix of inner products."""
        size = len(state.bundle) + 1
        gram = np.empty((size, size))
        gram[:-1, :-1] = state.gram
        state.bundle.append(tangent)
        gram[-1] = [float(np.vdot(old.direction, tangent.direction)) for old in state.bundle]
        gram[:, -1] = gram[-1]
        state.gram = gram
        return np.array([old.offset for old in state.bundle])

    @staticmethod
    def _settle(state: SequenceBMRMState, shares: Vector, offsets: Vector) -> None:
        """Move to the weights that shares of the tangents stand for; forget those without one."""
        state.model = float(offsets @ shares) - 0.5 * float(shares @ state.gram @ shares)
        w = np.zeros_like(state.w)
        for share, old in zip(shares, state.bundle, strict=True):
            if share > 0.0:
                w += share * old.direction
        state.w = w
        kept = shares > 0.0
        state.bundle = [old for old, keep in zip(state.bundle, kept, strict=True) if keep]
        state.shares, state.gram = shares[kept], state.gram[np.ix_(kept, kept)]
