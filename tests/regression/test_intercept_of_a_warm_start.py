"""A warm start that brings an intercept along into a problem that has none.

The certificate once kept that intercept and called the first point optimal: primal and dual met
at a value that no weights without an intercept can reach.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from widemargin import LinearSVC


@pytest.mark.parametrize(("first", "second"), list(permutations([True, False, "penalised"], 2)))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_warm_start_equals_cold_start(loss: str, first: Any, second: Any) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 4)) + 2.0
    y = np.where(X[:, 0] + 0.5 * random.normal(size=80) > 2.0, 1, 0)
    cold = LinearSVC(loss, tol=1e-8, fit_intercept=second).fit(X, y)
    model = LinearSVC(loss, tol=1e-8, fit_intercept=first, warm_start=True).fit(X, y)
    model.set_params(fit_intercept=second).fit(X, y)
    assert model.primal_[0] == pytest.approx(cold.primal_[0], rel=1e-7)
    if second is False:
        assert model.intercept_[0] == 0.0


def test_column_descent_goes_on_from_weights_in_float32() -> None:
    """A second fit with ``warm_start=True`` raised a TypeError."""
    r = np.random.default_rng(0)
    X = r.standard_normal(size=(200, 12), dtype=np.float32)
    y = (X[:, 0] + r.normal(size=200) > 0).astype(int)
    model = LinearSVC(solver="primal_cd", tol=1e-3, warm_start=True).fit(X, y)
    assert model.coef_.dtype == np.float32
    assert model.set_params(tol=1e-6).fit(X, y).certificate_.relative_gap <= 1e-6
