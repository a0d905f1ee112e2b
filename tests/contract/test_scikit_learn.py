"""The estimators as scikit-learn's users meet them."""

from __future__ import annotations

import pickle
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle import LOSSES, estimator, make_data
from widemargin import (
    KernelSVC,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    LinearSVRCV,
    LogisticRegression,
    RobustSVC,
    RobustSVCCV,
)


@parametrize_with_checks(
    [
        LinearSVC("squared_hinge"),
        LinearSVC("hinge"),
        LogisticRegression(),
        LinearSVR(),
        LinearSVR(loss="squared_epsilon_insensitive"),
        LinearSVRCV(Cs=[0.1, 1.0], cv=2),
        RobustSVC(),
        RobustSVCCV(radii=2, cv=2),
        LinearOneClassSVM(),
        LinearOneClassSVM(nu=0.1),
        KernelSVC(),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(loss: str, protocol: int) -> None:
    X, y = make_data()
    model = estimator(loss).fit(X, y)
    again = pickle.loads(pickle.dumps(model, protocol))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_
    assert again.get_params() == model.get_params()


def test_clone_keeps_arguments_and_drops_the_fit(loss: str) -> None:
    X, y = make_data()
    model = estimator(loss, C=3.0, tol=1e-5, fit_intercept="penalised", intercept_scaling=2.0)
    copy = clone(model.fit(X, y))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")


def test_pipeline_and_grid_search(loss: str) -> None:
    X, y = load_iris(return_X_y=True)
    name = type(estimator(loss)).__name__.lower()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), estimator(loss)), {f"{name}__C": [1e-3, 1.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {f"{name}__C": 1.0}
    assert search.best_score_ > 0.9


def test_grid_search_in_processes(loss: str) -> None:
    """joblib hands the workers read-only memory maps."""
    X, y = make_data((400, 20))
    with joblib.parallel_config("loky", n_jobs=2, max_nbytes=1000):
        scores = cross_val_score(estimator(loss), X, y, cv=2)
    np.testing.assert_array_equal(scores, cross_val_score(estimator(loss), X, y, cv=2))


def test_calibration(loss: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = CalibratedClassifierCV(estimator(loss), cv=3).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(model.predict(X) == y) > 0.9


def test_predict_proba_is_the_logistic_function() -> None:
    X, y = make_data()
    model = LogisticRegression().fit(X, y)
    expected = 1.0 / (1.0 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-13)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], 1.0 - expected, atol=1e-15)


def test_predict_proba_far_away() -> None:
    """Rows far from every class still have probabilities that sum to one."""
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    probabilities = model.predict_proba(X * -1e5)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(X * -1e5)).all()


def test_linear_svc_has_no_predict_proba() -> None:
    assert not hasattr(LinearSVC(), "predict_proba")


def test_decision_is_coef_times_x_plus_intercept(loss: str) -> None:
    X, y = make_data()
    model = estimator(loss).fit(X, y)
    expected = X @ model.coef_[0] + model.intercept_[0]
    for data in (X, sp.csr_array(X), sp.csc_matrix(X), X.tolist()):
        np.testing.assert_allclose(model.decision_function(data), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(model.predict(X), np.where(expected > 0, 1.0, -1.0))


def test_string_labels(loss: str) -> None:
    X, y = make_data()
    numbers = estimator(loss).fit(X, y)
    for words in (
        np.where(y > 0, "yes", "no"),
        np.where(y > 0, "yes", "no").astype(object),
        list(np.where(y > 0, "yes", "no")),
    ):
        model = estimator(loss).fit(X, words)
        assert list(model.classes_) == ["no", "yes"]
        np.testing.assert_array_equal(model.coef_, numbers.coef_)
        np.testing.assert_array_equal(
            model.predict(X), np.where(numbers.predict(X) > 0, "yes", "no")
        )


@pytest.mark.parametrize(
    "labels", [(False, True), (0, 1), (-5, 7), (1.0, 3.0), (np.int8(1), np.int8(2))], ids=str
)
def test_labels_of_any_kind(labels: tuple[Any, Any]) -> None:
    X, y = make_data()
    reference = LinearSVC().fit(X, y)
    model = LinearSVC().fit(X, np.array(labels)[(y > 0).astype(int)])
    np.testing.assert_array_equal(model.classes_, np.array(labels))
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_array_equal(
        model.predict(X), np.array(labels)[(reference.predict(X) > 0).astype(int)]
    )


ALLOWED = (np.ndarray, np.generic, int, float, str, bool, type(None))


def only_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(only_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and only_plain(item) for key, item in value.items())
    if isinstance(value, np.ndarray) and value.dtype == object:
        return all(isinstance(item, str) for item in value)
    return isinstance(value, ALLOWED)


@pytest.mark.parametrize("classes", [2, 3])
def test_fitted_state_is_plain(loss: str, classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model = estimator(loss).fit(X, y)
    state = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert {"coef_", "intercept_", "classes_", "dual_coef_", "support_", "n_iter_"} <= set(state)
    for name, value in state.items():
        assert only_plain(value), f"{name} is a {type(value)}"


@pytest.mark.parametrize("classes", [2, 3])
def test_shapes_of_attributes(loss: str, classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    n, rows = y.size, 1 if classes == 2 else 3
    model = (LogisticRegression() if loss == "logistic" else estimator(loss)).fit(X, y)
    assert model.coef_.shape == (rows, 4)
    assert model.intercept_.shape == (rows,)
    assert model.dual_coef_.shape == (rows, n)
    # As scikit-learn has it: a number in LinearSVC, an array in LogisticRegression.
    # Multinomial logistic regression is one problem, whatever the number of classes.
    problems = 1 if loss == "logistic" else rows
    assert np.shape(model.n_iter_) == ((problems,) if loss == "logistic" else ())
    assert model.decision_function(X).shape == ((n,) if classes == 2 else (n, 3))
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_coef_.any(axis=0)))
    assert model.n_features_in_ == 4
    assert len(model.certificates_) == len(model.status_) == len(model.history_) == problems
    assert isinstance(model.solver_, str)
    assert model.solver_
    for history in model.history_:
        lengths = {len(column) for column in history.values()}
        assert len(lengths) == 1
        assert {"primal", "dual", "gap", "active", "seconds"} <= set(history)


def test_dual_coef_gives_coef_at_the_optimum(loss: str) -> None:
    """w = Σ α_i y_i x_i, to the square root of the gap."""
    X, y = make_data()
    model = estimator(loss, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_ @ X, model.coef_, atol=1e-4)


def test_no_argument_is_ignored_by_get_params(loss: str) -> None:
    model = estimator(loss)
    for name, value in model.get_params().items():
        model.set_params(**{name: value})
    assert model.set_params(C=7.0).C == 7.0
