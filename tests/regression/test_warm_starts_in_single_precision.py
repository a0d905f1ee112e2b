"""Weights of a fit to float32 data are float32; a warm start from them in threads was refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin import LinearSVC, LogisticRegression

MODELS = [
    LinearSVC("hinge", solver="proximal_newton"),
    LinearSVC("hinge", solver="interior_point"),
    LinearSVC("squared_hinge", solver="newton"),
    LinearSVC("hinge", fit_intercept="penalised", solver="proximal_newton"),
    LogisticRegression(solver="newton"),
]


@pytest.mark.parametrize("threads", [None, 2])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_warm_start(model: Any, threads: int | None) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((600, 5)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * random.standard_normal(600) > 0.0, 1.0, -1.0)
    model.set_params(n_jobs=threads, warm_start=True, tol=1e-3)
    first = model.fit(X, y).certificate_.primal
    assert model.coef_.dtype == np.float32
    again = model.set_params(tol=1e-6).fit(X, y).certificate_
    assert again.relative_gap <= 1e-6
    assert again.primal <= first
