"""The joint multiclass problems in exact arithmetic: Weston-Watkins and Crammer-Singer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.exact.binary import DualBound
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import ExactRows, Integers, Scaled, dyadic, root_above


@dataclass(frozen=True, eq=False)
class ExactJoint:
    """min ½‖W‖² + Σ c_i ℓ_i, with the sum or the largest of max(0, 1 − (s_iy − s_ij)) as ℓ_i.

    Attributes
    ----------
    rows : ExactRows
    label : ndarray of int, shape (n,)
    cost : Scaled
    classes : int
    sums : bool
        True for Weston-Watkins, False for Crammer-Singer; whether each dual variable, rather than
        the sum of an example's, is at most c_i.
    free_intercept : bool
    scaling : float
        Value of the constant feature behind a penalised intercept; 0 if there is none.
    middle : ndarray of shape (n_features,) or None
        A point amid the examples, for prices; any point gives a proof, a good one a better proof.
    """

    rows: ExactRows
    label: NDArray[np.int64]
    cost: Scaled
    classes: int
    sums: bool
    free_intercept: bool
    scaling: float
    middle: NDArray[Any] | None = None

    def primal(self, w: NDArray[Any], b: NDArray[Any]) -> Bounds:
        """Return P; w has a row per class."""
        penalty = self._penalty(w, b)
        columns = [
            self.rows.scores(Scaled.of(w[j])).plus(Scaled.of([b[j]])) for j in range(self.classes)
        ]
        exponent = min(0, *(column.exponent for column in columns))
        scores = np.stack([column.at(exponent) for column in columns], axis=1)
        own = scores[np.arange(self.label.size), self.label][:, None]
        return Bounds.exactly(penalty) + self._losses(Scaled(scores - own, exponent))

    def _penalty(self, w: NDArray[Any], b: NDArray[Any]) -> Fraction:
        """Return ½‖W‖², a penalised intercept included."""
        half_square = Scaled.of(w).squared_length() / 2
        if self.scaling:
            half_square += Scaled.of(b).squared_length() / Fraction(self.scaling) ** 2 / 2
        return half_square

    def _spread_above(self, primal: Fraction) -> Fraction:
        """Return a bound on every ‖w_j − w_l‖² at the optimum, from P somewhere."""
        return 4 * primal

    def _losses(self, excess: Scaled) -> Bounds:
        """Return Σ c_i ℓ_i for the scores of all classes above those of their own."""
        slack = np.maximum((1 << -excess.exponent) + excess.values, 0)
        slack[np.arange(self.label.size), self.label] = 0
        losses = slack.sum(axis=1) if self.sums else slack.max(axis=1)
        return Bounds.exactly(Scaled(losses, excess.exponent).times(self.cost).total())

    def _gain(self, beta: Scaled) -> Bounds:
        """Return what D has besides the weights: Σ β."""
        return Bounds.exactly(beta.total())

    def _largest_spread(self, reach: Fraction) -> Fraction:
        """Return a bound on max b* − min b* for some optimal intercepts."""
        # Neighbouring ones differ by at most 1 + max‖x‖ √2 ‖W*‖.
        return (self.classes - 1) * (1 + reach)

    def dual(self, beta: Any, primal: Fraction) -> DualBound:
        """Return the best dual value that these dual variables, of shape (n, k), prove.

        P at some point is needed to price what a free intercept leaves.
        """
        within, in_range = self._clipped(np.asarray(sp.csr_array(beta).todense()))
        residual = self._coefficients(within.values).sum(axis=0)
        size = dyadic(int(np.abs(residual).sum()), within.exponent)
        if not self.free_intercept or size == 0:
            return DualBound(self._value(within), size, in_range)
        values = [self._priced(within, middle, size, primal) for middle in self._middles()]
        balanced = self._balanced(within, residual)
        if balanced is not None:
            values.append(self._value(balanced))
        return DualBound(max(values, key=lambda value: value.lower), size, in_range)

    def _middles(self) -> list[Scaled]:
        """Return points amid the examples.

        A free intercept makes the answer independent of shifts, so prices may be those of the
        examples around any point.
        """
        with np.errstate(all="ignore"):
            mean = np.asarray(self.rows.matrix.mean(axis=0)).ravel()
        given = np.zeros_like(mean) if self.middle is None else self.middle
        return [Scaled.of(mean), Scaled.of(given)]

    def _priced(self, beta: Scaled, middle: Scaled, size: Fraction, primal: Fraction) -> Bounds:
        """Return D(β) less what a residual of this size can be worth around a middle."""
        far = self.rows.largest_squared_distance(middle)
        reach = root_above(far * self._spread_above(primal))
        price = self._largest_spread(reach) * size / 2
        return self._value(beta, middle) - Bounds.exactly(price)

    def _clipped(self, beta: NDArray[Any]) -> tuple[Scaled, bool]:
        """Return β within its range, and whether it was."""
        given = Scaled.of(beta)
        exponent = min(given.exponent, self.cost.exponent)
        values, cost = given.at(exponent), self.cost.at(exponent)
        clipped = np.maximum(values, 0)
        clipped[np.arange(self.label.size), self.label] = 0
        if self.sums:
            clipped = np.minimum(clipped, cost[:, None])
        else:
            for i in np.flatnonzero(clipped.sum(axis=1) > cost):
                _lower(clipped[i], int(clipped[i].sum() - cost[i]))
        return Scaled(clipped, exponent), bool((clipped == values).all())

    def _coefficients(self, beta: Integers) -> Integers:
        """Return the factors of the examples in each class's weights."""
        coefficients = -beta
        coefficients[np.arange(self.label.size), self.label] = beta.sum(axis=1)
        return coefficients

    def _value(self, beta: Scaled, middle: Scaled | None = None) -> Bounds:
        """Return D(β), of the examples around a middle if there is one."""
        square = Fraction(0)
        for w, last in self._weights(beta, middle):
            square += w.squared_length() + last**2
        return self._gain(beta) - Bounds.exactly(square / 2)

    def _weights(self, beta: Scaled, middle: Scaled | None) -> Iterator[tuple[Scaled, Fraction]]:
        """Yield for each class the weights that β stands for; that of a constant feature apart."""
        coefficients = self._coefficients(beta.values)
        for j in range(self.classes):
            column = Scaled(coefficients[:, j], beta.exponent)
            w = self.rows.combine(column)
            if middle is not None:
                shift = Scaled.of_fraction(-column.total())
                w = w.plus(middle.times(shift))
            yield w, Fraction(self.scaling) * column.total() if self.scaling else Fraction(0)

    def _balanced(self, beta: Scaled, residual: Integers) -> Scaled | None:
        """Lower some of β so that the residual of every class is zero; None if that fails.

        Lowering β_il of an example of class j takes from class j and gives to class l.
        """
        values, residual = beta.values.copy(), residual.copy()
        for place in np.argsort(self._slopes(beta, residual), axis=None, kind="stable"):
            i, rival = divmod(int(place), self.classes)
            j = int(self.label[i])
            step = min(int(values[i, rival]), int(residual[j]), -int(residual[rival]))
            if j != rival and step > 0:
                values[i, rival] -= step
                residual[j] -= step
                residual[rival] += step
                if not residual.any():
                    return Scaled(values, beta.exponent)
        return None

    def _slopes(self, beta: Scaled, residual: Integers) -> NDArray[Any]:
        """Return ∂D/∂β in floating point, as if the residual were zero."""
        matrix = self.rows.matrix
        with np.errstate(all="ignore"):
            factors = Scaled(self._coefficients(beta.values), beta.exponent).floats()
            factors = factors.reshape(beta.values.shape)
            left = Scaled(residual, beta.exponent).floats()
            middle = np.asarray(matrix.mean(axis=0)).ravel()
            weights = matrix.T @ factors - np.outer(middle, left)
            scores = matrix @ weights
            own = scores[np.arange(self.label.size), self.label][:, None]
            return np.nan_to_num(self._gain_slopes(beta) + scores - own)

    def _gain_slopes(self, beta: Scaled) -> NDArray[Any]:
        """Return the derivatives of `_gain`, in floating point."""
        return np.ones(beta.values.shape)


def _lower(row: Integers, amount: int) -> None:
    """Take an amount from the entries of a row, the largest first."""
    for place in np.argsort(-row):
        step = min(int(row[place]), amount)
        row[place] -= step
        amount -= step
