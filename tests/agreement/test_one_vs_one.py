"""One-vs-one kernel machines against scikit-learn's SVC (LIBSVM)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from widemargin import KernelSVC


def both(X: Any, y: Any, **arguments: Any) -> tuple[KernelSVC, SVC]:
    """Fit both to many digits."""
    weight = arguments.pop("sample_weight", None)
    ours = KernelSVC(multi_class="ovo", tol=1e-8, **arguments).fit(X, y, weight)
    return ours, SVC(tol=1e-8, **arguments).fit(X, y, weight)


def close(ours: Any, theirs: Any) -> None:
    """Compare what a gap of 1e-8 determines to about the root of that."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_the_same_model_as_svc(kernel: str, form: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X, names = form(X), np.array(["setosa", "versicolor", "virginica"])[y]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    ours, svc = both(
        X, names, kernel=kernel, C=2.0, gamma=0.5, coef0=1.0, degree=2, sample_weight=weight
    )
    assert set(ours.status_) == {"converged"}
    assert ours.dual_coef_.shape[0] == 2
    shapes = ("ovr", "ovo")
    for shape in shapes:
        ours.decision_function_shape = svc.decision_function_shape = shape
        close(ours.decision_function(X), svc.decision_function(X))
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    close(ours.intercept_, svc.intercept_)


def test_the_layout_of_svc() -> None:
    X, y = load_digits(n_class=5, return_X_y=True)
    ours, svc = both(X[::3], y[::3], kernel="rbf", C=10.0, gamma=1e-3)
    np.testing.assert_array_equal(ours.support_, svc.support_)
    np.testing.assert_array_equal(ours.n_support_, svc.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, svc.dual_coef_, atol=1e-3)
    assert len(ours.certificates_) == 10
    assert ours.certificate_.primal == pytest.approx(sum(c.primal for c in ours.certificates_))


def test_kernels_from_elsewhere_threads_and_little_memory() -> None:
    X, y = load_iris(return_X_y=True)
    plain = KernelSVC(multi_class="ovo", gamma=0.5, tol=1e-6).fit(X, y)
    K = rbf_kernel(X, gamma=0.5)
    for other in (
        KernelSVC("precomputed", multi_class="ovo", tol=1e-6).fit(K, y),
        KernelSVC(lambda A, B: rbf_kernel(A, B, gamma=0.5), multi_class="ovo", tol=1e-6).fit(X, y),
        KernelSVC(multi_class="ovo", gamma=0.5, tol=1e-6, memory=1e-3).fit(X, y),
    ):
        np.testing.assert_allclose(other.dual_, plain.dual_, rtol=2e-6)
    threads = KernelSVC(multi_class="ovo", gamma=0.5, tol=1e-6, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threads.dual_coef_, plain.dual_coef_)


def test_two_classes_are_one_problem() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    pair = KernelSVC(multi_class="ovo").fit(X, y)
    np.testing.assert_array_equal(pair.dual_coef_, KernelSVC().fit(X, y).dual_coef_)


def test_squared_hinge_without_intercept() -> None:
    X, y = load_iris(return_X_y=True)
    model = KernelSVC(
        loss="squared_hinge", multi_class="ovo", fit_intercept=False, gamma=0.5, tol=1e-6
    ).fit(X, y)
    for place, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        chosen = (y == a) | (y == b)
        alone = KernelSVC(loss="squared_hinge", fit_intercept=False, gamma=0.5, tol=1e-6)
        alone.fit(X[chosen], y[chosen] == a)
        assert model.dual_[place] == pytest.approx(alone.dual_[0], rel=2e-6)


def test_what_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="decision_function_shape must be"):
        KernelSVC(decision_function_shape="all").fit(X, y)
    with pytest.raises(ValueError, match="does not support one-vs-one kernel problems"):
        KernelSVC(multi_class="ovo", solver="frank_wolfe").fit(X, y)
