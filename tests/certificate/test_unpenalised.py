"""Logistic regression without a penalty: the bound holds, and separable classes are recognised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as TheirLogistic

from widemargin import LogisticRegression, load_model, model_of, save_model
from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Point
from widemargin.problems.curvature_bounds import factor_of
from widemargin.problems.losses import LOGISTIC
from widemargin.problems.unpenalised import UnpenalisedProblem
from widemargin.problems.unpenalised_multinomial import UnpenalisedMultinomialProblem


def noisy(seed: int, n: int = 120, d: int = 4) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.geomspace(0.1, 30.0, d) + 2.0
    y = (X @ random.normal(size=d) / 10.0 + 2.0 * random.normal(size=n) > 0.0).astype(int)
    return X, y


def optimum(X: Any, y: Any, weight: Any, intercept: bool) -> float:
    """Minimise with scipy, columns scaled."""
    Z = np.column_stack([X / X.std(axis=0), np.ones(y.size)]) if intercept else X / X.std(axis=0)
    signs = 2.0 * y - 1.0

    def value(v: Any) -> tuple[float, Any]:
        margins = signs * (Z @ v)
        slope = -signs * weight / (1.0 + np.exp(margins))
        return float(weight @ np.logaddexp(0.0, -margins)), Z.T @ slope

    start = np.zeros(Z.shape[1])
    found = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    return float(found.fun)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_at_any_point(seed: int, intercept: bool) -> None:
    X, y = noisy(seed)
    weight = np.random.default_rng(seed).uniform(0.0, 3.0, y.size)
    best = optimum(X, y, weight, intercept)
    data = TrainingSet.of(X, y, weight, fit_intercept=intercept)
    problem = UnpenalisedProblem.of(data, 1, LOGISTIC)
    model = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-12).fit(X, y, weight)
    assert model.status_ == ["converged"]
    assert model.certificate_.primal == pytest.approx(best, rel=1e-9)
    random, positive = np.random.default_rng(0), 0
    for size in (1e-8, 1e-4, 1e-2, 0.1, 1.0, 10.0):
        w = model.coef_[0] * (1.0 + size * random.normal(size=X.shape[1]))
        _, certificate = problem.certify(Point(w, float(model.intercept_[0]), None))
        assert certificate.dual <= best * (1.0 + 1e-9)
        assert certificate.primal >= best * (1.0 - 1e-9)
        positive += certificate.dual > 0.0
    assert positive >= 2


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_small_gap_and_layouts(layout: Any) -> None:
    X, y = noisy(7)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(layout(X), y)
    assert model.certificate_.relative_gap <= 1e-10
    assert "newton" in model.solver_
    none = LogisticRegression(None, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(none.coef_, model.coef_, rtol=1e-6)
    again = LogisticRegression(C=np.inf, tol=1e-10, warm_start=True).fit(X, y).fit(X, y)
    assert again.n_iter_[0] <= 1


def test_columns_that_depend_on_each_other() -> None:
    X, y = noisy(3)
    X = np.rint(1024.0 * X) / 1024.0  # sums of two columns are exact
    twice = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    model = LogisticRegression(C=np.inf, tol=1e-9).fit(twice, y)
    single = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    assert model.status_ == ["converged"]
    assert model.certificate_.primal == pytest.approx(single.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(
        model.decision_function(twice), single.decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("rule", ["ovr", "multinomial"])
def test_dummy_variables_and_an_intercept(rule: str) -> None:
    """Their sum is the constant: exactly dependent, and proved all the same."""
    random = np.random.default_rng(0)
    X = np.column_stack([np.eye(4)[np.arange(200) % 4], random.normal(size=200)])
    y = random.integers(3, size=200)
    model = LogisticRegression(C=np.inf, tol=1e-8, multi_class=rule).fit(X, y)
    assert set(model.status_) == {"converged"}


@pytest.mark.parametrize("rule", ["ovr", "multinomial"])
def test_columns_that_nearly_depend_on_each_other(rule: str) -> None:
    """Weights of 1e16 make use of the last digits: the objective of fewer columns is no bound."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    X = np.column_stack([X, 0.1 * X[:, 0] + 0.7 * X[:, 1]])
    y = random.integers(3, size=60)
    model = LogisticRegression(C=np.inf, multi_class=rule)
    with pytest.warns(ConvergenceWarning, match="columns nearly depend on each other"):
        model.fit(X, y)
    assert set(model.status_) == {"no_proof"}
    assert (model.dual_ == 0.0).all()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]),
        # One plane holds examples of both classes: the weight grows all the same.
        ([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]], [0, 0, 0, 1, 1, 1]),
    ],
)
def test_separable_classes_are_recognised(X: Any, y: Any) -> None:
    model = LogisticRegression(C=np.inf)
    with pytest.warns(ConvergenceWarning, match="the classes are separable, and without a penalty"):
        model.fit(X, y)
    assert model.status_ == ["no_optimum"]
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.dual == 0.0


def test_too_few_steps_are_not_taken_for_separable_classes() -> None:
    X, y = noisy(5)
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = LogisticRegression(C=np.inf, max_iter=1, tol=1e-12).fit(X, y)
    assert model.status_ == ["iteration_limit"]


def test_what_goes_with_it(tmp_path: Any) -> None:
    X, y = noisy(1)
    model = LogisticRegression(C=np.inf).fit(X, y)
    save_model(model_of(model), tmp_path / "a.model")
    assert load_model(tmp_path / "a.model").C is None
    with pytest.raises(ValueError, match="solver 'dual_cd' does not support problems without"):
        LogisticRegression(C=np.inf, solver="dual_cd").fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive finite number; got -inf"):
        LogisticRegression(C=-np.inf).fit(X, y)
    with pytest.warns(UserWarning, match="penalty=None will ignore the C"):
        LogisticRegression(penalty=None, C=4.0).fit(X, y)
    single = LogisticRegression(C=np.inf).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32


def test_several_classes_one_against_the_rest() -> None:
    X, y = make_classification(
        400, 6, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.3, random_state=0
    )
    model = LogisticRegression(C=np.inf, solver="auto")
    if "multi_class" in model.get_params():
        model.set_params(multi_class="ovr")
    assert model.fit(X, y).certificate_.relative_gap <= 1e-4


def several(seed: int, n: int = 150, d: int = 4, k: int = 4) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.geomspace(0.1, 30.0, d) + 2.0
    scores = X @ random.normal(size=(d, k)) / 10.0 + 2.0 * random.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def joint_optimum(X: Any, y: Any, weight: Any, intercept: bool) -> float:
    Z = np.column_stack([X / X.std(axis=0), np.ones(y.size)]) if intercept else X / X.std(axis=0)
    k = int(y.max()) + 1

    def value(v: Any) -> tuple[float, Any]:
        scores = Z @ v.reshape(k, -1).T
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        slope = np.exp(logs) - np.eye(k)[y]
        return -float(weight @ logs[np.arange(y.size), y]), (
            (weight[:, None] * slope).T @ Z
        ).ravel()

    start = np.zeros(k * Z.shape[1])
    found = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(found.fun)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_several_classes_holds_at_any_point(seed: int, intercept: bool) -> None:
    X, y = several(seed)
    weight = np.random.default_rng(seed).uniform(0.0, 3.0, y.size)
    best = joint_optimum(X, y, weight, intercept)
    problem = UnpenalisedMultinomialProblem.of(
        TrainingSet.of(X, y, weight, fit_intercept=intercept)
    )
    model = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-11).fit(X, y, weight)
    assert model.status_ == ["converged"]
    assert model.certificate_.primal == pytest.approx(best, rel=1e-8)
    random, positive = np.random.default_rng(0), 0
    for size in (1e-8, 1e-4, 1e-2, 0.1, 1.0, 10.0):
        w = model.coef_ * (1.0 + size * random.normal(size=model.coef_.shape))
        _, certificate = problem.certify(Point(w, model.intercept_, None))
        assert certificate.dual <= best * (1.0 + 1e-9)
        assert certificate.primal >= best * (1.0 - 1e-9)
        positive += certificate.dual > 0.0
    assert positive >= 2


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_classes_as_scikit_learn_has_them(layout: Any, dtype: Any) -> None:
    X, y = several(5)
    X = X.astype(dtype)
    names = np.array(["a", "b", "c", "d"])[y]
    model = LogisticRegression(C=np.inf, tol=1e-8).fit(layout(X), names)
    theirs = TheirLogistic(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(
        X.astype(np.float64), names
    )
    np.testing.assert_allclose(
        model.predict_proba(X.astype(np.float64)),
        theirs.predict_proba(X.astype(np.float64)),
        atol=1e-3,
    )
    assert model.coef_.dtype == dtype
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-6)
    again = LogisticRegression(C=np.inf, warm_start=True).fit(X, y).fit(X, y)
    assert again.n_iter_[0] <= 1


def test_three_classes_of_which_one_stands_apart() -> None:
    """One class on its own side is enough for the optimum not to exist."""
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(C=np.inf)
    with pytest.warns(ConvergenceWarning, match="the classes are separable, and without a penalty"):
        model.fit(X, y)
    assert model.status_ == ["no_optimum"]
    assert model.score(X, y) > 0.97
    X, y = X[:, 1:2], y  # sepal widths overlap
    assert LogisticRegression(C=np.inf).fit(X, y).status_ == ["converged"]


def test_too_many_weights_for_second_derivatives() -> None:
    X = sp.random_array((50, 6000), density=0.01, format="csr", random_state=0)
    with pytest.raises(ValueError, match="more than a gigabyte"):
        LogisticRegression(C=np.inf).fit(X, np.arange(50) % 3)


@pytest.mark.parametrize("least", [0.0, np.inf, np.nan])
def test_second_derivatives_without_a_scale_prove_nothing(least: float) -> None:
    """It was a ValueError once where probabilities had underflowed."""
    F, sums = factor_of(np.diag([1.0, least]))
    assert not F.any()
    assert not sums.any()
