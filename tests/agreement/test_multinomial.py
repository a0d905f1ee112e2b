"""Multinomial logistic regression: cvxpy's optimum, scikit-learn's probabilities, laws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Theirs

from widemargin import LogisticRegression, LogisticRegressionCV, path
from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Point
from widemargin.problems.multinomial import MultinomialProblem


def blobs(n=60, d=4, k=3, seed=0, spread=1.0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = random.normal(size=(n, d)) + spread * random.normal(size=(k, d))[y]
    return X, y


def objective(X, y, W, b, cost, penalised=0.0):
    """Return P, written again in numpy."""
    scores = X @ W.T + b
    losses = logsumexp(scores, axis=1) - scores[np.arange(y.size), y]
    return 0.5 * (W**2).sum() + penalised + float(cost @ losses)


def dual_value(X, y, A, cost, constant=0.0):
    """Return D, written again in numpy; A has to be feasible."""
    assert (A >= 0.0).all()
    np.testing.assert_allclose(A.sum(axis=1), cost, rtol=1e-13)
    coefficients = -A.copy()
    coefficients[np.arange(y.size), y] += cost
    rows = np.hstack([X, np.full((y.size, 1), constant)]) if constant else X
    share = A / cost[:, None]
    entropy = -(A * np.log(np.where(share > 0.0, share, 1.0))).sum()
    return float(entropy) - 0.5 * ((coefficients.T @ rows) ** 2).sum()


def by_cvxpy(X, y, cost, intercept):
    cp = pytest.importorskip("cvxpy")
    k, d = y.max() + 1, X.shape[1]
    W, b = cp.Variable((k, d)), cp.Variable(k)
    scores = X @ W.T + np.ones((y.size, 1)) @ cp.reshape(b, (1, k), order="C")
    own = cp.sum(cp.multiply(scores, np.eye(k)[y]), axis=1)
    objective = 0.5 * cp.sum_squares(W) + cost @ (cp.log_sum_exp(scores, axis=1) - own)
    rules = []
    if intercept == "penalised":
        objective = objective + 0.5 * cp.sum_squares(b)
    elif intercept is False:
        rules = [b == 0.0]
    problem = cp.Problem(cp.Minimize(objective), rules)
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9)
    return problem.value


@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_of_cvxpy(intercept, solver, C):
    X, y = blobs()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=y.size)
    model = LogisticRegression(
        C=C, tol=1e-9, fit_intercept=intercept, solver=solver, max_iter=20_000
    ).fit(X, y, sample_weight=weight)
    found = by_cvxpy(X, y, C * weight, intercept)
    assert model.status_ == ["converged"]
    assert model.certificate_.primal == pytest.approx(found, rel=1e-6)
    assert model.certificate_.dual <= found * (1.0 + 1e-7)
    # The values that are printed are those of the independent formulas.
    penalised = 0.5 * (model.intercept_**2).sum() if intercept == "penalised" else 0.0
    value = objective(X, y, model.coef_, model.intercept_, C * weight, penalised)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-12)
    problem = MultinomialProblem.of(TrainingSet.of(X, y, weight, C=C, fit_intercept=intercept))
    A = problem.duals_of(model.dual_coef_)
    constant = 1.0 if intercept == "penalised" else 0.0
    assert model.certificate_.dual == pytest.approx(
        dual_value(X, y, A, C * weight, constant), rel=1e-9
    )
    if intercept is True:
        np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-11 * C * y.size)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
def test_probabilities_are_those_of_scikit_learn(kind, dtype, solver):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)).astype(dtype)
    rows = sp.csr_array(X) if kind == "csr" else X
    ours = LogisticRegression(tol=1e-12, solver=solver, max_iter=100_000).fit(rows, y)
    theirs = Theirs(tol=1e-10, max_iter=100_000).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(X), atol=2e-6)
    np.testing.assert_allclose(
        ours.predict_log_proba(rows), np.log(ours.predict_proba(rows)), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_class_weights_and_labels_are_those_of_scikit_learn():
    X, y = blobs(90, 5, 4, seed=3)
    names = np.array(["d", "a", "c", "b"])[y]
    settings = {"C": 2.0, "class_weight": {"a": 3.0, "b": 0.5}}
    ours = LogisticRegression(tol=1e-10, **settings).fit(X, names)
    theirs = Theirs(tol=1e-9, max_iter=10_000, **settings).fit(X, names)
    assert (ours.classes_ == theirs.classes_).all()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_two_classes_are_the_binary_problem():
    X, y = blobs(60, 4, 2)
    joint, separate = (
        LogisticRegression(tol=1e-8, multi_class=rule).fit(X, y) for rule in ("multinomial", "ovr")
    )
    np.testing.assert_array_equal(joint.coef_, separate.coef_)
    np.testing.assert_array_equal(joint.predict_proba(X), separate.predict_proba(X))


def test_one_vs_rest_is_still_there():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(multi_class="ovr").fit(X, y)
    assert len(model.certificates_) == 3
    with pytest.raises(ValueError, match="multi_class must be 'multinomial' or 'ovr'"):
        LogisticRegression(multi_class="crammer_singer").fit(X, y)


@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
def test_any_point_gets_a_true_certificate(intercept, scale):
    """Weights and dual variables at random: D is below the optimum, P above."""
    X, y = blobs(40, 3, 5, seed=2)
    data = TrainingSet.of(X, y, C=0.7, fit_intercept=intercept)
    problem = MultinomialProblem.of(data)
    best = LogisticRegression(C=0.7, tol=1e-10, fit_intercept=intercept).fit(X, y).certificate_
    random = np.random.default_rng(5)
    for _ in range(20):
        point = Point(
            scale * random.normal(size=(5, problem.rows.weights)),
            scale * random.normal(size=5),
            random.exponential(size=(40, 5)) ** 3 * (random.random((40, 5)) < 0.8),
        )
        fixed, certificate = problem.certify(point)
        assert certificate.dual <= best.primal * (1.0 + 1e-12)
        assert certificate.primal >= best.dual * (1.0 - 1e-12)
        assert (fixed.alpha >= 0.0).all()
        np.testing.assert_allclose(fixed.alpha.sum(axis=1), 0.7, rtol=1e-14)


def test_a_weight_of_two_is_the_row_twice():
    X, y = blobs(50, 4, 3, seed=4)
    weight = np.where(np.arange(50) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(50), np.flatnonzero(weight == 2.0)])
    one = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=weight)
    other = LogisticRegression(tol=1e-10).fit(X[twice], y[twice])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)


def test_warm_start_needs_no_steps():
    X, y = blobs(80, 6, 4)
    model = LogisticRegression(tol=1e-6, warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    model.fit(X, y)
    assert first > 0
    assert model.n_iter_[0] == 0
    model.set_params(C=1.2).fit(X, y)
    assert model.status_ == ["converged"]


def test_path_and_search():
    X, y = blobs(120, 5, 3, seed=6)
    over = path(X, y, [0.01, 0.1, 1.0], loss="logistic", multi_class="multinomial", tol=1e-7)
    assert over.coefs.shape == (3, 3, 5)
    assert over.converged
    alone = LogisticRegression(C=1.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(over.coefs[-1], alone.coef_, atol=1e-3)
    model = LogisticRegressionCV([0.01, 0.1, 1.0], scoring="neg_log_loss", cv=3).fit(X, y)
    assert model.path_["primal"].shape == (3, 3, 1)
    same = LogisticRegression(C=model.C, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-2)
    automatic = LogisticRegressionCV(cv=3).fit(X, y)
    assert automatic.score(X, y) > 0.5
    with pytest.raises(ValueError, match="multi_class='ovr'"):
        LogisticRegressionCV(certify=0.1, fit_intercept=False).fit(X, y)


def test_rows_without_cost_or_features_do_no_harm():
    X, y = blobs(60, 4, 3)
    weight = np.ones(60)
    weight[:6] = 0.0
    X[6:9] = 0.0
    for solver in ("newton", "dual_cd"):
        for intercept in (True, False):
            model = LogisticRegression(
                tol=1e-8, solver=solver, fit_intercept=intercept, max_iter=10_000
            ).fit(X, y, sample_weight=weight)
            assert model.status_ == ["converged"]
            rest = LogisticRegression(tol=1e-8, fit_intercept=intercept).fit(X[6:], y[6:])
            np.testing.assert_allclose(model.coef_, rest.coef_, atol=1e-3)


def test_many_rows_begin_on_samples():
    X, y = blobs(6000, 3, 4, spread=0.7)
    model = LogisticRegression(tol=1e-6, solver="newton").fit(X, y)
    assert model.status_ == ["converged"]
    assert model.certificate_.relative_gap <= 1e-6
