"""The 1-norm and the elastic net with all classes at once, against other solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import scale

from widemargin import LogisticRegression, LogisticRegressionCV, path, smallest_C, verify_exactly

cp = pytest.importorskip("cvxpy")
SETTINGS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 200}


def optimum(X: Any, y: Any, c: Any, ratio: float, intercept: Any) -> float:
    """The value that a generic convex solver finds."""
    k = int(y.max()) + 1
    W, b = cp.Variable((X.shape[1], k)), cp.Variable((1, k))
    scores = X @ W + (np.ones((len(y), 1)) @ b if intercept else 0.0)
    own = cp.sum(cp.multiply(scores, np.eye(k)[y]), axis=1)
    penalised = cp.vstack([W, b]) if intercept == "penalised" else W
    penalty = ratio * cp.sum(cp.abs(penalised)) + 0.5 * (1 - ratio) * cp.sum_squares(penalised)
    losses = cp.log_sum_exp(scores, axis=1) - own
    problem = cp.Problem(cp.Minimize(penalty + c @ losses))
    problem.solve(solver=cp.CLARABEL, **SETTINGS)
    return float(problem.value)


@pytest.mark.parametrize("intercept", [True, False, "penalised"])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_optimum_of_a_generic_solver(ratio, intercept):
    """Value to 1e-6 for both solvers, dense and CSR, float32 and float64, weights included."""
    random = np.random.default_rng(5)
    X = random.normal(size=(40, 6)).astype(np.float32).astype(np.float64)
    X[random.random(X.shape) < 0.3] = 0.0
    y = np.argmax(X[:, :3] + random.normal(size=(40, 3)), axis=1)
    weight = random.choice([0.0, 0.5, 1.0, 3.0], size=40)
    value = optimum(X, y, 0.8 * weight, ratio, intercept)
    layouts = [X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32))]
    solvers = ["primal_cd", "proximal_newton", "auto", "auto"]
    for solver, layout in zip(solvers, layouts, strict=True):
        tol = 1e-9 if layout.dtype == np.float64 else 1e-6
        model = LogisticRegression(
            l1_ratio=ratio, C=0.8, fit_intercept=intercept, tol=tol, solver=solver
        ).fit(layout, y, weight)
        assert abs(model.certificate_.primal - value) <= 2e-6 * value
        assert abs(model.certificate_.dual - value) <= 2e-6 * value
        pytest.importorskip("flint")
        report = verify_exactly(model, layout, y, weight)
        assert report
        assert report.problems[0].relative_gap <= 1e-5


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_scikit_learn_has_the_same_probabilities(ratio, C):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    theirs = sklearn.linear_model.LogisticRegression(
        C=C, l1_ratio=ratio, solver="saga", tol=1e-9, max_iter=100_000
    ).fit(X, y)
    ours = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-11).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(ours.coef_ != 0.0, np.abs(theirs.coef_) > 1e-6)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_classes_that_depend_on_each_other(C):
    """Ten classes at a large C to 1e-8, where rounds over the classes alone take thousands."""
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(l1_ratio=1.0, C=C, tol=1e-8, max_iter=100).fit(
        scale(X[:600]), y[:600]
    )
    assert model.status_ == ["converged"]
    assert 0 < np.count_nonzero(model.coef_) < 0.5 * model.coef_.size


def test_path_search_and_smallest_C():
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    first = smallest_C(X, y, loss="logistic", multi_class="multinomial", l1_ratio=1.0)
    for factor, some in ((0.999, False), (1.01, True)):
        model = LogisticRegression(C=factor * first, l1_ratio=1.0, tol=1e-9).fit(X, y)
        assert model.coef_.any() == some
    found = path(X, y, [0.1, 1.0], loss="logistic", multi_class="multinomial", l1_ratio=1.0)
    alone = LogisticRegression(C=1.0, l1_ratio=1.0, tol=1e-8).fit(X, y)
    gap = found.certificates[-1].primal - alone.certificate_.primal
    assert abs(gap) <= 1e-3 * alone.certificate_.primal
    search = LogisticRegressionCV(
        [0.01, 1.0], l1_ratios=[0.0, 1.0], use_legacy_attributes=False, cv=3
    ).fit(X, y)
    assert search.scores_.shape == (3, 2, 2)
    assert search.coefs_paths_.shape == (3, 2, 2, 3, 5)
    assert search.score(X, y) > 0.9
