"""The 1-norm and the elastic net against a generic convex solver, LIBLINEAR and scikit-learn."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import scale

from widemargin import LinearSVC, LogisticRegression, smallest_C

cp = pytest.importorskip("cvxpy")
SETTINGS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 200}


def model_of(loss: str, **settings: Any) -> Any:
    """An estimator of that loss."""
    kind = LogisticRegression if loss == "logistic" else partial(LinearSVC, loss)
    return kind(**settings)


def objective(loss: str, ratio: float, X: Any, y: Any, c: Any, intercept: Any) -> tuple[Any, ...]:
    """The problem as a generic solver takes it: its optimum and weights."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    m = cp.multiply(y, X @ w + (b if intercept else 0.0))
    losses = cp.logistic(-m) if loss == "logistic" else cp.square(cp.pos(1.0 - m))
    penalised = cp.hstack([w, b]) if intercept == "penalised" else w
    penalty = ratio * cp.norm1(penalised) + 0.5 * (1.0 - ratio) * cp.sum_squares(penalised)
    problem = cp.Problem(cp.Minimize(penalty + c @ losses))
    problem.solve(solver=cp.CLARABEL, **SETTINGS)
    return float(problem.value), np.asarray(w.value)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False, "penalised"])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_optimum_of_a_generic_solver(loss, ratio, intercept, weighted):
    """Value to 1e-6 for both solvers, dense and CSR, float32 and float64; weights where unique."""
    random = np.random.default_rng(3)
    X = random.normal(size=(40, 9)).astype(np.float32).astype(np.float64)
    X[random.random(X.shape) < 0.3] = 0.0
    y = np.where(X[:, 0] - X[:, 1] + random.normal(size=40) > 0.3, 1, -1)
    weight = random.choice([0.0, 0.5, 1.0, 3.0], size=40) if weighted else np.ones(40)
    C = 0.8
    value, w = objective(loss, ratio, X, y, C * weight, intercept)
    layouts = [X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32))]
    for solver, layout in zip(
        ["primal_cd", "proximal_newton", "auto", "auto"], layouts, strict=True
    ):
        model = model_of(
            loss,
            penalty="elasticnet",
            l1_ratio=ratio,
            C=C,
            fit_intercept=intercept,
            tol=1e-9 if layout.dtype == np.float64 else 1e-6,
            solver=solver,
        ).fit(layout, y, weight)
        assert abs(model.certificate_.primal - value) <= 1e-6 * value
        assert abs(model.certificate_.dual - value) <= 1e-6 * value
        if layout.dtype == np.float64:
            np.testing.assert_allclose(model.coef_[0], w, atol=2e-4)


@pytest.mark.parametrize("C", [0.02, 0.3])
def test_liblinear_minimises_the_same(C):
    """LIBLINEAR's -s 5 and -s 6, with its penalised intercept."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    theirs = sklearn.svm.LinearSVC(penalty="l1", dual=False, C=C, tol=1e-10, max_iter=10**6)
    ours = LinearSVC(penalty="l1", C=C, fit_intercept="penalised", tol=1e-10)
    np.testing.assert_allclose(ours.fit(X, y).coef_, theirs.fit(X, y).coef_, atol=1e-5)
    theirs = sklearn.linear_model.LogisticRegression(
        l1_ratio=1.0, C=C, solver="liblinear", tol=1e-10, max_iter=10**6
    ).fit(X, y)
    ours = LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", tol=1e-10)
    np.testing.assert_allclose(ours.fit(X, y).coef_, theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_saga_minimises_the_same(ratio):
    """scikit-learn's elastic net, with an intercept that is not penalised."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    theirs = sklearn.linear_model.LogisticRegression(
        l1_ratio=ratio, C=0.05, solver="saga", tol=1e-9, max_iter=10**5
    ).fit(X, y)
    ours = LogisticRegression(l1_ratio=ratio, C=0.05, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", "proximal_newton", "primal_cd"])
def test_many_columns(loss, solver):
    """Working sets find the solution among many columns; both ways of giving the penalty."""
    X, y = make_classification(120, 900, n_informative=12, random_state=0)
    first = model_of(loss, penalty="l1", C=0.05, tol=1e-9, solver=solver).fit(X, y)
    second = model_of(loss, l1_ratio=1.0, C=0.05, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-5)
    assert 0 < np.count_nonzero(first.coef_) < 120


def test_smallest_C_is_where_weights_begin():
    """All weights are zero up to it, one is not just above it."""
    X, y = load_breast_cancer(return_X_y=True)
    for loss in ("logistic", "squared_hinge"):
        C = smallest_C(X, y, loss=loss, l1_ratio=0.8)
        below = model_of(loss, penalty="elasticnet", l1_ratio=0.8, C=0.999 * C, tol=1e-8).fit(X, y)
        above = model_of(loss, penalty="elasticnet", l1_ratio=0.8, C=1.001 * C, tol=1e-8).fit(X, y)
        assert not below.coef_.any()
        assert np.count_nonzero(above.coef_) == 1


def test_one_vs_rest_and_sparsify():
    """Each class has weights of its own; scores do not change when they are stored sparse."""
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(penalty="l1", C=0.1).fit(X, y)
    assert model.coef_.shape == (3, 4)
    scores = model.decision_function(X)
    assert (model.coef_ == 0.0).any()
    np.testing.assert_allclose(model.sparsify().decision_function(X), scores)


def test_warm_start_needs_no_step():
    """A second fit at the same C starts from the answer."""
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(l1_ratio=1.0, C=0.1, warm_start=True).fit(scale(X), y)
    assert model.fit(scale(X), y).n_iter_[0] == 0


def test_refusals():
    """The hinge has no second derivatives; each says what to use."""
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="the 1-norm needs a smooth loss, which 'hinge' is not"):
        LinearSVC("hinge", penalty="l1").fit(X, y)
    with pytest.raises(ValueError, match="l1_ratio must be specified"):
        LinearSVC(penalty="elasticnet").fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="l1_ratio must be a number between 0 and 1"):
        LogisticRegression(l1_ratio=1.5).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="does not support problems with sparse weights"):
        LogisticRegression(l1_ratio=1.0, solver="newton").fit(X[:100], y[:100])
