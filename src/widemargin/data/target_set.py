"""The one way from (X, numeric targets or none, weights, C, intercept) to a problem."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.centring import with_intercept
from widemargin.data.dense_copy import dense_if_cheaper
from widemargin.data.quick_init import quick_init
from widemargin.data.rows import Rows
from widemargin.data.training_set import check_costs, check_sample_weight, equal
from widemargin.data.validation import validate_rows
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]


@quick_init
@dataclass(frozen=True, eq=False)
class TargetSet:
    """Examples with numbers to predict, and costs.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
    rows : Rows
        As in `TrainingSet`.
    target : ndarray of shape (n,)
        float64, as given.
    cost : ndarray of shape (n,)
        c_i = C · sample weight.
    C : float
    weight : ndarray of shape (n,), or None
    free_intercept : bool
    scaling : float
        Value of the constant feature behind a penalised intercept; 0 if there is none.
    """

    X: Any
    rows: Rows
    target: Vector
    cost: Vector
    C: float
    weight: Vector | None
    free_intercept: bool
    scaling: float

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        C: float = 1.0,
        fit_intercept: bool | str = False,
        intercept_scaling: float = 1.0,
        estimator: Any = None,
    ) -> TargetSet:
        """Check examples and targets, and work out the costs.

        The arguments are those of `LinearSVR`; `estimator` remembers the number and the names of
        the features, and is named in messages.
        """
        X, rows, y = validate_rows(estimator, X, y)
        target = check_targets(y)
        weight = check_sample_weight(sample_weight, rows.count)
        same = C if weight is None else None
        cost = check_costs(equal(rows.count, C) if weight is None else C * weight, same)
        scaling = float(intercept_scaling) if isinstance(fit_intercept, str) else 0.0
        free = not scaling and bool(fit_intercept)
        rows = dense_if_cheaper(with_intercept(X, rows, free, scaling))
        return cls(X, rows, target, cost, C, weight, free, scaling)

    def at(self, C: float) -> TargetSet:
        """Return the same examples at another C."""
        ones = np.ones(self.rows.count) if self.weight is None else self.weight
        return replace(self, C=C, cost=check_costs(C * ones))

    def take(self, subset: NDArray[np.int64]) -> TargetSet:
        """Return some of the examples, without copying their rows; X stays whole."""
        subset = np.ascontiguousarray(subset)
        return replace(
            self,
            rows=self.rows.take(subset),
            target=self.target[subset],
            cost=self.cost[subset],
            weight=None if self.weight is None else self.weight[subset],
        )


def check_targets(y: Any) -> Vector:
    """Return numeric targets as float64, or raise an error."""
    y = np.asarray(y)
    if y.dtype.kind not in "biuf":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError("y must be numbers: these are the values to predict") from None
    target = np.ascontiguousarray(y, dtype=np.float64)
    largest = core.largest_magnitude(target)  # NaN if there is one
    if not largest <= 1e100:
        if not math.isfinite(largest):
            raise ValueError("y contains NaN or infinity")
        raise ValueError(f"y reaches {largest:g}, whose squares overflow; scale the targets")
    return target
