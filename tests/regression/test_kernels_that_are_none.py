"""Kernels that are indefinite, lopsided or not numbers had a certificate, or went on for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import KernelSVC


def examples(n: int = 200, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, np.where(X[:, 0] > 0.0, 1, -1)


def sigmoid(A: Any, B: Any) -> Any:
    return np.tanh(0.5 * A @ B.T - 0.5)


@pytest.mark.parametrize("memory", [1000.0, 0.01])
@pytest.mark.parametrize("rule", ["ovr", "crammer_singer"])
def test_indefinite_callable(rule: str, memory: float) -> None:
    X, y = examples()
    with pytest.raises(ValueError, match="the kernel is not positive semidefinite"):
        KernelSVC(sigmoid, C=0.1, multi_class=rule, memory=memory).fit(X, y)


def test_indefinite_matrix_with_a_positive_diagonal() -> None:
    y = [1, -1, 1, -1]
    K = np.eye(4) + 2.0 * (np.ones((4, 4)) - np.eye(4))
    with pytest.raises(ValueError, match="matrix is not positive semidefinite"):
        KernelSVC("precomputed").fit(K, y)
    with pytest.raises(ValueError, match="matrix is not positive semidefinite"):
        KernelSVC("precomputed").fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [1, -1])


def test_lopsided_kernels() -> None:
    X, y = examples(300)
    with pytest.raises(ValueError, match="the kernel is not symmetric"):
        KernelSVC(lambda A, B: rbf_kernel(A, B) + 0.1 * A[:, :1]).fit(X, y)
    K = rbf_kernel(X)
    K[299, 0] += 0.1
    with pytest.raises(ValueError, match="matrix is not symmetric"):
        KernelSVC("precomputed").fit(K, y)


def test_polynomials_with_a_negative_constant() -> None:
    X, y = examples()
    with pytest.raises(ValueError, match="the kernel is not positive semidefinite"):
        KernelSVC("poly", degree=2, coef0=-3.0, gamma=1.0).fit(X, y)
    assert KernelSVC("poly", degree=2, coef0=0.0, gamma=1.0).fit(X, y).status_ == ["converged"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_semidefinite_but_for_rounding_is_taken(dtype: type) -> None:
    X, y = examples(400, 3)
    X = (X + 50.0).astype(dtype)
    K = (X @ X.T).astype(dtype)  # of rank 3
    model = KernelSVC("precomputed", C=1e-6, fit_intercept=False).fit(K, y)
    other = KernelSVC(lambda A, B: A @ B.T, C=1e-6, fit_intercept=False).fit(X, y)
    assert model.status_ == other.status_ == ["converged"]


@pytest.mark.parametrize("memory", [1000.0, 0.01])
@pytest.mark.parametrize("solver", ["dual_cd", "dual_of_dual"])
def test_kernels_that_give_no_numbers(solver: str, memory: float) -> None:
    X, y = examples()
    model = KernelSVC(
        lambda A, B: np.full((A.shape[0], B.shape[0]), np.nan),
        "squared_hinge",
        solver=solver,
        memory=memory,
    )
    with pytest.raises(ValueError, match="numbers that are not finite"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="numbers that are not finite"):
        KernelSVC("poly", degree=9, gamma=1e50, memory=memory).fit(X, y)
