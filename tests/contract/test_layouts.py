"""Data are read where they lie, in every layout, and the layout does not change the answer."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from oracle import LAYOUTS, LOSSES, Oracle, estimator, layout, make_data
from widemargin import RobustSVC, verify_exactly


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def memmap(X: np.ndarray, folder: Path) -> np.ndarray:
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def duplicates(X: np.ndarray) -> Any:
    """CSR with every entry split into two halves, unsorted."""
    csr = sp.csr_array(X)
    data = np.repeat(csr.data / 2, 2)
    indices = np.repeat(csr.indices, 2)
    matrix = sp.csr_array((data, indices, csr.indptr * 2), shape=X.shape)
    for i in range(X.shape[0]):  # every row backwards
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    assert matrix.nnz == 2 * csr.nnz
    return matrix


def unsorted(X: np.ndarray) -> Any:
    matrix = sp.csr_array(X)
    for i in range(X.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def read_only(matrix: Any) -> Any:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def mixed_widths(X: np.ndarray) -> Any:
    matrix = sp.csr_array(X)
    matrix.indptr = matrix.indptr.astype(np.int64)
    matrix.indices = matrix.indices.astype(np.int32)
    return matrix


FORMS: dict[str, Any] = {
    "F order": lambda X, _: np.asfortranarray(X),
    "every second row": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed rows": lambda X, _: X[::-1].copy()[::-1],
    "read-only": lambda X, _: np.broadcast_to(X, X.shape),
    "read-only memmap": memmap,
    "lists": lambda X, _: X.tolist(),
    "big endian": lambda X, _: X.astype(">f8"),
    "pandas": lambda X, _: pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]),
    "pandas mixed": lambda X, _: pd.DataFrame(
        {f"f{j}": X[:, j].astype("float32" if j % 2 else "float64") for j in range(X.shape[1])}
    ),
    "polars": lambda X, _: pl.DataFrame(X, schema=[f"f{j}" for j in range(X.shape[1])]),
    "csr_matrix": lambda X, _: sp.csr_matrix(X),
    "csr_array": lambda X, _: sp.csr_array(X),
    "csc_matrix": lambda X, _: sp.csc_matrix(X),
    "coo_array": lambda X, _: sp.coo_array(X),
    "csr unsorted": lambda X, _: unsorted(X),
    "csr duplicates": lambda X, _: duplicates(X),
    "csr read-only": lambda X, _: read_only(sp.csr_array(X)),
    "csr mixed index widths": lambda X, _: mixed_widths(X),
    "csr slice": lambda X, _: sp.csr_array(np.vstack([X, X]))[: X.shape[0]],
}


@pytest.mark.parametrize("form", FORMS)
def test_form_of_the_data(form: str, loss: str, tmp_path: Path) -> None:
    X, y = make_data("tall", density=0.4, seed=21)
    data = FORMS[form](X, tmp_path)
    before = data.copy() if sp.issparse(data) else np.array(data)
    model = estimator(loss, tol=1e-8).fit(data, y)
    Oracle(X, y, np.ones(y.size), loss).check(model, 1e-8)
    reference = estimator(loss, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(data), reference.decision_function(X), atol=2e-3
    )
    # The data were not written to.
    if sp.issparse(data):
        np.testing.assert_array_equal(data.data, before.data)
        assert data.nnz == before.nnz
        assert (data != before).nnz == 0
    else:
        np.testing.assert_array_equal(np.asarray(data), before)


@pytest.mark.parametrize("name", LAYOUTS)
def test_same_problem_in_every_layout(name: str, loss: str) -> None:
    """The values are float32 numbers, so all six layouts state one problem."""
    X, y = make_data("tall", density=0.4, seed=22)
    model = estimator(loss, tol=1e-9).fit(layout(X, name), y)
    reference = estimator(loss, tol=1e-9).fit(X, y)
    single = "float32" in name
    # Rounding to float32 keeps even this tolerance where the loss is smooth.
    if single and loss != "hinge":
        assert model.coef_.dtype == model.intercept_.dtype == np.float32
    if not single:
        assert model.coef_.dtype == model.intercept_.dtype == np.float64
    assert model.certificate_.relative_gap <= 1e-9
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=2e-4)


def test_feature_names(loss: str) -> None:
    X, y = make_data()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    model = estimator(loss).fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def peak_growth(action: Any) -> int:
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        action()
        return tracemalloc.get_traced_memory()[1] - start
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("intercept", [True, "penalised"], ids=str)
@pytest.mark.parametrize("name", LAYOUTS)
def test_no_copy_is_made(name: str, intercept: Any, loss: str) -> None:
    """The peak of fit stays below the size of the data, so nothing of their size was made.

    What the methods need of their own, some vectors over examples and a matrix of 401 x 401, is
    small beside the data here.
    """
    random = np.random.default_rng(0)
    n, d = 5000, 400
    X = random.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    X *= random.random((n, d)) < 0.4  # with half of the values CSR would be copied
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    data = layout(X, name)
    if isinstance(data, np.ndarray):
        size = data.nbytes
    else:
        size = data.data.nbytes + data.indices.nbytes + data.indptr.nbytes
    estimator(loss).fit(layout(X[:50], name), y[:50])  # imports and caches
    model = estimator(loss, C=1e-3, fit_intercept=intercept, max_iter=5, tol=0.5)
    growth = peak_growth(lambda: model.fit(data, y))
    assert growth < 0.7 * size


def test_f_order_is_copied_once(loss: str) -> None:
    """The stated rule: a dense array not in C order is brought into it by one copy."""
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(20_000, 50)))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    growth = peak_growth(lambda: estimator(loss, C=1e-3, max_iter=2, tol=0.9).fit(X, y))
    assert X.nbytes <= growth < 1.9 * X.nbytes


def test_robust_weights_are_single_too() -> None:
    """float32 in gives float32 out, with the certificate of what is handed out."""
    random = np.random.default_rng(2)
    X = random.normal(size=(60, 4)).astype(np.float32)
    y = np.where(X[:, 0] + 0.3 * random.normal(size=60) > 0.0, 1, -1)
    model = RobustSVC(radius=0.05).fit(X, y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.certificate_.relative_gap <= 1e-4
    assert verify_exactly(model, X, y)
    # Where rounding would lose the tolerance, the weights stay as they are.
    assert RobustSVC(radius=0.05, tol=1e-11).fit(X, y).coef_.dtype == np.float64
