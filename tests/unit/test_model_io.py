"""Models and their own file format: round trips, and what becomes a model at all."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC as TheirSVC

from fitted_models import CANCER, IRIS, LIBLINEAR_TWO, fitted
from widemargin import LinearSVC, LogisticRegression, worst_case
from widemargin import path as wide_path
from widemargin.model_io import (
    ModelFormatError,
    load_liblinear,
    load_model,
    model_of,
    save_liblinear,
    save_model,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


@pytest.mark.parametrize("classes", ["numbers", "strings", "objects", "bytes", "floats"])
@pytest.mark.parametrize("make", [LinearSVC, LogisticRegression])
def test_round_trip_keeps_everything(path, classes, make):
    estimator = fitted(classes, make=make, C=0.5, fit_intercept="penalised", intercept_scaling=2.0)
    save_model(estimator, path)
    model = load_model(path)
    np.testing.assert_array_equal(model.coef, estimator.coef_)
    np.testing.assert_array_equal(model.intercept, estimator.intercept_)
    np.testing.assert_array_equal(model.classes, estimator.classes_)
    assert model.classes.dtype == estimator.classes_.dtype
    assert (model.C, model.intercept_kind, model.intercept_scaling) == (0.5, "penalised", 2.0)
    assert model.loss == ("logistic" if make is LogisticRegression else "squared_hinge")
    assert model.certificates == estimator.certificates_
    assert model.solver == estimator.solver_
    assert model.status == tuple(estimator.status_)
    np.testing.assert_array_equal(model.predict(IRIS[0]), estimator.predict(IRIS[0]))
    np.testing.assert_array_equal(
        model.decision_function(sp.csr_matrix(IRIS[0])),
        estimator.decision_function(sp.csr_matrix(IRIS[0])),
    )


def test_round_trip_of_two_boolean_classes_and_weights(path):
    estimator = fitted("booleans", CANCER, class_weight={False: 2.0, True: 1.0})
    save_model(estimator, path)
    model = load_model(path)
    assert model.coef.shape == (1, 30)
    assert model.classes.dtype == bool
    assert model.class_weight == {False: 2.0, True: 1.0}
    np.testing.assert_array_equal(model.predict(CANCER[0]), estimator.predict(CANCER[0]))


def test_feature_names_survive(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS[0], columns=["a", "b", "c", "ß"])
    save_model(LinearSVC().fit(frame, IRIS[1]), path)
    assert load_model(path).feature_names == ("a", "b", "c", "ß")
    assert list(load_model(path).to_estimator().feature_names_in_) == ["a", "b", "c", "ß"]


@pytest.mark.parametrize("make", [LinearSVC, LogisticRegression])
@pytest.mark.parametrize("intercept", [True, False, "penalised"])
def test_back_to_an_estimator(path, make, intercept):
    estimator = fitted(data=IRIS, make=make, fit_intercept=intercept, C=3.0)
    save_model(estimator, path)
    again = load_model(path).to_estimator()
    assert type(again) is make
    assert again.get_params()["C"] == 3.0
    assert again.fit_intercept == intercept
    assert again.certificate_ == estimator.certificate_
    np.testing.assert_array_equal(again.predict(IRIS[0]), estimator.predict(IRIS[0]))
    if make is LogisticRegression:
        np.testing.assert_array_equal(
            again.predict_proba(IRIS[0]), estimator.predict_proba(IRIS[0])
        )
        model = model_of(estimator)
        np.testing.assert_allclose(
            model.probabilities_of(model.decision_function(IRIS[0])),
            estimator.predict_proba(IRIS[0]),
        )


def test_a_loaded_estimator_goes_on_from_its_weights(path):
    estimator = LinearSVC(tol=1e-10).fit(*CANCER)
    save_model(estimator, path)
    again = load_model(path).to_estimator()
    again.set_params(tol=1e-6, warm_start=True, solver="newton").fit(*CANCER)
    cold = LinearSVC(tol=1e-6, solver="newton").fit(*CANCER)
    assert np.max(again.n_iter_) < np.max(cold.n_iter_)
    assert again.certificate_.relative_gap <= 1e-6


def test_the_estimator_of_an_unsorted_model_has_sorted_classes(path):
    path.write_text(LIBLINEAR_TWO)
    model = load_liblinear(path)
    path.write_text(LIBLINEAR_TWO.replace("label 3 -1", "label -1 3"))
    flipped = load_liblinear(path)
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.3, -9.0]])
    for one in (model, flipped):
        estimator = one.to_estimator()
        assert estimator.classes_.tolist() == [-1, 3]
        np.testing.assert_array_equal(estimator.predict(X), one.predict(X))
    assert model.predict(X).tolist() == [3, -1, -1]
    assert flipped.predict(X).tolist() == [-1, 3, 3]


def test_a_model_is_frozen_and_picklable():
    model = model_of(fitted())
    with pytest.raises(ValueError, match="read-only"):
        model.coef[0, 0] = 1.0
    with pytest.raises(AttributeError):
        model.loss = "hinge"
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coef, model.coef)
    error = pickle.loads(pickle.dumps(ModelFormatError("a", "b", line=3)))
    assert (str(error), error.line) == ("a, line 3: b", 3)


def test_a_robust_model_is_saved_and_predicts(tmp_path):
    """Saving one used to ask for a loss that the robust problem does not have."""
    from widemargin import RobustSVC

    X, y = IRIS
    robust = RobustSVC(0.05).fit(X, y)
    save_model(robust, tmp_path / "robust.model")
    model = load_model(tmp_path / "robust.model")
    assert (model.loss, model.C, model.intercept_kind) == ("robust_hinge", None, "exact")
    np.testing.assert_array_equal(model.predict(X), robust.predict(X))
    np.testing.assert_array_equal(model.primal, robust.primal_)
    with pytest.raises(ValueError, match="no estimator here trains"):
        model.to_estimator()
    with pytest.raises(ModelFormatError, match="no model with the loss 'robust_hinge'"):
        save_liblinear(robust, tmp_path / "robust.txt")


def test_only_fitted_estimators_of_ours_become_models():
    from sklearn.svm import LinearSVC as Theirs

    with pytest.raises(NotFittedError):
        model_of(LinearSVC())
    with pytest.raises(TypeError, match="a fitted linear estimator of widemargin"):
        model_of(Theirs().fit(*IRIS))


def test_the_wrong_number_of_features_is_refused():
    with pytest.raises(ValueError, match="X has 3 features, but the model was trained on 4"):
        model_of(fitted()).predict(IRIS[0][:, :3])


def test_only_the_logistic_loss_has_probabilities():
    with pytest.raises(ValueError, match="if its loss is logistic or if it was calibrated"):
        model_of(fitted()).probabilities_of(np.zeros(3))


def test_shown_in_a_line(path):
    model = model_of(fitted())
    assert repr(model) == (
        "<LinearModel: squared_hinge, C 1, 3 classes (ovr), 4 features, intercept exact>"
    )
    over = wide_path(*CANCER, [0.01, 0.1])
    assert repr(over).startswith("<Path: 2 values of C from 0.01 to 0.1, largest relative gap ")
    assert repr(over.solutions[0][0]).startswith("<Solution: converged after ")
    case = worst_case(LinearSVC().fit(*CANCER), *CANCER, 0.1)
    assert repr(case).startswith("<WorstCase: hinge loss ")


def test_a_model_of_the_other_format_is_told(path):
    save_model(fitted(), path)
    with pytest.raises(ModelFormatError, match="this is a widemargin model; load_model reads it"):
        load_liblinear(path)
    path.write_text(LIBLINEAR_TWO)
    with pytest.raises(ModelFormatError, match="load_liblinear reads LIBLINEAR's"):
        load_model(path)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (TheirSVC(), "sklearn's LinearSVC"),
        (make_pipeline(LinearSVC()), "of a pipeline, its last step"),
    ],
)
def test_other_estimators_are_called_by_their_names(path, other, words):
    with pytest.raises(TypeError, match=words):
        save_model(other.fit(*CANCER), path)


def test_a_frame_with_other_columns_is_refused(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS[0], columns=["a", "b", "c", "d"])
    save_model(LinearSVC().fit(frame, IRIS[1]), path)
    model = load_model(path)
    labels = model.predict(frame)
    turned = frame[["d", "c", "b", "a"]]
    with pytest.raises(ValueError, match=r"pass X\[list\(model.feature_names\)\]"):
        model.predict(turned)
    np.testing.assert_array_equal(model.predict(turned[list(model.feature_names)]), labels)
    np.testing.assert_array_equal(model.predict(IRIS[0]), labels)


def test_a_path_says_how_wide_it_is():
    over = wide_path(*CANCER, [0.1])
    with pytest.raises(ValueError, match="X has 3 features, but the path is over 30"):
        over.predict(CANCER[0][:, :3])
