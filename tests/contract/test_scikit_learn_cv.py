"""The estimators that choose C, as scikit-learn's users meet them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, make_scorer
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle import LOSSES, make_data
from widemargin import LinearSVC, LinearSVCCV, LogisticRegression, LogisticRegressionCV

GRID = [0.01, 0.1, 1.0, 10.0]


@parametrize_with_checks(
    [
        LinearSVCCV(Cs=[0.1, 1.0, 10.0], cv=2),
        # Equal weights to seven digits, as one check asks, take a gap of fourteen.
        LinearSVCCV("hinge", Cs=[0.1, 1.0], cv=2, tol=1e-13),
        LinearSVCCV("hinge", multi_class="weston_watkins", Cs=[0.1, 1.0], cv=2, tol=1e-13),
        LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], cv=2),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def chooser(loss: str, **arguments: Any) -> Any:
    if loss == "logistic":
        return LogisticRegressionCV(**{"Cs": None, **arguments})
    return LinearSVCCV(loss, **arguments)


def plain(loss: str, **arguments: Any) -> Any:
    return LogisticRegression(**arguments) if loss == "logistic" else LinearSVC(loss, **arguments)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, "penalised", False])
def test_scores_are_those_of_fits_on_the_folds(loss: str, intercept: Any) -> None:
    """The same numbers as fitting every fold at every C from nothing, to full accuracy."""
    X, y = make_data((150, 6), seed=3)
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    model = chooser(loss, Cs=GRID, cv=cv, fit_intercept=intercept, search_tol=1e-7).fit(X, y)
    expected = np.array(
        [
            [
                plain(loss, C=C, fit_intercept=intercept, tol=1e-9)
                .fit(X[train], y[train])
                .score(X[test], y[test])
                for train, test in cv.split(X, y)
            ]
            for C in GRID
        ]
    )
    np.testing.assert_allclose(model.path_["scores"], expected, atol=1e-12)
    means = expected.mean(axis=1)
    assert GRID[int(np.argmax(means))] == model.C_
    assert model.best_score_ == pytest.approx(means.max())
    for certificate in model.certificates_:
        assert certificate.relative_gap <= 1e-8 * 1.01


@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes(loss: str) -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = chooser(loss, Cs=GRID, cv=3, search_tol=1e-5).fit(X, names)
    final = plain(loss, C=model.C, tol=1e-4).fit(X, names)
    # The logistic loss trains all classes at once.
    assert model.path_["primal"].shape == (4, 3, 1 if loss == "logistic" else 3)
    np.testing.assert_array_equal(model.predict(X), final.predict(X))
    assert model.certificate_.relative_gap <= 1e-4


def test_named_scorers_and_callables_agree() -> None:
    X, y = load_iris(return_X_y=True)
    for named, function in (
        ("balanced_accuracy", make_scorer(balanced_accuracy_score)),
        ("accuracy", lambda model, A, b: accuracy_score(b, model.predict(A))),
        ("neg_log_loss", lambda model, A, b: -log_loss(b, model.predict_proba(A))),
    ):
        one = LogisticRegressionCV(GRID, cv=3, scoring=named).fit(X, y)
        other = LogisticRegressionCV(GRID, cv=3, scoring=function).fit(X, y)
        np.testing.assert_allclose(one.path_["scores"], other.path_["scores"], rtol=1e-10)


def test_a_scorer_that_needs_probabilities_is_refused_for_svms() -> None:
    X, y = make_data()
    with pytest.raises((AttributeError, ValueError), match="predict_proba"):
        LinearSVCCV(Cs=GRID, scoring="neg_log_loss").fit(X, y)


def test_groups_and_splitters() -> None:
    X, y = make_data((120, 5))
    groups = np.arange(120) // 10
    model = LinearSVCCV(Cs=GRID, cv=GroupKFold(4)).fit(X, y, groups=groups)
    expected = list(GroupKFold(4).split(X, y, groups))
    given = LinearSVCCV(Cs=GRID, cv=expected).fit(X, y)
    np.testing.assert_array_equal(model.path_["scores"], given.path_["scores"])
    few = LinearSVCCV(Cs=GRID, cv=ShuffleSplit(7, test_size=0.3, random_state=0)).fit(X, y)
    assert few.path_["scores"].shape == (4, 7)
    many = LogisticRegressionCV(GRID, cv=30).fit(X, y)
    assert many.path_["scores"].shape == (4, 30)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_the_row_twice(loss: str) -> None:
    X, y = make_data((80, 4))
    fold = np.arange(80) % 4
    weight = np.random.default_rng(0).integers(0, 4, 80)
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(4)]
    rows = np.repeat(np.arange(80), weight)
    again = [(np.flatnonzero(fold[rows] != f), np.flatnonzero(fold[rows] == f)) for f in range(4)]
    weighted = chooser(loss, Cs=GRID, cv=splits, search_tol=1e-6).fit(X, y, sample_weight=weight)
    repeated = chooser(loss, Cs=GRID, cv=again, search_tol=1e-6).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.path_["scores"], repeated.path_["scores"], atol=1e-12)
    assert weighted.C_ == repeated.C_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_threads_change_nothing(loss: str, classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = np.repeat(X[y < classes], 40, axis=0), np.repeat(y[y < classes], 40)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    models = [chooser(loss, Cs=GRID, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.path_["scores"], models[0].path_["scores"])
        np.testing.assert_array_equal(model.fold_coef_, models[0].fold_coef_)
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def test_sparse_equals_dense() -> None:
    X, y = make_data((200, 30), density=0.2)
    dense = LogisticRegressionCV(GRID, search_tol=1e-5).fit(X, y)
    sparse = LogisticRegressionCV(GRID, search_tol=1e-5).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.path_["scores"], dense.path_["scores"], atol=1e-12)


def test_pipeline_pickle_clone() -> None:
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegressionCV(GRID)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model)[-1], "C_")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"Cs": [0.0, 1.0]}, "Cs must be positive"),
        ({"Cs": []}, "Cs must be positive"),
        ({"Cs": ["a"]}, "Cs must be positive"),
        ({"search_tol": -1.0}, "search_tol"),
        ({"certify": 2.0, "fit_intercept": False}, "certify must be"),
        ({"certify": 0.01}, "needs fit_intercept='penalised' or False"),
        ({"certify": 0.01, "fit_intercept": False, "scoring": "f1"}, "scoring='accuracy'"),
        ({"solver": "none"}, "solver"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    X, y = make_data()
    with pytest.raises(ValueError, match=words):
        LinearSVCCV(**arguments).fit(X, y)


def test_a_fold_without_a_class_predicts_the_other() -> None:
    X, y = make_data((40, 3))
    order = np.argsort(y)
    X, y = X[order], y[order]
    first = int((y < 0).sum())
    splits = [(np.arange(first), np.arange(first, 40)), (np.arange(1, 40), np.arange(1))]
    model = LinearSVCCV(Cs=GRID, cv=splits).fit(X, y)
    assert not model.path_["scores"][:, 0].any()
    with pytest.raises(ValueError, match=r"fold 0 of cv trains on no example of class 1\.0"):
        LinearSVCCV(Cs=GRID, cv=splits, fit_intercept=False, certify=0.1).fit(X, y)
