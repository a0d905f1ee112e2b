"""A linear multiclass problem as the Frank-Wolfe methods see it: dense A, β and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.rows import no_checkpoint
from widemargin.problems.certificate import Point
from widemargin.problems.joint_dual import JointDual
from widemargin.problems.multiclass import MulticlassProblem

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearBlocks(JointDual):
    """K = X Xᵀ, never formed: K A is X (Xᵀ A)."""

    problem: MulticlassProblem
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, problem: MulticlassProblem) -> LinearBlocks:
        """View a problem."""
        return cls(problem, problem.label.astype(np.int64))

    @property
    def cost(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The costs c_i."""
        return self.problem.cost

    @property
    def classes(self) -> int:  # type: ignore[override]
        """Number of classes k."""
        return self.problem.classes

    @property
    def rule(self) -> str:  # type: ignore[override]
        """Crammer-Singer or Weston-Watkins."""
        return self.problem.rule

    def weights_of(self, coefficients: Matrix, rows: Any = None) -> Matrix:
        """Return W = Aᵀ X, one row per class."""
        rows = self.problem.rows if rows is None else rows
        columns = np.ascontiguousarray(coefficients.T)
        return np.stack([rows.combine(column) for column in columns])

    def scores_of(self, coefficients: Matrix) -> Matrix:
        """Return X Xᵀ A."""
        return self.scores_at(self.weights_of(coefficients))

    def scores_at(self, w: Matrix) -> Matrix:
        """Return X Wᵀ."""
        rows = self.problem.rows
        return np.stack([rows.scores(np.ascontiguousarray(one)) for one in w], axis=1)

    def point(self, coefficients: Matrix, beta: Matrix) -> Point:
        """Return the point of a matrix A and dual variables; it meets no checkpoint."""
        rows = replace(self.problem.rows, checkpoint=no_checkpoint)
        w = self.weights_of(coefficients, rows)
        return Point(w, np.zeros(self.classes), sp.csr_array(beta))


def dense_start(problem: MulticlassProblem, warm: Point | None) -> tuple[LinearBlocks, Matrix]:
    """Return the view of a problem and a feasible β to start from."""
    blocks = LinearBlocks.of(problem)
    if warm is None:
        return blocks, np.zeros((problem.rows.count, problem.classes))
    alpha = warm.alpha.toarray() if sp.issparse(warm.alpha) else np.asarray(warm.alpha)
    return blocks, blocks.feasible(np.array(alpha, dtype=np.float64))


def refuses_intercept(name: str, problem: MulticlassProblem) -> str | None:
    """Return why a Frank-Wolfe method does not support a problem, or None."""
    if problem.free_intercept:
        return (
            f"solver '{name}' has no free intercepts; use fit_intercept='penalised' or False, or "
            "the solver 'block_dual_cd'"
        )
    return None
