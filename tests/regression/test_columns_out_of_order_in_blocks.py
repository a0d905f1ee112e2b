"""Columns out of order within sparse rows: matrices of several blocks lost half of the products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC
from widemargin.data.block_work import Threads
from widemargin.data.memory_rows import MemoryRows, rows_in_blocks
from widemargin.data.rows import Rows


def backwards(X: sp.csr_array) -> sp.csr_array:
    """Store the columns of every row in falling order."""
    owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((-X.indices, owner))
    return sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def examples(features: int) -> sp.csr_array:
    random = np.random.default_rng(0)
    return sp.random_array((70_000, features), density=0.05, rng=random, format="csr")


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("features", [40, 300])
def test_gram_matrix(features: int, threads: int, constant: bool) -> None:
    X = examples(features)
    turned = backwards(X)
    assert not turned.has_sorted_indices
    curvature = np.random.default_rng(1).random(X.shape[0])
    rows = rows_in_blocks(Rows.of(turned), Threads(threads))
    assert isinstance(rows, MemoryRows)
    given = sp.hstack([X, np.ones((X.shape[0], 1))]).tocsr() if constant else X
    wanted = (given.T @ (given * curvature[:, None])).toarray()
    np.testing.assert_allclose(rows.gram(curvature, constant), wanted, rtol=1e-9, atol=1e-9)


def test_a_fit_has_the_bits_of_sorted_columns() -> None:
    X = examples(40)
    y = X @ np.random.default_rng(2).standard_normal(40) > 0.0
    given = {"loss": "squared_hinge", "fit_intercept": "penalised", "solver": "newton"}
    models = [LinearSVC(n_jobs=2, **given).fit(rows, y) for rows in (X, backwards(X))]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].n_iter_ == models[1].n_iter_
