"""Probabilities of LinearSVCCV: scikit-learn's calibration, from the search's own folds."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from widemargin import LinearSVC, LinearSVCCV
from widemargin.model_io import load_model, save_liblinear, save_model
from widemargin.model_io.errors import ModelFormatError
from widemargin.problems.calibration import Calibration


def two_classes() -> tuple[Any, Any]:
    X, y = make_classification(400, 12, flip_y=0.1, random_state=3)
    return X, np.array(["no", "yes"])[y]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("data", ["two", "three"])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_calibrated_classifier(method: str, data: str, weighted: bool) -> None:
    """At one C, folds and model are those of CalibratedClassifierCV without an ensemble."""
    X, y = two_classes() if data == "two" else load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    ours = LinearSVCCV(Cs=[0.1], cv=cv, search_tol=1e-11, tol=1e-12, probability=method)
    theirs = CalibratedClassifierCV(
        LinearSVC(C=0.1, tol=1e-12), method=method, cv=cv, ensemble=False
    )
    ours.fit(X, y, weight)
    theirs.fit(X, y, sample_weight=weight)
    found = ours.predict_proba(X)
    assert found.shape == (len(y), len(ours.classes_))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    # Steps of an isotonic function are steep: scores that differ in the ninth digit move along.
    np.testing.assert_allclose(found, theirs.predict_proba(X), atol=1e-5)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(ours.predict_log_proba(X), np.log(found))


def test_no_further_fit() -> None:
    X, y = two_classes()
    plain = LinearSVCCV("hinge").fit(X, y)
    model = LinearSVCCV("hinge", probability=True).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.path_["passes"], plain.path_["passes"])
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "calibration_")


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e6])
def test_sigmoid_is_the_likeliest(spread: float) -> None:
    """Against a general optimiser, whatever the scale of the scores."""
    rng = np.random.default_rng(1)
    s = spread * rng.normal(size=300)
    positive = rng.random(300) < expit(1.5 * s / spread - 0.5)
    weight = rng.random(300)
    (table,) = Calibration.of("sigmoid", s[:, None], positive.astype(int), weight).tables()
    plus, minus = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))

    def loss(at: Any) -> float:
        z = at[0] * s / spread + at[1]
        return float(weight @ (target * z + np.logaddexp(0, -z)))

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose([table[0, 0] * spread, table[1, 0]], best, rtol=1e-4)
    assert loss([table[0, 0] * spread, table[1, 0]]) <= loss(best) + 1e-12


@pytest.mark.parametrize("scores", [np.zeros(6), np.array([-3.0, -2, -1, 1, 2, 3])])
def test_scores_that_say_nothing_or_everything(scores: Any) -> None:
    """The sigmoid stays finite; without information it is Platt's prior."""
    codes = np.array([0, 0, 0, 1, 1, 1])
    found = Calibration.of("sigmoid", scores[:, None], codes).probabilities(scores)
    assert np.isfinite(found).all()
    if not scores.any():
        np.testing.assert_allclose(found, 0.5)
    else:
        np.testing.assert_array_equal(found.argmax(axis=1), codes)
        assert found.max() < 0.9  # Platt's targets are 1/5 and 4/5


def test_going_on_calibrates_again() -> None:
    """After continue_search the best C may be one that only the first search looked at."""
    X, y = two_classes()
    model = LinearSVCCV(probability=True, search_tol=0.1).fit(X, y)
    at_first = model.calibration_["values"].copy()
    model.continue_search(X, y, tol=1e-3)
    exact = LinearSVCCV(Cs=[model.C_], probability=True, search_tol=1e-3).fit(X, y)
    np.testing.assert_allclose(
        model.calibration_["values"], exact.calibration_["values"], rtol=1e-2
    )
    assert model.calibration_["values"].shape == at_first.shape


def test_going_on_without_time_keeps_the_calibration() -> None:
    X, y = two_classes()
    model = LinearSVCCV(Cs=[0.1, 1.0, 1e3], probability=True).fit(X, y)
    assert model.C_ < 1e3
    before = model.predict_proba(X)
    model.set_params(Cs=[0.1, 1.0, 1e3, 1e4], time_limit=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.continue_search(X, y, tol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-3)


def test_rows_held_out_more_than_once() -> None:
    X, y = two_classes()
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = LinearSVCCV(Cs=[0.1, 1.0], cv=cv, probability=True).fit(X, y)
    found = model.predict_proba(X)
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_files(method: str, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = LinearSVCCV(Cs=[1.0], probability=method).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    save_model(model, tmp_path / "iris.model")
    read = load_model(tmp_path / "iris.model")
    np.testing.assert_array_equal(read.probabilities_of(read.decision_function(X)), expected)
    with pytest.raises(ModelFormatError, match="calibration"):
        save_liblinear(model, tmp_path / "iris.liblinear")


@pytest.mark.parametrize("value", ["platt", 2, None])
def test_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="probability must be"):
        LinearSVCCV(probability=value).fit(*two_classes())
