"""A class without an example or weight in training: the others are trained, as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, KFold

from widemargin import LinearSVC, LinearSVCCV, LogisticRegression, LogisticRegressionCV

X, y = load_iris(return_X_y=True)
NAMES = np.array(["a", "b", "c"])[y]
WEIGHTS = {"a": 1.0, "b": 2.0, "c": 0.0}


def test_probabilities_are_those_of_scikit_learn():
    ours = LogisticRegression(class_weight=WEIGHTS, tol=1e-10).fit(X, NAMES)
    theirs = sklearn.linear_model.LogisticRegression(
        class_weight=WEIGHTS, tol=1e-9, max_iter=10_000
    ).fit(X, NAMES)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert ours.coef_.shape == (3, 4)
    assert not ours.coef_[2].any()
    assert ours.certificate_.relative_gap <= 1e-10


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC("hinge", multi_class="crammer_singer"),
        LogisticRegression(multi_class="ovr"),
        LogisticRegression(l1_ratio=1.0),
        LogisticRegression(fit_intercept=False),
        LogisticRegression(fit_intercept="penalised", multi_class="ovr"),
    ],
)
def test_the_others_are_trained_as_alone(model):
    """The same predictions as without the rows of weight zero, for every rule and intercept."""
    weight = np.where(NAMES == "c", 0.0, 1.0)
    model.fit(X, NAMES, sample_weight=weight)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.decision_function(X).shape == (150, 3)
    assert model.dual_coef_.shape == (3, 150)
    assert model.n_support_[2] == 0
    np.testing.assert_array_equal(model.predict(X[:100]), NAMES[:100])
    assert model.certificate_.relative_gap <= 1e-4
    again = model.set_params(warm_start=True).fit(X, NAMES, sample_weight=weight)
    np.testing.assert_array_equal(again.predict(X[:100]), NAMES[:100])


def test_one_class_left_is_an_error():
    with pytest.raises(ValueError, match="every example of class 'b' has weight zero"):
        LogisticRegression(class_weight={"a": 1, "b": 0, "c": 0}).fit(X, NAMES)


@pytest.mark.parametrize("settings", [{}, {"multi_class": "ovr"}, {"fit_intercept": False}])
@pytest.mark.parametrize("kind", [LogisticRegressionCV, LinearSVCCV])
def test_folds_without_a_class(kind, settings):
    """Sorted rows: the fold of a class trains on the other two, and none of it is right."""
    model = kind(Cs=[0.1, 1.0], cv=KFold(3), **settings).fit(X, NAMES)
    assert not model.path_["scores"].any()
    assert model.score(X, NAMES) > 0.8
    groups = np.arange(150) % 3
    groups[y == 2] = 0  # one fold of three trains without the class
    model = kind(Cs=[0.1, 1.0], cv=GroupKFold(3), **settings).fit(X, NAMES, groups=groups)
    assert (model.path_["mean_score"] > 0.3).all()


def test_folds_of_one_class():
    """Two classes, each fold trains on one: there is nothing to learn, and no error."""
    two = LogisticRegressionCV([0.1, 1.0], cv=KFold(2)).fit(X[:100], NAMES[:100])
    assert not two.path_["scores"].any()
    assert two.score(X[:100], NAMES[:100]) == 1.0


def test_what_needs_every_class_says_so():
    with pytest.raises(ValueError, match="trains on no example of class 'a'"):
        LinearSVCCV(cv=KFold(3), probability=True).fit(X, NAMES)


def test_class_weights_for_more_classes():
    """A dict that names every class of y may name others, as in scikit-learn."""
    more = LogisticRegression(class_weight={**WEIGHTS, "c": 1.0, "d": 5.0}).fit(X, NAMES)
    same = LogisticRegression(class_weight={**WEIGHTS, "c": 1.0}).fit(X, NAMES)
    np.testing.assert_array_equal(more.coef_, same.coef_)
    with pytest.raises(ValueError, match="class_weight names a class that is not in y: 'd'"):
        LogisticRegression(class_weight={"a": 1.0, "d": 5.0}).fit(X, NAMES)
