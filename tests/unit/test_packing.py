"""Sparse rows with few zeros are stored with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC
from widemargin.data.packing import packed
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet


def data(seed: int, density: float) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = sp.random_array((60, 30), density=density, rng=random, format="csr")
    return X, np.where(random.random(60) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("intercept", [False, True, "penalised"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_with_few_zeros(intercept: bool | str, dtype: Any) -> None:
    X, y = data(2, 0.8)
    X = X.astype(dtype)
    rows = TrainingSet.of(X, y, fit_intercept=intercept).rows
    assert isinstance(rows.array, np.ndarray)
    assert rows.array.dtype == dtype
    w = np.arange(rows.weights, dtype=np.float64)
    given = Rows.of(X).with_constant(rows.constant) if rows.constant else Rows.of(X)
    np.testing.assert_allclose(rows.scores(w), given.scores(w), rtol=1e-12)
    np.testing.assert_allclose(rows.norms, given.norms, rtol=1e-12)
    model = LinearSVC(fit_intercept=intercept, tol=1e-6)
    sparse, dense = model.fit(X, y).coef_, model.fit(X.toarray(), y).coef_
    np.testing.assert_allclose(sparse, dense, atol=1e-3)


def test_sparse_rows_with_many_zeros_are_left_alone() -> None:
    X, _ = data(3, 0.3)
    rows = Rows.of(X)
    assert packed(rows) is rows
    full = Rows.of(sp.csr_array(np.ones((4, 3))))
    assert packed(full) is full
