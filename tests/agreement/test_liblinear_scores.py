"""Regressions and outlier detectors go to LIBLINEAR's programs and come back unchanged."""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_diabetes
from sklearn.preprocessing import scale

from widemargin import LinearSVR, load_liblinear, load_model, save_liblinear, save_model

TRAIN, PREDICT = shutil.which("liblinear-train"), shutil.which("liblinear-predict")
pytestmark = pytest.mark.skipif(
    TRAIN is None or PREDICT is None,
    reason="LIBLINEAR's programs are not installed (Debian: liblinear-tools)",
)
LOSS = {11: "squared_epsilon_insensitive", 12: "squared_epsilon_insensitive"}


def data():
    X, y = load_diabetes(return_X_y=True)
    return sp.csr_matrix(np.vstack([scale(X), np.zeros((1, 10))])), np.append(y, 0.0)


def their_output(folder, X, y):
    dump_svmlight_file(X, y, str(folder / "data.svm"), zero_based=False)
    command = [PREDICT, "data.svm", "a.model", "out"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return np.array((folder / "out").read_text().split(), dtype=float)


def trained_by_them(folder, X, y, *options):
    dump_svmlight_file(X, y, str(folder / "data.svm"), zero_based=False)
    command = [TRAIN, "-q", *map(str, options), "data.svm", "a.model"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return load_liblinear(folder / "a.model")


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", [True, "penalised", False])
def test_liblinear_predicts_with_our_regressions(tmp_path, loss, intercept):
    X, y = data()
    model = LinearSVR(epsilon=1.0, loss=loss, fit_intercept=intercept, intercept_scaling=2.0)
    model.set_params(intercept_scaling=2.0 if intercept == "penalised" else 1.0).fit(X, y)
    save_liblinear(model, tmp_path / "a.model")
    # They print six digits.
    np.testing.assert_allclose(their_output(tmp_path, X, y), model.predict(X), rtol=1e-5)
    back = load_liblinear(tmp_path / "a.model")
    np.testing.assert_allclose(back.predict(X), model.predict(X), rtol=1e-12)
    save_model(model, tmp_path / "own.model")
    np.testing.assert_array_equal(load_model(tmp_path / "own.model").predict(X), model.predict(X))


@pytest.mark.parametrize("bias", [-1, 0, 1, 2.5])
@pytest.mark.parametrize("solver", [11, 12, 13])
def test_we_predict_with_their_models(tmp_path, solver, bias):
    X, y = data()
    model = trained_by_them(tmp_path, X, y, "-s", solver, "-p", 1.0, "-B", bias)
    found, theirs = model.predict(X), their_output(tmp_path, X, y)
    np.testing.assert_allclose(found, theirs, rtol=1e-5)
    save_liblinear(model, tmp_path / "a.model")
    np.testing.assert_allclose(their_output(tmp_path, X, y), theirs, rtol=1e-6)


@pytest.mark.parametrize("solver", [11, 12, 13])
def test_their_optimum_is_ours(tmp_path, solver):
    X, y = data()
    loss = LOSS.get(solver, "epsilon_insensitive")
    model = LinearSVR(epsilon=5.0, C=0.1, loss=loss, fit_intercept="penalised", tol=1e-9)
    model.fit(X, y)
    options = ("-s", solver, "-p", 5.0, "-c", 0.1, "-B", 1, "-e", 1e-8)
    theirs = trained_by_them(tmp_path, X, y, *options)
    np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=2e-4, atol=2e-4)


def test_outlier_detectors_go_both_ways(tmp_path):
    theirs = pytest.importorskip("liblinear.liblinearutil")  # newer than Debian's programs
    X, y = data()
    trained = theirs.train(y, X, "-s 21 -n 0.3 -q")
    theirs.save_model(str(tmp_path / "a.model"), trained)
    model = load_liblinear(tmp_path / "a.model")
    labels, _, values = theirs.predict(y, X, trained, "-q")
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_allclose(model.decision_function(X), np.ravel(values), rtol=1e-9, atol=1e-9)
    save_liblinear(model, tmp_path / "b.model")
    assert (tmp_path / "b.model").read_text() == (tmp_path / "a.model").read_text()
    again = theirs.predict(y, X, theirs.load_model(str(tmp_path / "b.model")), "-q")
    np.testing.assert_array_equal(again[0], labels)
    save_model(model, tmp_path / "own.model")
    np.testing.assert_array_equal(load_model(tmp_path / "own.model").predict(X), labels)
