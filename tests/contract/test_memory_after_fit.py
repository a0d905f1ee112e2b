"""What a fit has worked on is free after it, without a search for cycles."""

import gc
import weakref

import numpy as np
import pytest

from widemargin import LinearOneClassSVM, LinearSVC, LinearSVR, LogisticRegression

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 5)) + 2.0
LABELS = {
    2: RANDOM.integers(2, size=200),
    3: RANDOM.integers(3, size=200),
}


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (LinearSVC(), LABELS[2]),
        (LinearSVC("hinge", fit_intercept="penalised"), LABELS[2]),
        (LinearSVC(), LABELS[3]),
        (LinearSVC("hinge", multi_class="crammer_singer"), LABELS[3]),
        (LogisticRegression(), LABELS[3]),
        (LogisticRegression(solver="dual_cd", multi_class="ovr"), LABELS[2]),
        (LinearSVR(loss="squared_epsilon_insensitive"), X[:, 0]),
        (LinearSVR(epsilon=0.1), X[:, 0] ** 2),
        (LinearOneClassSVM(0.1), None),
    ],
    ids=lambda value: str(value) if hasattr(value, "fit") else "",
)
def test_a_fit_leaves_no_cycle_that_holds_the_data(estimator, y):
    """The problem that a run watches refers to the run: data stayed until the next search."""
    data = X.copy()
    gone = weakref.ref(data)
    gc.collect()
    gc.disable()
    try:
        estimator.fit(data, y)
        del data
        assert gone() is None
    finally:
        gc.enable()
