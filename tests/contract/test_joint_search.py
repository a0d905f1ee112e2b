"""LinearSVCCV with all classes at once: the same numbers as a plain loop, by any route."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

from oracle_multiclass import RULES, make_classes
from widemargin import LinearSVC, LinearSVCCV, load_model, save_model
from widemargin.data.training_set import TrainingSet
from widemargin.selection.stopping import smallest_joint_C

GRID = [0.01, 0.1, 1.0]
CV = StratifiedKFold(3, shuffle=True, random_state=0)


def chooser(rule: str, **arguments: Any) -> LinearSVCCV:
    return LinearSVCCV("hinge", multi_class=rule, **{"Cs": GRID, "cv": CV, **arguments})


def plain_loop(
    rule: str, X: Any, y: Any, weight: Any = None, **arguments: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores (C, fold) and the weights of the folds at the last C."""
    scores, coefs = np.empty((len(GRID), CV.n_splits)), []
    for place, C in enumerate(GRID):
        coefs = []
        for fold, (train, test) in enumerate(CV.split(X, y)):
            given = None if weight is None else weight[train]
            model = LinearSVC("hinge", multi_class=rule, C=C, tol=1e-10, **arguments)
            model.fit(X[train], y[train], sample_weight=given)
            held_out = None if weight is None else weight[test]
            scores[place, fold] = accuracy_score(
                y[test], model.predict(X[test]), sample_weight=held_out
            )
            coefs.append(model.coef_)
    return scores, np.array(coefs)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [True, "penalised", False])
def test_scores_are_those_of_a_plain_loop(rule: str, intercept: Any) -> None:
    X, y = make_classes(120, 4, 4, seed=5)
    model = chooser(rule, fit_intercept=intercept, search_tol=1e-8).fit(X, y)
    scores, coefs = plain_loop(rule, X, y, fit_intercept=intercept)
    np.testing.assert_allclose(model.scores_, scores, atol=1e-12)
    np.testing.assert_allclose(model.fold_coef_[..., :4], coefs, atol=2e-4)
    assert model.path_["primal"].shape == (3, 3, 1)
    assert max(c.relative_gap for c in model.certificates_) <= 1.01e-9
    final = LinearSVC("hinge", multi_class=rule, C=model.C_, fit_intercept=intercept).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    np.testing.assert_allclose(model.primal_, final.primal_, rtol=2e-4)


@pytest.mark.parametrize("rule", RULES)
def test_weights_and_names(rule: str) -> None:
    X, codes = make_classes(120, 4, 3, seed=1)
    y = np.array(["ash", "elm", "oak"])[codes]
    weight = np.random.default_rng(0).integers(0, 4, 120).astype(float)
    model = chooser(rule, search_tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.scores_, plain_loop(rule, X, y, weight)[0], atol=1e-12)
    assert set(model.predict(X)) <= {"ash", "elm", "oak"}


@pytest.mark.parametrize("rule", RULES)
def test_sparse_and_float32(rule: str) -> None:
    X, y = make_classes(120, 6, 3, seed=2)
    X = X.astype(np.float32)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    dense = chooser(rule, search_tol=1e-8).fit(X, y)
    sparse = chooser(rule, search_tol=1e-8).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(dense.scores_, sparse.scores_)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_threads_change_nothing(rule: str) -> None:
    X, y = make_classes(200, 5, 4, seed=3)
    one, two = (chooser(rule, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.fold_coef_, two.fold_coef_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("rule", RULES)
def test_two_classes_are_the_binary_hinge_at_twice_the_C(rule: str) -> None:
    X, y = make_classes(120, 4, 2, seed=4)
    joint = chooser(rule, search_tol=1e-8).fit(X, y)
    binary = LinearSVCCV("hinge", Cs=2.0 * np.array(GRID), cv=CV, search_tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(joint.scores_, binary.scores_)
    np.testing.assert_allclose(joint.fold_coef_, binary.fold_coef_, atol=2e-4)
    np.testing.assert_allclose(2.0 * joint.path_["primal"], binary.path_["primal"], rtol=1e-6)
    assert joint.coef_.shape == (1, 4)


@pytest.mark.parametrize("rule", RULES)
def test_automatic_search_and_going_on(rule: str) -> None:
    X, y = make_classes(90, 3, 3, seed=6)
    model = chooser(rule, Cs=None, cv=2, search_tol=0.5, time_limit=20.0).fit(X, y)
    start = smallest_joint_C(TrainingSet.of(X, y), rule)
    assert model.Cs_[0] == start
    np.testing.assert_allclose(model.Cs_[1:] / model.Cs_[:-1], 2.0)
    seen = model.Cs_
    model.continue_search(X, y, tol=1e-6)
    np.testing.assert_array_equal(model.Cs_[: seen.size], seen)
    assert model.certificates_[-1].relative_gap <= 1.01e-7


@pytest.mark.parametrize("rule", RULES)
def test_smallest_C(rule: str) -> None:
    """At it, no margin of C times the descent direction has reached one; at twice it, one has."""
    X, y = make_classes(60, 3, 4, seed=7)
    weight = np.random.default_rng(1).random(60)
    W = np.zeros((4, 3))
    for x, label, cost in zip(X, y, weight, strict=True):
        for j in set(range(4)) - {label}:
            share = cost if rule == "weston_watkins" else cost / 3.0
            W[label] += share * x
            W[j] -= share * x
    scores = X @ W.T
    margins = scores[np.arange(60), y] - scores.min(axis=1)
    C = smallest_joint_C(TrainingSet.of(X, y, weight), rule)
    assert C * margins.max() <= 1.0 < 2.0 * C * margins.max()


@pytest.mark.parametrize("rule", RULES)
def test_warm_starts_save_work(rule: str) -> None:
    X, y = make_classes(600, 8, 5, seed=8)
    Cs = 2.0 ** np.arange(-6, 2)
    given = {"solver": "block_dual_cd", "fit_intercept": False, "search_tol": 1e-3}
    model = chooser(rule, Cs=Cs, **given).fit(X, y)
    cold = sum(chooser(rule, Cs=[C], **given).fit(X, y).path_["passes"][0] for C in Cs)
    assert model.path_["passes"].sum() < 0.9 * cold


def test_refusals() -> None:
    X, y = make_classes(60, 3, 3)
    for arguments, words in (
        ({"certify": 0.01, "fit_intercept": False}, "certified choice needs multi_class='ovr'"),
        ({"loss": "squared_hinge"}, "needs loss='hinge'"),
        ({"multi_class": "none"}, "multi_class must be one of 'ovr'"),
        ({"solver": "newton"}, "solver"),
        ({"scoring": "neg_log_loss"}, "predict_proba"),
    ):
        model = chooser("weston_watkins").set_params(**arguments)
        with pytest.raises((ValueError, AttributeError), match=words):
            model.fit(X, y)


def test_files_and_callbacks(tmp_path: Any) -> None:
    X, y = make_classes(90, 4, 3, seed=9)
    model = chooser("crammer_singer", callback=lambda title, record: title == "C=1").fit(X, y)
    assert model.Cs_.tolist() == [0.01, 0.1]
    assert "interrupted" in model.stopped_
    model.callback = None
    again = pickle.loads(pickle.dumps(model))
    save_model(model, tmp_path / "a.model")
    read = load_model(tmp_path / "a.model")
    assert read.multi_class == "crammer_singer"
    assert read.C == model.C_
    for other in (again, read):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
