"""The matrix of a loss that is quadratic on pieces, kept up to date as examples change theirs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.data.block_work import ALONE
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass
class CurvedRows:
    """Σ c_i x_i x_iᵀ over the examples that have curvature, kept from one step to the next.

    Near the solution hardly any example comes or goes, and the matrix costs next to nothing.
    """

    problem: BinaryProblem
    members: NDArray[np.bool_]
    before: CurvedRows | None
    came: NDArray[np.int64]
    went: NDArray[np.int64]
    total: Matrix | None = None

    @classmethod
    def following(
        cls, before: CurvedRows | None, problem: BinaryProblem, curvature: Vector
    ) -> CurvedRows:
        """Compare with the step before, if that was on the same examples."""
        if before is not None and before.problem.rows is not problem.rows:
            before = None
        members = np.empty(curvature.size, dtype=bool)
        came, went = (problem.rows.threads or ALONE).positive_members(
            curvature, members, None if before is None else before.members
        )
        return cls(problem, members, before, came, went)

    @property
    def share(self) -> float:
        """The changes, as a share of what the whole sum would cost."""
        if self.before is None:
            return np.inf
        return (self.came.size + self.went.size) / max(1, int(np.count_nonzero(self.members)))

    def matrix(self, curvature: Vector, level: float) -> Matrix:
        """Return the sum: the one before and its changes, or all anew if that is less work."""
        rows, free = self.problem.rows, self.problem.free_intercept
        if self.before is None or self.before.total is None or self.share >= 1.0:
            total = rows.gram(curvature, free)
            rows.scaled(total, 1.0 / level, out=total)
        else:
            total = self.before.total
            if self.before.problem is not self.problem:  # all costs were raised alike
                raised = self.problem.cost.sum() / self.before.problem.cost.sum()
                rows.scaled(total, raised, out=total)
            for changed, sign in ((self.came, 1.0), (self.went, -1.0)):
                if changed.size:
                    part = rows.glance(changed).gram(self.problem.cost[changed], free)
                    rows.add_scaled(total, part, sign)
        self.total, self.before = total, None
        return total
