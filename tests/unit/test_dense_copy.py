"""Sparse rows with few zeros are stored with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC
from widemargin.auto.machine import MACHINE
from widemargin.data import dense_copy
from widemargin.data.dense_copy import dense_if_cheaper, sparse_if_cheaper
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
    np.testing.assert_array_equal(sparse, dense)
    blocks = TrainingSet.of(X, y, fit_intercept=intercept).in_blocks(2)
    assert sp.issparse(blocks.rows.array)


def test_a_single_zero() -> None:
    X, y = data(2, 1.0)
    X.data[5] = 0.0
    X.eliminate_zeros()
    assert isinstance(TrainingSet.of(X, y).rows.array, np.ndarray)


def test_a_column_far_from_zero() -> None:
    X, y = data(4, 0.8)
    X = sp.csr_array(np.column_stack([X.toarray(), 1e9 + np.arange(60.0)]))
    rows = TrainingSet.of(X, y, fit_intercept=True).rows
    assert isinstance(rows.array, np.ndarray)
    assert rows.shift is not None
    assert rows.shift[-1] >= 1e9


def test_a_copy_is_not_made_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = data(2, 0.8)
    rows = Rows.of(X)
    monkeypatch.setattr(dense_copy, "MACHINE", replace(MACHINE, largest_copy=60 * 30 * 8 - 1))
    assert dense_if_cheaper(rows) is rows


def test_sparse_rows_with_many_zeros_are_left_alone() -> None:
    X, _ = data(3, 0.3)
    rows = Rows.of(X)
    assert dense_if_cheaper(rows) is rows
    full = Rows.of(sp.csr_array(np.ones((4, 3))))
    assert dense_if_cheaper(full) is full


def test_dense_rows_with_many_zeros() -> None:
    zeros = np.zeros((20, 40))
    zeros[:, 0] = np.arange(1.0, 21.0)
    assert sp.issparse(sparse_if_cheaper(zeros))
    np.testing.assert_array_equal(sparse_if_cheaper(zeros).toarray(), zeros)
    full = np.ones((20, 40))
    assert sparse_if_cheaper(full) is full
