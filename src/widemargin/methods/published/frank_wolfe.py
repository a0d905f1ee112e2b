"""Frank-Wolfe on the dual of Crammer-Singer and Weston-Watkins, all rows at once (FW, Algorithm 2).

With q the row K A of an example, the corner of its block is found in one look: Crammer-Singer puts
the whole cost on the class with the largest q, Weston-Watkins on every class with a larger q than
the own one's. The step along corner − A is exact. The Frank-Wolfe gap ⟨A − corner, ∇f⟩ is the
duality gap, so the method knows how far it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.published._frank_wolfe_blocks import dense_start, refuses_intercept
from widemargin.problems.certificate import Point
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]


@dataclass(eq=False)
class FrankWolfeState(State):
    """The matrix A = A(β), and its scores K A."""

    problem: Any
    coefficients: Matrix
    scores: Matrix
    corners: Matrix

    @property
    def point(self) -> Point:
        """The current point."""
        return self.problem.point(self.coefficients, self.problem.beta_of(self.coefficients))

    def look(self) -> tuple[float, float]:
        """Find the best corner of all blocks; return the gap that comes with it, and the dual."""
        beta = self.problem.beta_of(self.coefficients)
        gap = self.problem.core.corners(self.scores, beta, self.corners)
        dual = float(beta.sum()) - 0.5 * float(np.vdot(self.coefficients, self.scores))
        self.expected_gap = gap / (dual + gap) if dual + gap > 0.0 else np.inf
        self.finished = gap <= 0.0
        return gap, dual


class KernelFrankWolfe(SupportsAll):
    """Matrix-wise Frank-Wolfe with exact line search: one product with K a step."""

    name = "frank_wolfe"
    serves: ClassVar[type[Any]] = KernelMulticlassProblem

    def start(
        self, problem: KernelMulticlassProblem, warm: Point | None, settings: Settings
    ) -> FrankWolfeState:
        """Start at A = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        beta = problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        coefficients = problem.coefficients(beta)
        scores = problem.scores_of(coefficients)
        return FrankWolfeState(problem, coefficients, scores, np.empty_like(scores))

    def advance(self, state: FrankWolfeState) -> None:
        """Move towards the best corner of all blocks."""
        problem = state.problem
        # 1) the corner, and the gap that comes with it
        gap, _ = state.look()
        if state.finished:
            return
        # 2) the exact step
        direction = state.corners - state.coefficients
        image = problem.scores_of(state.corners) - state.scores
        curvature = float(np.vdot(direction, image))
        step = min(1.0, gap / curvature) if curvature > 0.0 else 1.0
        state.coefficients = state.coefficients + step * direction
        state.scores = state.scores + step * image
        state.passes += 1.0
        state.active = int(np.count_nonzero(state.corners.any(axis=1)))


class FrankWolfe(KernelFrankWolfe):
    """The same for linear problems, where K = X Xᵀ is never formed."""

    serves: ClassVar[type[Any]] = MulticlassProblem

    def refuses(self, problem: Any) -> str | None:
        """Support both rules without free intercepts."""
        return refuses_intercept(self.name, problem)

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> FrankWolfeState:
        """Start at A = 0 or at the warm dual variables."""
        blocks, beta = dense_start(problem, warm)
        coefficients = blocks.coefficients(beta)
        scores = blocks.scores_of(coefficients)
        return FrankWolfeState(blocks, coefficients, scores, np.empty_like(scores))
