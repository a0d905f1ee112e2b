"""What the joint multiclass duals share, with all of β as one dense matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.instruction_sets import core
from widemargin.problems.rounding import growth

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class JointDual:
    """The blocks of Crammer-Singer and Weston-Watkins: from β to A(β), and the losses of scores."""

    labels: NDArray[np.int64]
    cost: Vector
    classes: int
    rule: str

    @cached_property
    def core(self) -> core.FrankWolfeCore:
        """The compiled kernels on the labels and costs."""
        joint = self.rule == "crammer_singer"
        return core.FrankWolfeCore(self.labels, self.cost, self.classes, joint)

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
        np.minimum(beta, self.cost[:, None], out=beta)
        sums, share = beta.sum(axis=1), growth(self.classes + 6.0)
        # Exact sums, where there are several terms, are to be at most the cost.
        over = (sums * (1.0 + share) > self.cost) & (np.count_nonzero(beta, axis=1) > 1)
        beta[over] *= (self.cost[over] / sums[over] * (1.0 - 2.0 * share))[:, None]
        return beta

    def loss(self, scores: Matrix, reach: float | Vector = 0.0) -> float:
        """Return Σ c_i ℓ_i; with a reach, the most it can be if scores are off by as much."""
        own = np.take_along_axis(scores, self.labels[:, None], axis=1)
        slack = 1.0 + scores - own + reach
        np.put_along_axis(slack, self.labels[:, None], 0.0, axis=1)
        if self.rule == "weston_watkins":
            return float(self.cost @ np.maximum(slack, 0.0).sum(axis=1))
        return float(self.cost @ np.maximum(slack.max(axis=1), 0.0))
