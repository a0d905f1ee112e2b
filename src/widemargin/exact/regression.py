"""Regression within a tube in exact arithmetic: P of any weights, and a bound from any β."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.binary import DualBound, moved_by
from widemargin.exact.bounded import BoundsOfWeights, check_within, half_square
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import ExactRows, Scaled, dyadic, root_above
from widemargin.exact.losses import SquaredHinge


@dataclass(frozen=True, eq=False)
class ExactRegression:
    """min ½‖w‖² + Σ c_i max(0, |t_i − w·x_i − b| − ε), or squares of it, every number as it is.

    Attributes
    ----------
    rows : ExactRows
    target : Scaled
    cost : Scaled
    epsilon : float
    squared : bool
    free_intercept : bool
    scaling : float
        Value of the constant feature behind a penalised intercept; 0 if there is none.
    bounds : tuple of two ndarrays, or None
        Of the weights.
    """

    rows: ExactRows
    target: Scaled
    cost: Scaled
    epsilon: float
    squared: bool
    free_intercept: bool
    scaling: float
    bounds: BoundsOfWeights = None

    def primal(self, w: NDArray[Any], b: float) -> Bounds:
        """Return P; a penalised intercept is the weight b / scaling of the constant feature."""
        check_within(w, self.bounds)
        weights = Scaled.of(w)
        value = weights.squared_length() / 2
        if self.scaling:
            value += (Fraction(b) / Fraction(self.scaling)) ** 2 / 2
        scores = self.rows.scores(weights).plus(Scaled.of([b]))
        residual = self.target.plus(Scaled(-scores.values, scores.exponent))
        size = Scaled(np.abs(residual.values), residual.exponent)
        over = size.plus(Scaled.of([-self.epsilon]))
        slack = Scaled(np.maximum(over.values, 0), over.exponent)
        losses = slack.times(slack) if self.squared else slack
        return Bounds.exactly(value + losses.times(self.cost).total())

    def dual(self, beta: NDArray[Any], primal: Fraction) -> DualBound:
        """Return the best dual value that these dual variables prove.

        They are clipped to their ranges. Without a penalty on the intercept, Σ β_i = 0 is then made
        true by moving some of the heavier side towards zero; or the sum is priced: some best
        intercept is no further from the middle of the targets than half their range and the
        largest score.
        """
        within, in_range = self._clipped(Scaled.of(beta))
        total = int(within.values.sum())
        residual = abs(dyadic(total, within.exponent))
        if not self.free_intercept or total == 0:
            return DualBound(self._value(within, Fraction(0)), residual, in_range)
        sign = 1 if total > 0 else -1
        room = np.maximum(sign * within.values, 0)
        values = []
        order = np.argsort(-room.astype(float), kind="stable")
        moved = moved_by(within.values, order, -sign, room, abs(total))
        if moved is not None:
            values.append(self._value(Scaled(moved, within.exponent), Fraction(0)))
        low, high = min(self.target.values), max(self.target.values)
        middle = dyadic(int(low) + int(high), self.target.exponent) / 2
        reach = dyadic(int(high) - int(low), self.target.exponent) / 2
        reach += root_above(self.rows.largest_squared_norm() * 2 * primal)
        values.append(self._value(within, middle) - Bounds.exactly(reach * residual))
        return DualBound(max(values, key=lambda value: value.lower), residual, in_range)

    def _clipped(self, beta: Scaled) -> tuple[Scaled, bool]:
        exponent = min(beta.exponent, self.cost.exponent)
        values, cost = beta.at(exponent), self.cost.at(exponent)
        clipped = np.where(cost > 0, values, 0)
        if not self.squared:
            clipped = np.maximum(np.minimum(clipped, cost), -cost)
        return Scaled(clipped, exponent), bool((clipped == values).all())

    def _value(self, beta: Scaled, origin: Fraction) -> Bounds:
        """Return D(β), for targets relative to an origin."""
        penalty = half_square(self.rows.combine(beta), self.bounds)
        if self.scaling:
            penalty += (Fraction(self.scaling) * beta.total()) ** 2 / 2
        size = Scaled(np.abs(beta.values), beta.exponent)
        linear = self.target.times(beta).total() - origin * beta.total()
        linear -= Fraction(self.epsilon) * size.total() + penalty
        if not self.squared:
            return Bounds.exactly(linear)
        # Σ a − a²/(4c) is the dual term of the squared hinge.
        parabola = SquaredHinge().dual_total(size, self.cost)
        return parabola + Bounds.exactly(linear - size.total())
