"""What the joint multiclass duals share, with all of β as one dense matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class JointDual:
    """The blocks of Crammer-Singer and Weston-Watkins: from β to A(β), and the losses of scores."""

    labels: NDArray[np.int64]
    cost: Vector
    classes: int
    rule: str

    def coefficients(self, beta: Matrix) -> Matrix:
        """Return A(β)."""
        matrix = -beta
        np.put_along_axis(matrix, self.labels[:, None], beta.sum(axis=1)[:, None], axis=1)
        return matrix

    def beta_of(self, coefficients: Matrix) -> Matrix:
        """Return the β of a matrix A(β)."""
        beta = -coefficients
        np.put_along_axis(beta, self.labels[:, None], 0.0, axis=1)
        return beta

    def feasible(self, beta: Matrix) -> Matrix:
        """Return a feasible β: clipped, and rows that are too long scaled down."""
        beta = np.maximum(beta, 0.0)
        np.put_along_axis(beta, self.labels[:, None], 0.0, axis=1)
        if self.rule == "weston_watkins":
            return np.minimum(beta, self.cost[:, None], out=beta)
        sums = beta.sum(axis=1)
        over = sums > self.cost
        beta[over] *= (self.cost[over] / sums[over])[:, None]
        return beta

    def loss(self, scores: Matrix) -> float:
        """Return Σ c_i ℓ_i."""
        own = np.take_along_axis(scores, self.labels[:, None], axis=1)
        slack = 1.0 + scores - own
        np.put_along_axis(slack, self.labels[:, None], 0.0, axis=1)
        if self.rule == "weston_watkins":
            return float(self.cost @ np.maximum(slack, 0.0).sum(axis=1))
        return float(self.cost @ np.maximum(slack.max(axis=1), 0.0))
