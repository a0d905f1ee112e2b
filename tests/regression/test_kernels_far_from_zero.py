"""float32 rows with an offset gave a wrong rbf kernel and a wrong gamma='scale'."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import KernelSVC
from widemargin.data.gram import Gram, Kernel


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rbf_of_rows_with_an_offset(dtype: type, offset: float) -> None:
    X = (np.random.default_rng(0).normal(size=(60, 4)) + offset).astype(dtype)
    exact = X.astype(np.float64)
    expected = np.exp(-0.3 * ((exact[:, None] - exact[None]) ** 2).sum(axis=2))
    kernel = Kernel("rbf", 0.3)
    np.testing.assert_allclose(kernel.between(X[:7], X), expected[:7], rtol=1e-9)
    np.testing.assert_allclose(Gram.of(X, kernel, 1e9).whole, expected, rtol=1e-9)
    places = np.array([3, 50])
    np.testing.assert_allclose(Gram.of(X, kernel, 1e3).rows(places), expected[places], rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_products_of_float32_are_summed_in_float64(kernel: str) -> None:
    X = np.random.default_rng(0).normal(size=(30, 500)).astype(np.float32)
    for rows in (X, sp.csr_array(X)):
        K = Kernel(kernel, 0.1, 2, 1.0).between(rows, rows)
        exact = X.astype(np.float64) @ X.astype(np.float64).T
        expected = exact if kernel == "linear" else (0.1 * exact + 1.0) ** 2
        np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_gamma_scale(layout: type) -> None:
    random = np.random.default_rng(0)
    X = (random.normal(size=(80, 3)) + 1e4).astype(np.float32)
    X[random.random(X.shape) < 0.1] = 0.0
    y = np.arange(80) % 2
    weight = random.integers(1, 4, 80)
    model = KernelSVC(tol=0.5).fit(layout(X), y, weight)
    spread = np.repeat(X.astype(np.float64), weight, axis=0).var()
    assert model.gamma_ == pytest.approx(1.0 / (3 * spread), rel=1e-9)


def test_gamma_scale_of_a_small_spread_far_away() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3)) + 1e8
    model = KernelSVC(tol=0.5).fit(X, np.arange(80) % 2)
    assert model.gamma_ == pytest.approx(1.0 / (3 * X.var()), rel=1e-6)
