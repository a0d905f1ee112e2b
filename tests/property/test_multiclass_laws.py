"""Laws that Weston-Watkins and Crammer-Singer obey, whatever the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from oracle_multiclass import RULES, make_classes
from widemargin import LinearSVC

TOL = 1e-6


@pytest.fixture(params=RULES)
def rule(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fit(rule: str, X: Any, y: Any, weight: Any = None, **arguments: Any) -> LinearSVC:
    arguments = {"tol": TOL, "max_iter": 100_000, "fit_intercept": False} | arguments
    return LinearSVC("hinge", multi_class=rule, **arguments).fit(X, y, weight)


def same_optimum(one: LinearSVC, other: LinearSVC, factor: float = 1.0) -> None:
    """The brackets of the two optima overlap."""
    a, b = one.certificate_, other.certificate_
    assert a.dual <= factor * b.primal * (1.0 + 1e-9)
    assert factor * b.dual <= a.primal * (1.0 + 1e-9)


def test_weight_two_is_the_row_twice(rule: str) -> None:
    X, y = make_classes(60)
    twice = np.arange(60) % 3 == 0
    weighted = fit(rule, X, y, 1.0 + twice)
    repeated = fit(rule, np.concatenate([X, X[twice]]), np.concatenate([y, y[twice]]))
    same_optimum(weighted, repeated)


def test_names_of_classes_do_not_matter(rule: str) -> None:
    X, y = make_classes(80)
    names = np.array(["d", "a", "c", "b"])
    one, other = fit(rule, X, y), fit(rule, X, names[y])
    same_optimum(one, other)
    assert (names[one.predict(X)] == other.predict(X)).mean() > 0.98


def test_scaling_of_features_against_cost(rule: str) -> None:
    X, y = make_classes(80)
    same_optimum(fit(rule, X, y, C=4.0), fit(rule, 2.0 * X, y, C=1.0), factor=4.0)


def test_two_classes_are_the_binary_problem(rule: str) -> None:
    """With w₁ = −w₀ = u/2 either rule is half the binary objective of u at twice the cost."""
    X, y = make_classes(80, 5, 2)
    for intercept in (False, True):
        together = fit(rule, X, y, C=0.7, fit_intercept=intercept)
        binary = LinearSVC("hinge", C=1.4, tol=TOL, fit_intercept=intercept).fit(X, y)
        same_optimum(together, binary, factor=0.5)
        assert together.coef_.shape == (1, 5)
        np.testing.assert_allclose(
            together.coef_, binary.coef_, atol=2e-2 * abs(binary.coef_).max()
        )


def test_weights_follow_from_the_dual_variables(rule: str) -> None:
    X, y = make_classes(80)
    model = fit(rule, X, y)
    np.testing.assert_allclose(model.dual_coef_ @ X, model.coef_, atol=1e-2)
    assert model.dual_coef_.shape == (4, 80)
    np.testing.assert_array_equal(
        np.flatnonzero(np.diff(model.dual_coef_.tocsc().indptr)), model.support_
    )


@pytest.mark.parametrize("intercept", [False, True, "penalised"])
def test_warm_start_is_never_worse_and_profits(rule: str, intercept: bool | str) -> None:
    X, y = make_classes(200)
    model = fit(rule, X, y, fit_intercept=intercept, tol=1e-4, warm_start=True)
    first = int(np.max(model.n_iter_))
    model.fit(X, y)
    assert np.max(model.n_iter_) <= 1 < first
    before = model.certificate_.primal
    model.set_params(tol=1e-5).fit(X, y)
    assert model.certificate_.primal <= before


def test_warm_start_from_fewer_rows(rule: str) -> None:
    X, y = make_classes(200)
    model = fit(rule, X[:100], y[:100], warm_start=True).fit(X, y)
    same_optimum(model, fit(rule, X, y))


def test_sparse_and_dense_agree(rule: str) -> None:
    X, y = make_classes(100, density=0.3)
    one, other = fit(rule, X, y), fit(rule, sp.csr_array(X), y)
    same_optimum(one, other)
