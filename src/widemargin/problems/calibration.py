"""From scores to calibrated probabilities: a sigmoid or an isotonic step function per class.

The sigmoid is Platt's, 1/(1 + exp(A s + B)), with his targets for the labels, found by Newton's
method with backtracking on a form of the objective that neither overflows nor loses digits (Lin,
Lin and Weng 2007). For three and more classes each one has a function of its own against the rest,
and the values are divided by their sum, as scikit-learn's ``CalibratedClassifierCV`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

METHODS = ("sigmoid", "isotonic")

_STEPS = 100
_SHORTEST = 1e-10
"""Newton steps, and the shortest fraction of one; both as in the paper."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """One increasing function per row of ``coef_``, from its scores to a probability.

    Attributes
    ----------
    method : {"sigmoid", "isotonic"}
    values : ndarray of shape (2, sum of lengths)
        Of a sigmoid A and B; of a step function its scores and their probabilities, between which
        it is linear.
    lengths : ndarray of shape (k,)
        How many columns of `values` belong to each row of ``coef_``; ones for the sigmoid.
    """

    method: str
    values: Matrix
    lengths: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"calibration must be 'sigmoid' or 'isotonic'; got {self.method!r}")
        lengths = np.asarray(self.lengths)
        whole = lengths.ndim == 1 and lengths.dtype.kind in "iu" and bool((lengths >= 1).all())
        ones = self.method == "isotonic" or bool((lengths == 1).all())
        if not (whole and ones and np.shape(self.values) == (2, int(lengths.sum()))):
            raise ValueError("the tables of the calibration do not go together")
        if not np.isfinite(self.values).all():
            raise ValueError("a number of the calibration is not finite")

    @classmethod
    def of(
        cls, method: str, scores: Matrix, codes: NDArray[Any], weight: Vector | None = None
    ) -> Calibration:
        """Fit to scores of examples that were not trained on.

        Parameters
        ----------
        method : {"sigmoid", "isotonic"}
        scores : ndarray of shape (n, k)
            One column for two classes, positive for the second.
        codes : ndarray of shape (n,)
            The place of each example's class.
        weight : ndarray of shape (n,), optional
        """
        weight = np.ones(codes.size) if weight is None else weight
        fit = _sigmoid if method == "sigmoid" else _isotonic
        k = scores.shape[1]
        tables = [fit(scores[:, j], codes == (1 if k == 1 else j), weight) for j in range(k)]
        lengths = np.array([table.shape[1] for table in tables])
        return cls(method, np.concatenate(tables, axis=1), lengths)

    def tables(self) -> Iterator[Matrix]:
        """Yield the part of `values` of each row of ``coef_``."""
        yield from np.split(self.values, np.cumsum(self.lengths)[:-1], axis=1)

    def probabilities(self, scores: NDArray[Any]) -> Matrix:
        """Return the classes' probabilities, of shape (n, classes), from scores (n,) or (n, k)."""
        columns = scores.reshape(len(scores), -1).astype(np.float64, copy=False)
        each = np.empty_like(columns)
        for place, table in enumerate(self.tables()):
            if self.method == "sigmoid":
                each[:, place] = expit(-(table[0, 0] * columns[:, place] + table[1, 0]))
            else:
                each[:, place] = np.interp(columns[:, place], table[0], table[1])
        if each.shape[1] == 1:
            return np.column_stack([1.0 - each[:, 0], each[:, 0]])
        total = each.sum(axis=1, keepdims=True)
        # Where no class is likely at all, none is likelier than another.
        even = np.full_like(each, 1.0 / each.shape[1])
        return np.divide(each, total, out=even, where=total > 0.0)


def _isotonic(scores: Vector, positive: NDArray[np.bool_], weight: Vector) -> Matrix:
    known = weight > 0.0
    found = IsotonicRegression(out_of_bounds="clip").fit(
        scores[known], positive[known].astype(np.float64), weight[known]
    )
    return np.stack([found.X_thresholds_, found.y_thresholds_])


def _sigmoid(scores: Vector, positive: NDArray[np.bool_], weight: Vector) -> Matrix:
    """Return A and B of the likeliest 1/(1 + exp(A s + B)), as a column."""
    # Scores of about one, so that the ridge on the curvature is small beside it.
    unit = float(np.abs(scores).max()) or 1.0
    s = scores / unit
    plus, minus = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    both = np.stack([s, np.ones_like(s)])
    point = np.array([0.0, np.log((minus + 1.0) / (plus + 1.0))])

    def value(at: Vector) -> float:
        z = at @ both
        return float(weight @ (target * z + np.logaddexp(0.0, -z)))

    now, ridge = value(point), 1e-12 * (plus + minus) * np.eye(2)
    for _ in range(_STEPS):
        p = expit(-(point @ both))
        gradient = both @ (weight * (target - p))
        step = np.linalg.solve((both * (weight * p * (1.0 - p))) @ both.T + ridge, -gradient)
        slope = float(gradient @ step)
        # Half the decrement is what is left of the objective.
        if -slope <= 1e-14 * max(now, plus + minus):
            break
        length = 1.0
        while length >= _SHORTEST and value(point + length * step) > now + 1e-4 * length * slope:
            length /= 2.0
        if length < _SHORTEST:
            break  # rounding: nothing lower can be told apart
        point = point + length * step
        now = value(point)
    return np.array([[point[0] / unit], [point[1]]])
