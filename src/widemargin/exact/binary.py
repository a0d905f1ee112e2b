"""The binary problem in exact arithmetic: P of any weights, and a proved bound from any α."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.exact.bounded import BoundsOfWeights, check_within, half_square
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import ExactRows, Integers, Scaled, dyadic, root_above
from widemargin.exact.losses import ExactLoss


class DualBound(NamedTuple):
    """A dual value, and what had to be mended before it was one."""

    value: Bounds
    residual: Fraction
    in_range: bool


@dataclass(frozen=True, eq=False)
class ExactBinary:
    """min ½‖w‖² + Σ c_i ℓ(y_i (w·x_i + b)), every number taken as the rational that it is.

    Attributes
    ----------
    rows : ExactRows
    y : ndarray of object, shape (n,)
        Labels, −1 or +1.
    cost : Scaled
    loss : ExactLoss
    free_intercept : bool
    scaling : float
        Value of the constant feature behind a penalised intercept; 0 if there is none.
    bounds : tuple of two ndarrays, or None
        Of the weights.
    """

    rows: ExactRows
    y: Integers
    cost: Scaled
    loss: ExactLoss
    free_intercept: bool
    scaling: float
    bounds: BoundsOfWeights = None

    @classmethod
    def of(
        cls,
        rows: ExactRows,
        y: NDArray[Any],
        cost: NDArray[Any],
        loss: ExactLoss,
        free_intercept: bool,
        scaling: float = 0.0,
        bounds: BoundsOfWeights = None,
    ) -> ExactBinary:
        """State the problem of labels and costs in floating point."""
        signs = np.sign(y).astype(np.int64).astype(object)
        return cls(rows, signs, Scaled.of(cost), loss, free_intercept, scaling, bounds)

    def primal(self, w: NDArray[Any], b: float) -> Bounds:
        """Return P; a penalised intercept is the weight b / scaling of the constant feature."""
        check_within(w, self.bounds)
        margins = self.rows.scores(Scaled.of(w)).plus(Scaled.of([b]))
        losses = self.loss.total(Scaled(margins.values * self.y, margins.exponent), self.cost)
        return Bounds.exactly(self._penalty(w, b)) + losses

    def _penalty(self, w: NDArray[Any], b: float) -> Fraction:
        """Return ½‖w‖², a penalised intercept included."""
        half_square = Scaled.of(w).squared_length() / 2
        if self.scaling:
            half_square += (Fraction(b) / Fraction(self.scaling)) ** 2 / 2
        return half_square

    def _norm_above(self, primal: Fraction) -> Fraction:
        """Return a bound on the norm of the optimal weights, from P at any point."""
        return root_above(2 * primal)

    def dual(self, alpha: NDArray[Any], primal: Fraction | None = None) -> DualBound:
        """Return the best dual value that these dual variables prove.

        They are clipped to their ranges. Without a penalty on the intercept, Σ α_i y_i = 0 is
        then made true: by lowering some of the heavier side, or by raising some of the lighter one.
        If P is known at some point, the bound on the best intercept is tried as well:
        D(α) − |b*| |Σ α_i y_i|.
        """
        within, in_range = self._clipped(Scaled.of(alpha))
        total = int((within.values * self.y).sum())
        residual = abs(dyadic(total, within.exponent))
        if not self.free_intercept or total == 0:
            return DualBound(self._value(within), residual, in_range)
        values = [self._value(a) for a in self._balanced(within, total)]
        if primal is not None and self.loss.hinges:
            # 1 + max‖x‖ ‖w*‖ bounds the size of some best intercept.
            longest = root_above(self.rows.largest_squared_norm())
            reach = 1 + longest * self._norm_above(primal)
            values.append(self._value(within) - Bounds.exactly(reach * residual))
        return DualBound(max(values, key=lambda value: value.lower), residual, in_range)

    def _clipped(self, alpha: Scaled) -> tuple[Scaled, bool]:
        """Return α within its range, and whether it was."""
        exponent = min(alpha.exponent, self.cost.exponent)
        values, cost = alpha.at(exponent), self.cost.at(exponent)
        clipped = np.where(cost > 0, np.maximum(values, 0), 0)
        if self.loss.bounded:
            clipped = np.minimum(clipped, cost)
        return Scaled(clipped, exponent), bool((clipped == values).all())

    def _value(self, alpha: Scaled) -> Bounds:
        """Return D(α) for α in the range."""
        coefficients = Scaled(alpha.values * self.y, alpha.exponent)
        penalty = half_square(self.rows.combine(coefficients), self.bounds)
        if self.scaling:
            penalty += (Fraction(self.scaling) * coefficients.total()) ** 2 / 2
        return self.loss.dual_total(alpha, self.cost) - Bounds.exactly(penalty)

    def _balanced(self, alpha: Scaled, total: int) -> list[Scaled]:
        """Return dual variables near α with Σ α_i y_i = 0 exactly."""
        heavy = self.y == (1 if total > 0 else -1)
        slopes = self._slopes(alpha, heavy, total)
        room = alpha.values.copy()
        room[~heavy] = 0
        options = [(np.argsort(slopes, kind="stable"), -1, room)]
        if self.loss.bounded:
            above = self.cost.at(alpha.exponent) - alpha.values
        else:
            above = (self.cost.values > 0).astype(object) * abs(total)
        above[heavy] = 0
        options.append((np.argsort(-slopes, kind="stable"), 1, above))
        found = []
        for order, sign, space in options:
            moved = moved_by(alpha.values, order, sign, space, abs(total))
            if moved is not None:
                found.append(Scaled(moved, alpha.exponent))
        return found

    def _slopes(self, alpha: Scaled, heavy: NDArray[np.bool_], total: int) -> NDArray[Any]:
        """Return ∂D/∂α_i in floating point, as if the heavy side had been scaled down."""
        floats, y = alpha.floats(), self.y.astype(float)
        with np.errstate(all="ignore"):
            share = np.where(heavy, floats, 0.0)
            excess = float(dyadic(total, alpha.exponent))
            lowered = floats - share * (abs(excess) / max(share.sum(), 1e-300))
            v = self.rows.matrix.T @ (lowered * y)
            slopes = self.loss.dual_slope(floats, self.cost.floats())
            return np.nan_to_num(slopes - y * (self.rows.matrix @ v))


def moved_by(
    values: Integers, order: NDArray[Any], sign: int, room: Integers, amount: int
) -> Integers | None:
    """Move entries in the given order, each by what room there is; None if that is not enough."""
    moved = values.copy()
    for place in order:
        step = min(int(room[place]), amount)
        if step > 0:
            moved[place] += sign * step
            amount -= step
        if amount == 0:
            return moved
    return None
