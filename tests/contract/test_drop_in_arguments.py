"""Arguments of scikit-learn's classes are accepted, explained once, or refused by a sentence."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.preprocessing import scale

import widemargin
from widemargin import IgnoredArgumentWarning, LinearSVC, LogisticRegression, LogisticRegressionCV
from widemargin.estimators import scikit_learn_arguments

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[::3]
y = y[::3]
QUIET = {"l1_ratios": (0,), "scoring": "accuracy", "use_legacy_attributes": True}


@pytest.fixture(autouse=True)
def nothing_explained(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(scikit_learn_arguments, "_explained", set())
    return


@pytest.mark.parametrize(
    "theirs",
    [
        sklearn.svm.LinearSVC,
        sklearn.linear_model.LogisticRegression,
        sklearn.linear_model.LogisticRegressionCV,
    ],
)
def test_all_arguments_are_accepted(theirs: Any) -> None:
    ours = getattr(widemargin, theirs.__name__)
    assert set(inspect.signature(theirs).parameters) <= set(inspect.signature(ours).parameters)


def test_their_defaults_pass_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC(penalty="l2", dual="auto", random_state=None, verbose=0).fit(X, y)
        LogisticRegression(
            penalty="deprecated",
            l1_ratio=0,
            dual=False,
            solver="lbfgs",
            random_state=None,
            max_iter=100,
        ).fit(X, y)
        LogisticRegressionCV(3, cv=None, dual=False, solver="lbfgs", **QUIET).fit(X, y)


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (LinearSVC(dual=False), "dual=False has no effect: "),
        (LogisticRegression(dual=True), "dual=True has no effect: "),
        (LogisticRegression(solver="saga"), "solver='saga' is read as "),
        (LogisticRegression(solver="liblinear"), "solver='liblinear' is read as "),
        (LinearSVC(intercept_scaling=2.0), "intercept_scaling=2.0 has no effect: "),
    ],
    ids=str,
)
def test_explained_once(model: Any, start: str) -> None:
    with pytest.warns(IgnoredArgumentWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert str(caught[0].message).startswith(start)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(penalty="elasticnet"), "l1_ratio must be specified when penalty is elasticnet"),
        (LinearSVC("l1", "hinge"), "the 1-norm needs a smooth loss, which 'hinge' is not"),
        (LogisticRegression("l3"), "penalty must be 'l2', 'l1' or 'elasticnet'; got 'l3'"),
        (LogisticRegression(l1_ratio=1.5), "l1_ratio must be a number between 0 and 1"),
        (LogisticRegressionCV(2, l1_ratios=(0.0, -0.5)), "l1_ratio must be a number between"),
        (LogisticRegressionCV(2, penalty=None), "penalty=None leaves no C to choose"),
        (LinearSVC(penalty="l3"), "penalty must be 'l2', 'l1' or 'elasticnet'; got 'l3'"),
        (LinearSVC(dual="yes"), "dual must be True, False or 'auto'; got 'yes'"),
    ],
    ids=str,
)
def test_another_problem_is_refused(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_loss_and_penalty_in_either_order() -> None:
    expected = LinearSVC("hinge", tol=1e-8).fit(X, y)
    for model in (LinearSVC("l2", "hinge", tol=1e-8), LinearSVC("hinge", "l2", tol=1e-8)):
        np.testing.assert_array_equal(model.fit(X, y).coef_, expected.coef_)
    np.testing.assert_array_equal(LinearSVC("l2").fit(X, y).coef_, LinearSVC().fit(X, y).coef_)


@pytest.mark.filterwarnings("ignore::widemargin.IgnoredArgumentWarning")
def test_liblinear_is_its_own_objective() -> None:
    settings: dict[str, Any] = {"solver": "liblinear", "intercept_scaling": 3.0, "tol": 1e-10}
    ours = LogisticRegression(**settings).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(**settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_crammer_singer_has_its_own_loss() -> None:
    flowers, kinds = load_iris(return_X_y=True)
    plain = LinearSVC(multi_class="crammer_singer").fit(flowers, kinds)
    named = LinearSVC("hinge", multi_class="crammer_singer").fit(flowers, kinds)
    np.testing.assert_array_equal(plain.coef_, named.coef_)


@pytest.mark.parametrize("make", [LinearSVC, LogisticRegression])
def test_sparsify_and_densify(make: Any) -> None:
    model = make(warm_start=True).fit(X, y)
    scores = model.decision_function(X)
    assert model.sparsify() is model
    assert sp.issparse(model.coef_)
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), scores)
    np.testing.assert_array_equal(widemargin.model_of(model).coef, model.coef_.toarray())
    assert isinstance(model.densify().coef_, np.ndarray)
    model.sparsify().fit(X, y)
    assert isinstance(model.coef_, np.ndarray)


@pytest.mark.parametrize("rule", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("intercept", [True, "penalised", False])
def test_single_precision(rule: str, intercept: Any) -> None:
    """The certificate is that of the weights as they are handed out."""
    flowers, kinds = load_iris(return_X_y=True)
    flowers = flowers.astype(np.float32)
    model = LinearSVC("hinge", multi_class=rule, fit_intercept=intercept).fit(flowers, kinds)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.decision_function(flowers).dtype == np.float32
    assert model.certificate_.relative_gap <= model.tol
    if rule == "ovr":
        W, b = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
        signs = np.where(kinds[:, None] == np.arange(3), 1.0, -1.0)
        losses = np.maximum(0.0, 1.0 - signs * (flowers @ W.T + b)).sum()
        squares = (W**2).sum() + ((b**2).sum() if intercept == "penalised" else 0.0)
        np.testing.assert_allclose(model.certificate_.primal, 0.5 * squares + losses, rtol=1e-12)


def test_single_precision_never_costs_the_tolerance() -> None:
    model = LinearSVC("hinge", tol=1e-13).fit(X.astype(np.float32), y)
    assert model.status_ == ["converged"]
    assert model.coef_.dtype == np.float64


GRID = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("ratios", [None, (0.0,)])
def test_attributes_of_a_search(legacy: bool, ratios: Any) -> None:
    settings: dict[str, Any] = {"Cs": GRID, "cv": KFold(3), "tol": 1e-8, "max_iter": 1000}
    settings |= {"use_legacy_attributes": legacy, "l1_ratios": ratios, "scoring": "neg_log_loss"}
    ours = LogisticRegressionCV(search_tol=1e-8, **settings).fit(X, y)
    known = inspect.signature(sklearn.linear_model.LogisticRegressionCV).parameters
    if "use_legacy_attributes" not in known:  # before scikit-learn 1.8
        if not legacy or ratios is not None:
            pytest.skip("this scikit-learn has neither these shapes nor these ratios")
        del settings["use_legacy_attributes"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.linear_model.LogisticRegressionCV(**settings).fit(X, y)
    for name in ("C_", "Cs_", "l1_ratio_", "l1_ratios_", "scores_", "coefs_paths_", "n_iter_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(other), name
        if isinstance(other, dict):
            assert list(mine) == list(other)
            mine, other = mine[1], other[1]
        assert np.shape(mine) == np.shape(other), name
        if name in ("C_", "Cs_", "scores_", "coefs_paths_"):
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3, err_msg=name)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    # The search goes on from them.
    ours.set_params(Cs=[*GRID, 100.0]).continue_search(X, y, tol=1e-8)
    assert len(ours.Cs_) == 4


def test_without_refit() -> None:
    settings: dict[str, Any] = {"Cs": GRID, "cv": 3, "refit": False, "tol": 1e-8}
    ours = LogisticRegressionCV(search_tol=1e-8, **settings).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.linear_model.LogisticRegressionCV(max_iter=1000, **settings).fit(X, y)
    np.testing.assert_allclose(ours.C_, theirs.C_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert 0.0 < ours.certificate_.relative_gap < 1.0


@pytest.mark.parametrize("make", [widemargin.LinearSVCCV, LogisticRegressionCV])
def test_groups_are_routed(make: Any) -> None:
    groups = np.arange(y.size) % 7
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = make(Cs=GRID, cv=splits).fit(X, y)
    plain = make(Cs=GRID, cv=GroupKFold(3)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(plain.coef_, expected.coef_)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make(Cs=GRID, cv=GroupKFold(3)).fit(X, y, groups=groups)
        outer = GridSearchCV(make(Cs=GRID, cv=GroupKFold(3)), {"tol": [1e-4]}, cv=2)
        outer.fit(X, y, groups=groups)
    np.testing.assert_array_equal(routed.coef_, expected.coef_)
    with pytest.raises(ValueError, match="is only supported if enable_metadata_routing=True"):
        make(Cs=GRID).fit(X, y, other=groups)


def test_weights_reach_the_score_if_it_asks_for_them() -> None:
    weight = np.where(y == 1, 5.0, 1.0)
    seen = []

    def share(truth: Any, found: Any, sample_weight: Any = None) -> float:
        seen.append(sample_weight is not None)
        return float(np.average(truth == found, weights=sample_weight))

    with sklearn.config_context(enable_metadata_routing=True):
        for asks in (True, False):
            seen.clear()
            scorer = make_scorer(share).set_score_request(sample_weight=asks)
            LogisticRegressionCV(GRID, cv=3, scoring=scorer).fit(X, y, sample_weight=weight)
            assert set(seen) == {asks}


def test_score_is_that_of_the_search() -> None:
    model = LogisticRegressionCV(GRID, scoring="neg_log_loss").fit(X, y)
    expected = -sklearn.metrics.log_loss(y, model.predict_proba(X))
    assert model.score(X, y) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression"])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_functions_of_scores_have_scikit_learns_name(name: str, classes: int) -> None:
    module = sklearn.svm if name == "LinearSVC" else sklearn.linear_model
    rows, labels = load_iris(return_X_y=True)
    rows, labels = rows[labels < classes], labels[labels < classes]
    ours = getattr(widemargin, name)().fit(rows, labels)
    theirs = getattr(module, name)(max_iter=10_000).fit(rows, labels)
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    np.testing.assert_allclose(
        ours._predict_proba_lr(rows), theirs._predict_proba_lr(rows), atol=1e-12
    )
