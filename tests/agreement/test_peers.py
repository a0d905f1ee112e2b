"""Coefficients against scikit-learn and, where it is installed, LIBLINEAR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.multiclass import OneVsRestClassifier

from oracle import Oracle, estimator, make_data

WEIGHTS = np.random.default_rng(8).uniform(0.2, 3.0, size=160)


def three_classes(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(9).normal(size=(X.shape[0], 3))
    return np.array(["ant", "bee", "cat"])[np.argmax(X[:, :3] + 0.5 * noise, axis=1)]


def assert_same(model: Any, coef: np.ndarray, intercept: np.ndarray | float) -> None:
    scale = np.abs(coef).max()
    np.testing.assert_allclose(model.coef_, coef, atol=2e-5 * scale)
    np.testing.assert_allclose(
        model.intercept_, np.broadcast_to(intercept, model.intercept_.shape), atol=5e-5 * scale
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", ["penalised", False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_scikit_learn_linear_svc(loss: str, intercept: Any, weighted: bool, classes: int) -> None:
    X, y = make_data("tall", seed=10)
    if classes == 3:
        y = three_classes(X)
    weight = WEIGHTS if weighted else None
    scaling = 2.0 if intercept else 1.0
    theirs = sklearn.svm.LinearSVC(
        loss=loss,
        C=0.3,
        dual=loss == "hinge",
        tol=1e-9,
        max_iter=300_000,
        fit_intercept=bool(intercept),
        intercept_scaling=scaling,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, y, sample_weight=weight)
    ours = estimator(
        loss, C=0.3, tol=1e-12, fit_intercept=intercept, intercept_scaling=scaling, max_iter=50_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 1e-12 is beyond what is promised; the answer counts
        ours.fit(X, y, sample_weight=weight)
    assert_same(ours, theirs.coef_, theirs.intercept_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    # Two answers to 1e-5 give the same function to a little more than that.
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_scikit_learn_logistic(intercept: bool, weighted: bool, classes: int) -> None:
    X, y = make_data("tall", seed=12)
    weight = WEIGHTS if weighted else None
    theirs: Any = sklearn.linear_model.LogisticRegression(
        C=2.0, tol=1e-12, solver="newton-cholesky", fit_intercept=intercept, max_iter=1000
    )
    ours = estimator("logistic", C=2.0, tol=1e-11, fit_intercept=intercept)
    if classes == 3:
        y = three_classes(X)
        theirs = OneVsRestClassifier(theirs)
        # The one-vs-rest wrapper of scikit-learn takes no weights without metadata routing.
        weight = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    ours.fit(X, y, sample_weight=weight)
    if classes == 3:
        coef = np.vstack([one.coef_ for one in theirs.estimators_])
        constant = np.concatenate([np.ravel(one.intercept_) for one in theirs.estimators_])
    else:
        coef, constant = theirs.coef_, theirs.intercept_
    assert_same(ours, coef, constant)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(
        np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_exact_intercept_against_libsvm() -> None:
    """LIBSVM's linear kernel solves the hinge with the exact intercept."""
    X, y = make_data("tall", seed=13)
    theirs = sklearn.svm.SVC(kernel="linear", C=0.5, tol=1e-9).fit(X, y)
    ours = estimator("hinge", C=0.5, tol=1e-10, max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    # LIBSVM's dual variables are feasible for our dual, and its D meets our P.
    alpha = np.zeros(y.size)
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    D = Oracle(X, y, np.full(y.size, 0.5), "hinge").dual(alpha)
    assert pytest.approx(ours.primal_[0], rel=1e-6) == D


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [-1.0, 2.0])
@pytest.mark.parametrize(
    ("loss", "kind"),
    [("squared_hinge", 1), ("squared_hinge", 2), ("hinge", 3), ("logistic", 0), ("logistic", 7)],
)
def test_liblinear(loss: str, kind: int, bias: float, weighted: bool) -> None:
    """LIBLINEAR's solver numbers: 0, 7 logistic; 1, 2 squared hinge; 3 hinge."""
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = make_data("tall", seed=14)
    # LIBLINEAR's dual methods stop after 300 sweeps, which settle the hinge only at a small C.
    C = 0.01 if loss == "hinge" else 0.4
    options = f"-s {kind} -c {C} -B {bias} -e 1e-9 -q" + (" -w1 2.5" if weighted else "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = liblinear.train(y, sp.csr_matrix(X), options)
    w, b = theirs.get_decfun()
    sign = 1.0 if theirs.get_labels()[0] == 1 else -1.0
    if bias > 0:
        arguments: Any = {"fit_intercept": "penalised", "intercept_scaling": bias}
    else:
        arguments = {"fit_intercept": False}
    ours = estimator(
        loss,
        C=C,
        tol=1e-10,
        class_weight={1.0: 2.5} if weighted else None,
        max_iter=50_000,
        **arguments,
    ).fit(X, y)
    assert_same(ours, sign * np.array([w]), sign * b)
