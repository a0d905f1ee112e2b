"""Support vectors are those of LIBSVM, whichever method has trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from widemargin import LinearSVC


def data(name: str) -> tuple[Any, Any]:
    X, y = {
        "cancer": lambda: load_breast_cancer(return_X_y=True),
        "iris": lambda: load_iris(return_X_y=True),
        "wine": lambda: load_wine(return_X_y=True),
        "made": lambda: make_classification(600, 15, flip_y=0.1, random_state=0),
    }[name]()
    return scale(X), (y == 1).astype(int)


@pytest.mark.parametrize("solver", ["auto", "dual_cd", "interior_point", "proximal_newton"])
@pytest.mark.parametrize("name", ["cancer", "wine", "made"])
def test_counts_are_those_of_libsvm(name: str, solver: str) -> None:
    """Breast cancer had 231 with auto, 378 with dual_cd and 569 with interior_point, not 40."""
    X, y = data(name)
    theirs = SVC(kernel="linear", tol=1e-6).fit(X, y)
    ours = LinearSVC("hinge", solver=solver, tol=1e-6, max_iter=100_000).fit(X, y)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(ours.support_, np.sort(theirs.support_))
    assert ours.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize("name", ["cancer", "iris", "wine", "made"])
def test_the_certificate_is_that_of_the_settled_point(name: str, intercept: Any) -> None:
    X, y = data(name)
    model = LinearSVC("hinge", fit_intercept=intercept, solver="dual_cd").fit(X, y)
    alpha, signs = np.abs(model.dual_coef_[0]), 2.0 * y - 1.0
    assert np.all((alpha >= 0.0) & (alpha <= 1.0))
    if intercept is True:
        assert abs(model.dual_coef_[0].sum()) <= 1e-12 * y.size
    Z = np.column_stack([X, np.ones(y.size)]) if intercept == "penalised" else X
    combination = (alpha * signs) @ Z
    expected = alpha.sum() - 0.5 * combination @ combination
    np.testing.assert_allclose(model.dual_, expected, rtol=1e-9)
    assert model.certificate_.relative_gap <= model.tol
    at_bounds = np.count_nonzero((alpha == 0.0) | (alpha == 1.0))
    assert at_bounds >= y.size - 3 * (X.shape[1] + 1)


def test_counts_where_features_are_more_than_rows() -> None:
    """Making Σ αy = 0 hold had left a trace of a dual variable on every row of one class."""
    random = np.random.default_rng(5)
    X = random.normal(size=(120, 200)) * (random.random((120, 200)) < 0.1)
    y = (X[:, :20].sum(axis=1) + random.normal(size=120) > 0.0).astype(int)
    ours = LinearSVC("hinge", C=0.05, tol=1e-6).fit(X, y)
    theirs = SVC(kernel="linear", C=0.05, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    alpha = np.abs(ours.dual_coef_[0])
    assert not ((alpha > 0.0) & (alpha < 1e-8)).any()


def test_a_warm_start_goes_on_from_it() -> None:
    X, y = data("made")
    model = LinearSVC("hinge", tol=1e-3, warm_start=True).fit(X, y)
    assert model.set_params(tol=1e-6).fit(X, y).certificate_.relative_gap <= 1e-6
