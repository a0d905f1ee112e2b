"""A transformer within the folds of a search: what GridSearchCV over a pipeline finds, once."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from widemargin import (
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
    verify_exactly,
    worst_case,
)
from widemargin.model_io import save_model

CS = [0.01, 0.1, 1.0]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def data() -> tuple[Any, Any]:
    X, y = make_classification(240, 30, n_informative=5, flip_y=0.1, random_state=2)
    return X * np.logspace(-2, 2, 30), np.array(["no", "yes"])[y]


def texts() -> tuple[list[str], Any]:
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(300)])
    y = np.arange(120) % 3
    return [" ".join(words[rng.zipf(1.3, 12) % 100 + 60 * c]) for c in y], y


def searched(ours: Any, X: Any, y: Any, transformer: Any, single: Any) -> Any:
    """Return the grid search over a pipeline that is to find the same scores."""
    pipeline = make_pipeline(clone(transformer), single)
    names = {f"{pipeline.steps[-1][0]}__C": CS}
    theirs = GridSearchCV(pipeline, names, cv=FOLDS).fit(X, y)
    np.testing.assert_allclose(
        ours.path_["mean_score"], theirs.cv_results_["mean_test_score"], atol=1e-12
    )
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    return theirs


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(), SelectKBest(k=7), make_pipeline(StandardScaler(), PCA(5))],
    ids=["scaler", "selection", "pipeline"],
)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_same_as_a_grid_search_over_a_pipeline(transformer: Any, loss: str) -> None:
    X, y = data()
    settings: dict[str, Any] = {"tol": 1e-8}
    common = {"Cs": CS, "cv": FOLDS, "transformer": transformer, "search_tol": 1e-5, **settings}
    ours: Any
    if loss == "logistic":
        ours, single = LogisticRegressionCV(**common), LogisticRegression(**settings)
    else:
        ours, single = LinearSVCCV(loss, **common), LinearSVC(loss, **settings)
    searched(ours.fit(X, y), X, y, transformer, single)
    assert ours.n_features_in_ == 30
    assert ours.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("kind", ["ovr", "multinomial", "weston_watkins"])
def test_text(kind: str) -> None:
    """Every fold has a vocabulary of its own: weights of different lengths."""
    X, y = texts()
    transformer = TfidfVectorizer()
    common = {"Cs": CS, "cv": FOLDS, "transformer": transformer, "search_tol": 1e-5, "tol": 1e-8}
    ours: Any
    if kind == "multinomial":
        ours, single = LogisticRegressionCV(**common), LogisticRegression(tol=1e-8)
    else:
        loss = "squared_hinge" if kind == "ovr" else "hinge"
        ours = LinearSVCCV(loss, multi_class=kind, fit_intercept=False, **common)
        single = LinearSVC(loss, multi_class=kind, fit_intercept=False, tol=1e-8)
    searched(ours.fit(X, y), X, y, transformer, single)
    assert len({weights.shape for weights in ours.fold_coef_}) > 1
    assert not hasattr(ours, "coefs_paths_")
    assert not hasattr(ours, "n_features_in_")
    before = len(ours.Cs_)
    ours.set_params(Cs=[*CS, 10.0]).continue_search(X, y, tol=1e-6)
    assert len(ours.Cs_) == before + 1


def test_no_row_held_out_is_seen() -> None:
    """The transformer of a fold sees the rows to train on, and the last one all of them."""
    seen: list[Any] = []

    class Recorder(TransformerMixin, BaseEstimator):
        def fit(self, X: Any, y: Any = None) -> Any:
            seen.append(X[:, 0].copy())
            return self

        def transform(self, X: Any) -> Any:
            return X

    X, y = data()
    X[:, 0] = np.arange(len(X))
    LinearSVCCV(Cs=[1e-6, 1e-5], cv=FOLDS, transformer=Recorder()).fit(X, y)
    assert len(seen) == 5  # once a fold, whatever the number of values of C, and once for all
    np.testing.assert_array_equal(seen[0], X[:, 0])
    for found, (train, _) in zip(seen[1:], FOLDS.split(X, y), strict=True):
        np.testing.assert_array_equal(found, train)


def test_frames_weights_and_unseen_categories() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"colour": rng.choice(list("abcdefgh"), 200), "size": rng.normal(size=200)})
    y = (X["size"] + (X["colour"] < "d") + rng.normal(size=200) > 0.5).to_numpy()
    weight = rng.integers(1, 3, 200).astype(float)
    transformer = OneHotEncoder(handle_unknown="ignore")
    model = LinearSVCCV(Cs=CS, cv=FOLDS, transformer=transformer, probability=True)
    model.fit(X[["colour"]], y, weight)
    twice = X.loc[np.repeat(np.arange(200), weight.astype(int)), ["colour"]]
    assert model.predict_proba(twice).shape == (int(weight.sum()), 2)
    assert list(model.feature_names_in_) == ["colour"]
    share = np.average(model.predict(X[["colour"]]) == y, weights=weight)
    assert model.score(X[["colour"]], y, weight) == pytest.approx(share)


@pytest.mark.parametrize("shift", [0.0, 1e7])
def test_columns_far_from_zero(shift: float) -> None:
    """The folds' rows are shifted on their own; intercepts are those of the rows as given."""
    X, y = make_classification(240, 30, n_informative=5, flip_y=0.1, random_state=2)
    X += shift
    keep = make_pipeline(SelectKBest(k=20))
    ours = LogisticRegressionCV(
        Cs=CS, cv=FOLDS, transformer=keep, search_tol=1e-6, use_legacy_attributes=False
    ).fit(X, y)
    for fold, (train, _) in enumerate(FOLDS.split(X, y)):
        chosen = clone(keep).fit(X[train], y[train])
        exact = LogisticRegression(C=1.0, tol=1e-8).fit(chosen.transform(X[train]), y[train])
        Z = chosen.transform(X[train])
        found = ours.coefs_paths_[fold, 0, -1, 0]
        np.testing.assert_allclose(
            Z @ found[:-1] + found[-1], exact.decision_function(Z), atol=2e-2
        )


def test_certified_choice() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], y[50:]
    settings: dict[str, Any] = {"fit_intercept": "penalised", "Cs": [0.1, 1.0], "certify": 0.05}
    model = LinearSVCCV(cv=FOLDS, transformer=StandardScaler(), **settings).fit(X, y)
    assert model.certified_
    for C in (0.15, 0.4, 0.8):
        pipeline = make_pipeline(StandardScaler(), LinearSVC(C=C, fit_intercept="penalised"))
        errors = [
            1 - clone(pipeline).fit(X[a], y[a]).score(X[b], y[b]) for a, b in FOLDS.split(X, y)
        ]
        assert np.mean(errors) >= model.error_bound_ - 1e-12


def test_a_callable_score_and_pickle() -> None:
    X, y = data()
    scorer = make_scorer(fbeta_score, beta=2.0, pos_label="yes")
    model = LinearSVCCV(Cs=CS, cv=FOLDS, transformer=StandardScaler(), scoring=scorer).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), LinearSVC())
    theirs = GridSearchCV(pipeline, {"linearsvc__C": CS}, cv=FOLDS, scoring=scorer).fit(X, y)
    np.testing.assert_allclose(
        model.path_["mean_score"], theirs.cv_results_["mean_test_score"], atol=2e-2
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).set_params(transformer__with_mean=False).transformer.with_mean is False


def test_fitted_again_without() -> None:
    X, y = data()
    model = LinearSVCCV(Cs=CS, transformer=SelectKBest(k=3)).fit(X, y)
    assert model.coef_.shape == (1, 3)
    model.set_params(transformer=None).fit(X, y)
    assert model.coef_.shape == (1, 30)
    assert not hasattr(model, "transformer_")


def test_refused(tmp_path: Path) -> None:
    X, y = data()
    for wrong in ("scale", StandardScaler, LinearSVC()):
        with pytest.raises(ValueError, match="transformer must be"):
            LinearSVCCV(transformer=wrong).fit(X, y)
    with pytest.raises(ValueError, match="refit=False averages"):
        LogisticRegressionCV(transformer=StandardScaler(), refit=False).fit(X, y)
    with pytest.raises(TypeError, match="has a transformer before them"):
        save_model(LinearSVCCV(Cs=CS, transformer=StandardScaler()).fit(X, y), tmp_path / "x")


def test_what_judges_a_model_sees_what_the_weights_see() -> None:
    X, y = data()
    model = LinearSVCCV(Cs=CS, transformer=StandardScaler()).fit(X, y)
    Z = model.transformer_.transform(X)
    plain = LinearSVC(C=model.C_).fit(Z, y)
    plain.coef_, plain.intercept_ = model.coef_, model.intercept_
    found, expected = (worst_case(m, A, y, radius=0.1) for m, A in ((model, X), (plain, Z)))
    assert str(found) == str(expected)
    assert verify_exactly(model, X, y)
