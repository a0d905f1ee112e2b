"""Classes without any weight in training: the others are trained, these are never predicted.

Where the intercept is free, such a class has its optimum at w = 0 and b = −∞, and the others theirs
as if it were not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet
from widemargin.estimators.linear_scores import Start
from widemargin.interrupt import Interrupt
from widemargin.problems.multiclass import both_classes
from widemargin.problems.rules import NEVER, rule_for

if TYPE_CHECKING:
    from widemargin.estimators.linear import LinearClassifier

_OF_RUNS = ("primal_", "dual_", "rounding_", "n_iter_")


def fit_present(
    estimator: LinearClassifier,
    data: TrainingSet,
    start: Start | None,
    interrupt: Interrupt | None = None,
) -> None:
    """Train the classes that have examples; set the attributes of all."""
    present = data.present
    if start is not None:
        # Two classes share one line, which is not among those of all.
        few = present.size == 2
        start = None if few else Start(start.w[present], start.b[present])
    try:
        estimator._train(data.of_present(), start, interrupt)
    except KeyboardInterrupt:
        _widen(estimator, data, present)
        raise
    _widen(estimator, data, present)


def _widen(estimator: LinearClassifier, data: TrainingSet, present: NDArray[np.intp]) -> None:
    """Give the classes that were left out their rows."""
    k = data.classes.size
    joint = rule_for(estimator._rule(), k) != "ovr"

    def lines(values: Any) -> Any:
        if values.shape[0] == present.size:
            return values
        if sp.issparse(values):
            return sp.vstack([-0.5 * values, 0.5 * values] if joint else [-values, values])
        return both_classes(values) if joint else np.concatenate([-values, values])

    def wide(values: Any, rest: float = 0.0) -> Any:
        values = lines(values)
        if sp.issparse(values):
            places = np.zeros((k, present.size))
            places[present, np.arange(present.size)] = 1.0
            return sp.csr_array(places) @ sp.csr_array(values)
        out = np.full((k, *values.shape[1:]), rest, dtype=values.dtype)
        out[present] = values
        return out

    estimator.classes_ = data.classes
    estimator.coef_ = wide(estimator.coef_)
    estimator.intercept_ = wide(estimator.intercept_, NEVER)
    estimator.dual_coef_ = wide(estimator.dual_coef_)
    estimator.n_support_ = np.bincount(data.codes[estimator.support_], minlength=k)
    if joint:
        return
    # One run of two classes is that of either; a class that was left out has no loss.
    source = np.zeros(k, dtype=np.intp)
    source[present] = np.arange(present.size) if present.size > 2 else 0
    absent = np.setdiff1d(np.arange(k), present)
    for name in _OF_RUNS:
        values = getattr(estimator, name)
        if np.ndim(values):  # LinearSVC counts the iterations of the longest run
            values = values[source]
            values[absent] = 0
            setattr(estimator, name, values)
    status, history = estimator.status_, estimator.history_
    estimator.status_ = [
        "converged" if place in absent else status[source[place]] for place in range(k)
    ]
    estimator.history_ = [
        {name: column[:0] for name, column in history[0].items()}
        if place in absent
        else history[source[place]]
        for place in range(k)
    ]
