"""A time limit on a problem with few rows once escaped as a private exception."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from widemargin import LinearSVC


@pytest.mark.parametrize("time_limit", [1e-4, 1e-3, 3e-3, 1e-2])
def test_time_limit(time_limit: float) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 400)), random.integers(0, 2, size=90)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC("hinge", C=100, tol=1e-12, time_limit=time_limit).fit(X, y)
    assert np.isfinite(model.certificate_.primal)
    assert model.status_[0] in ("time_limit", "converged", "stalled")
