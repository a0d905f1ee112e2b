"""Found by the campaign of certificates: logistic regression without a penalty, at the edge."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.fuzz.judges import untrue
from tests.fuzz.nasty import Data

from widemargin import LogisticRegression


def fitted(X: Any, y: Any, **settings: Any) -> Any:
    """Return a model without a penalty, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(C=np.inf, **settings).fit(X, y)


@pytest.mark.parametrize("rule", ["ovr", "multinomial"])
def test_data_that_are_zero(rule: str) -> None:
    """It ended with "cannot reshape array of size 0"; no weights change the objective."""
    model = fitted(np.zeros((6, 2)), [0, 1, 2, 0, 1, 2], fit_intercept=False, multi_class=rule)
    assert set(model.status_) == {"converged"}


@pytest.mark.parametrize("rule", ["ovr", "multinomial"])
def test_intercepts_far_from_zero(rule: str) -> None:
    """The objective was that of an intercept before it was rounded: false by 2e-9 of it."""
    random = np.random.default_rng(0)
    for _ in range(10):
        X = random.integers(-3, 4, size=(12, 2)) + 2.0 ** random.integers(20, 40, size=2)
        y = np.arange(12) % 3
        model = fitted(X, y, multi_class=rule, max_iter=5)
        assert untrue("no penalty", model, Data(X, y, None, "")) == ""
