"""scikit-learn's solvers by name: their limits, tolerance and words; its announced changes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.linear_model
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import widemargin
from widemargin import LinearSVC, LogisticRegression, LogisticRegressionCV
from widemargin.estimators import future_changes

pytestmark = pytest.mark.filterwarnings("ignore::widemargin.IgnoredArgumentWarning")

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[::3]
y = y[::3]
IRIS = load_iris(return_X_y=True)
NEW = future_changes._VERSION >= (1, 8)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(solver="lbfgs", l1_ratio=1), "Solver lbfgs supports only 'l2'"),
        (LogisticRegression(solver="sag", dual=True), "Solver sag supports only dual=False"),
        (LogisticRegression(solver="liblinear", l1_ratio=0.5), "Only 'saga' solver supports"),
        (LogisticRegression(solver="liblinear", C=np.inf), "not supported for the liblinear"),
        (LogisticRegression(solver="liblinear"), "does not support multiclass"),
        (LinearSVC(loss="hinge", dual=False), "Unsupported set of arguments"),
        (LinearSVC(penalty="l1", dual=True), "Unsupported set of arguments"),
        (LinearSVC(penalty="l1", loss="hinge"), "the 1-norm needs a smooth loss"),
    ],
    ids=str,
)
def test_limits(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(*IRIS)


def test_limits_of_the_data() -> None:
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    with pytest.raises(ValueError, match="32-bit integer indices"):
        LogisticRegression(solver="saga").fit(wide, y)
    with pytest.raises(ValueError, match="maximum value > 1e30"):
        LogisticRegression(solver="liblinear").fit([[0.0], [1e100]], [0, 1])
    LogisticRegression().fit(wide, y)
    model = LogisticRegression(solver="liblinear").fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float64


def test_a_grid_skips_what_scikit_learn_skips() -> None:
    grid = {"solver": ["lbfgs", "saga", "liblinear"], "l1_ratio": [0.0, 0.5, 1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            GridSearchCV(module.LogisticRegression(max_iter=5000), grid, cv=2).fit(X, y)
            for module in (widemargin, sklearn.linear_model)
        ]
    scores = [np.isnan(search.cv_results_["mean_test_score"]) for search in found]
    if not NEW:  # l1_ratio alone says nothing there
        scores[1] = np.array([s == "lbfgs" and r > 0.0 for r in grid["l1_ratio"] for s in
                              grid["solver"]]) | scores[0]  # fmt: skip
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_a_named_solver_bounds_the_gradient(C: float) -> None:
    """The relative gap is the square of tol, so that coefficients agree to about tol."""
    near = LogisticRegression(C=C, solver="lbfgs", tol=1e-4).fit(X, y)
    exact = LogisticRegression(C=C, tol=1e-13).fit(X, y)
    assert near.certificate_.relative_gap <= 1e-8
    np.testing.assert_allclose(near.coef_, exact.coef_, rtol=1e-3, atol=1e-3)
    assert LogisticRegression(tol=1e-4).fit(X, y).certificate_.relative_gap > 1e-8
    assert LogisticRegression(solver="saga", tol=1e-8).fit(X, y).status_ == ["converged"]


def test_folds_are_as_exact() -> None:
    grid, quiet = [0.1, 10.0], {"l1_ratios": (0,), "scoring": "neg_log_loss"}
    model = LogisticRegressionCV(grid, solver="saga", use_legacy_attributes=False, **quiet)
    assert max(c.relative_gap for c in model.fit(X, y).certificates_) <= 1e-8


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ("lbfgs", "lbfgs failed to converge"),
        ("liblinear", "Liblinear failed to converge, increase the number of iterations"),
        ("newton-cholesky", "Newton solver did not converge after 1 iterations"),
        ("sag", "The max_iter was reached which means the coef_ did not converge"),
        ("auto", "stopped after 1 iteration "),
    ],
)
def test_warnings_begin_as_expected(solver: str, words: str) -> None:
    model = LogisticRegression(solver=solver, max_iter=1, tol=1e-13)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert [str(w.message).startswith(words) for w in caught] == [True]
    assert "objective within" in str(caught[0].message)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(max_iter=0),
        LinearSVC("hinge", multi_class="crammer_singer", max_iter=0),
        LogisticRegression(max_iter=0),
        LogisticRegression(l1_ratio=1.0, max_iter=0),
        LogisticRegression(C=np.inf, max_iter=0),
    ],
    ids=str,
)
def test_no_step_at_all(model: Any) -> None:
    for rows, labels in ((X, y), IRIS):
        with pytest.warns(ConvergenceWarning, match="stopped after 0 iterations"):
            model.fit(rows, labels)
        assert not model.coef_.any()
        assert not model.intercept_.any()
        assert np.all(np.asarray(model.n_iter_) == 0)
        assert model.certificate_.primal >= model.certificate_.dual


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        widemargin.LinearSVCCV(Cs=[0.1, 1.0], max_iter=0),
        LogisticRegressionCV([0.1, 1.0], max_iter=0, l1_ratios=(0,), solver="lbfgs"),
    ],
    ids=str,
)
def test_a_search_without_a_step(model: Any) -> None:
    assert model.fit(X, y).predict(X).shape == y.shape


@pytest.mark.skipif(not NEW, reason="announced by scikit-learn 1.8")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(penalty="l2"), "'penalty' was deprecated"),
        (LogisticRegression(l1_ratio=None), "'l1_ratio=None' was deprecated"),
        (LogisticRegressionCV(2, penalty="l2"), "'penalty' was deprecated"),
        (LogisticRegressionCV(2), "The default value for l1_ratios will change"),
        (LogisticRegressionCV(2, l1_ratios=None), "'l1_ratios=None' was deprecated"),
        (LogisticRegressionCV(2), "The default value of use_legacy_attributes will change"),
    ],
    ids=str,
)
def test_announced_changes(model: Any, message: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    seen = [w for w in caught if str(w.message).startswith(message)]
    assert [w.category for w in seen] == [FutureWarning]
    assert seen[0].filename == __file__


def test_a_penalty_that_was_given_decides() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = LogisticRegression(penalty="l2", l1_ratio=1.0).fit(X, y)
        sparse = LogisticRegression(penalty="l1").fit(X, y)
    np.testing.assert_array_equal(plain.coef_, LogisticRegression().fit(X, y).coef_)
    np.testing.assert_array_equal(sparse.coef_, LogisticRegression(l1_ratio=1).fit(X, y).coef_)
    if NEW:
        with pytest.warns(UserWarning, match="Inconsistent values: penalty=l1 with l1_ratio=0.0"):
            LogisticRegression(penalty="l1").fit(X, y)


def test_a_callable_scores_fold_after_fold() -> None:
    grid, seen = [0.01, 0.1, 1.0], []

    def scorer(model: Any, rows: Any, labels: Any) -> float:
        seen.append((len(rows), float(np.abs(model.coef_).sum())))
        return float(model.score(rows, labels))

    settings: dict[str, Any] = {"cv": 3, "l1_ratios": (0,), "use_legacy_attributes": False}
    found = LogisticRegressionCV(grid, scoring=scorer, **settings).fit(X, y)
    named = LogisticRegressionCV(grid, scoring="accuracy", **settings).fit(X, y)
    sizes = [size for _, size in seen]
    # Weights grow with C, within each of the folds.
    assert len(seen) == 9
    assert all(sizes[3 * f : 3 * f + 3] == sorted(sizes[3 * f : 3 * f + 3]) for f in range(3))
    assert found.C_ == named.C_
    np.testing.assert_allclose(found.scores_, named.scores_)
    np.testing.assert_allclose(found.coef_, named.coef_, atol=1e-2)
    assert found.best_score_ == pytest.approx(named.best_score_)
