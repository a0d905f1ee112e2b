"""A tube as two hinges per row, on rows that are read once for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.work import Meter, Size
from widemargin.problems.certificate import Point
from widemargin.problems.regression import RegressionProblem

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Every row twice, without doing anything twice that its products do."""

    problem: RegressionProblem

    @property
    def count(self) -> int:
        """Twice the number of rows."""
        return 2 * self.problem.rows.count

    @property
    def weights(self) -> int:
        """Length of a weight vector."""
        return self.problem.rows.weights

    @property
    def size(self) -> Size:
        """Counts of the rows as they are stored."""
        return self.problem.rows.size

    def scores(self, w: Vector) -> Vector:
        """Return x_i · w for every row, twice."""
        return np.tile(self.problem.rows.scores(w), 2)

    def combine(self, coefficients: Vector, signs: Vector | None = None) -> Vector:
        """Return Σ coefficients_i x_i, each times its sign if signs are given."""
        signed = coefficients if signs is None else coefficients * signs
        return self.problem.rows.combine(_halves(signed).sum(axis=0))

    def gram(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return Σ h_i x_i x_iᵀ, with a last row and column for the constant 1 if asked for."""
        return self.problem.rows.gram(_halves(curvature).sum(axis=0), constant)


@dataclass(frozen=True, eq=False)
class HingePair:
    """Σ c_i [max(0, t_i − ε − s_i) + max(0, s_i − t_i − ε)]: what an interior point needs of it."""

    problem: RegressionProblem

    @property
    def rows(self) -> PairedRows:
        """The rows, each for two hinges."""
        return PairedRows(self.problem)

    @cached_property
    def y(self) -> Vector:
        """The side of the tube that each hinge is on."""
        ones = np.ones(self.problem.rows.count)
        return np.concatenate([ones, -ones])

    @cached_property
    def cost(self) -> Vector:
        """The cost of each row, twice."""
        return np.tile(self.problem.cost, 2)

    @cached_property
    def level(self) -> Vector:
        """The margins from which there is no loss: t − ε, and −t − ε."""
        loss = self.problem.loss
        return np.concatenate([loss.target - loss.epsilon, -loss.target - loss.epsilon])

    @property
    def loss(self) -> Any:
        """The loss, for its unit."""
        return self.problem.loss

    @property
    def free_intercept(self) -> bool:
        """Whether an unpenalised b is part of the problem."""
        return self.problem.free_intercept

    @property
    def meter(self) -> Meter:
        """Counts the work done on the rows."""
        return self.problem.meter

    def cold_point(self) -> Point:
        """Return the origin of the regression problem."""
        return self.problem.cold_point()

    def primal(self, w: Vector, b: float, scores: Vector) -> float:
        """Return P for weights whose scores are known."""
        return self.problem.primal(w, b, _halves(scores)[0])

    def residual(self, alpha: Vector) -> float:
        """Return Σ β_i, which a free intercept wants to be zero."""
        return float(alpha @ self.y)

    def relative(self, gap: float, primal: float) -> float:
        """Return a gap as a share of P."""
        return self.problem.relative(gap, primal)


def _halves(values: Vector) -> Vector:
    return values.reshape(2, -1)


def joined(alpha: Vector) -> Vector:
    """Return β from the dual variables of the two hinges."""
    above, below = _halves(alpha)
    return np.asarray(above - below)
