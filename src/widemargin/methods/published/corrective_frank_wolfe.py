"""Fully-corrective Frank-Wolfe on the joint multiclass duals (FW, theorem 2).

The corners that were found so far are kept. Each step adds the one that the gradient points to and
minimises the dual over the convex hull of all of them: a quadratic program with as many variables
as there are corners. Those whose share is zero are dropped again. A step costs one product with K,
as a plain one does; in the primal it is a bundle method for the multiclass hinge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, SupportsAll
from widemargin.methods.published._frank_wolfe_blocks import dense_start, refuses_intercept
from widemargin.methods.published._simplex_qp import solve_simplex_qp
from widemargin.methods.published.frank_wolfe import FrankWolfeState
from widemargin.problems.certificate import Point
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(eq=False)
class CorrectiveState(FrankWolfeState):
    """The corners in use, with their scores, shares and inner products ⟨S, K S'⟩."""

    atoms: list[tuple[Matrix, Matrix]] = field(default_factory=list)
    shares: Vector = field(default_factory=lambda: np.ones(1))
    gram: Matrix = field(default_factory=lambda: np.zeros((1, 1)))
    offsets: Vector = field(default_factory=lambda: np.zeros(1))
    """Σ_i S_{i,y_i} of each corner."""

    @classmethod
    def at(cls, problem: Any, beta: Matrix) -> CorrectiveState:
        """Begin with one corner: the point itself."""
        coefficients = problem.coefficients(beta)
        scores = problem.scores_of(coefficients)
        return cls(
            problem,
            coefficients,
            scores,
            np.empty_like(scores),
            atoms=[(coefficients, scores)],
            gram=np.array([[float(np.vdot(coefficients, scores))]]),
            offsets=np.array([float(beta.sum())]),
        )


class KernelCorrectiveFrankWolfe(SupportsAll):
    """Minimise over the hull of all corners seen: one product with K and a small program a step."""

    name = "corrective_frank_wolfe"
    serves: ClassVar[type[Any]] = KernelMulticlassProblem

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> CorrectiveState:
        """Start at A = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        return CorrectiveState.at(
            problem, problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        )

    def advance(self, state: CorrectiveState) -> None:
        """Add the best corner and minimise over the hull."""
        problem = state.problem
        # 1) the corner, and the gap that comes with it
        _, dual = state.look()
        if state.finished:
            return
        corner = state.corners.copy()
        image = problem.scores_of(corner)
        # 2) the small program, from the shares so far
        size = len(state.atoms) + 1
        gram = np.empty((size, size))
        gram[:-1, :-1] = state.gram
        gram[-1, :-1] = gram[:-1, -1] = [float(np.vdot(corner, old)) for _, old in state.atoms]
        gram[-1, -1] = float(np.vdot(corner, image))
        total = float(problem.beta_of(corner).sum())
        offsets = np.append(state.offsets, total)
        shares = solve_simplex_qp(gram, offsets, np.append(state.shares, 0.0))
        # 3) the new point; corners without a share go
        atoms = [*state.atoms, (corner, image)]
        kept = np.flatnonzero(shares > 0.0)
        value = float(offsets @ shares) - 0.5 * float(shares @ gram @ shares)
        state.atoms = [atoms[place] for place in kept]
        state.shares, state.offsets = shares[kept], offsets[kept]
        state.gram = gram[np.ix_(kept, kept)]
        state.coefficients = sum(
            share * atom for share, (atom, _) in zip(state.shares, state.atoms, strict=True)
        )
        state.scores = sum(
            share * scores for share, (_, scores) in zip(state.shares, state.atoms, strict=True)
        )
        state.passes += 1.0
        state.active = int(np.count_nonzero(state.coefficients.any(axis=1)))
        # What the program gains can fall below its own rounding.
        state.finished = value <= dual


class CorrectiveFrankWolfe(KernelCorrectiveFrankWolfe):
    """The same for linear problems, where K = X Xᵀ is never formed."""

    serves: ClassVar[type[Any]] = MulticlassProblem

    def refuses(self, problem: Any) -> str | None:
        """Support both rules without free intercepts."""
        return refuses_intercept(self.name, problem)

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> CorrectiveState:
        """Start at A = 0 or at the warm dual variables."""
        blocks, beta = dense_start(problem, warm)
        return CorrectiveState.at(blocks, beta)
