"""Models go to LIBLINEAR's programs and come back, with the same labels on both sides."""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from widemargin import LinearSVC, LogisticRegression
from widemargin.model_io import load_liblinear, model_of, save_liblinear

TRAIN, PREDICT = shutil.which("liblinear-train"), shutil.which("liblinear-predict")
pytestmark = pytest.mark.skipif(
    TRAIN is None or PREDICT is None,
    reason="LIBLINEAR's programs are not installed (Debian: liblinear-tools)",
)


def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return sp.csr_matrix(np.vstack([scale(X), np.zeros((1, 30))])), np.append(np.where(y, -3, 7), 7)


def ten_classes():
    X, y = load_digits(return_X_y=True)
    return sp.csr_matrix(np.vstack([scale(X), np.zeros((1, 64))])[:600:]), np.append(y, 0)[:600]


DATA = {"two classes": two_classes(), "ten classes": ten_classes()}


def their_output(folder, X, y, *options):
    dump_svmlight_file(X, y, str(folder / "data.svm"), zero_based=False)
    command = [PREDICT, *options, "data.svm", "a.model", "out"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "out").read_text().splitlines()


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize(
    "estimator",
    [LinearSVC("hinge"), LinearSVC("squared_hinge"), LogisticRegression(multi_class="ovr")],
    ids=str,
)
def test_liblinear_predicts_with_our_models(tmp_path, data, intercept, estimator):
    X, y = DATA[data]
    estimator.set_params(fit_intercept=intercept, tol=1e-2, max_iter=50).fit(X, y)
    save_liblinear(estimator, tmp_path / "a.model")
    theirs = np.array(their_output(tmp_path, X, y), dtype=int)
    np.testing.assert_array_equal(theirs, estimator.predict(X))


def test_liblinear_finds_our_probabilities(tmp_path):
    X, y = DATA["ten classes"]
    estimator = LogisticRegression(multi_class="ovr", tol=1e-2).fit(X, y)
    save_liblinear(estimator, tmp_path / "a.model")
    head, *lines = their_output(tmp_path, X, y, "-b", "1")
    assert head == "labels " + " ".join(map(str, estimator.classes_))
    theirs = np.array([line.split()[1:] for line in lines], dtype=float)
    # They print six digits.
    np.testing.assert_allclose(theirs, estimator.predict_proba(X), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("bias", [-1, 0, 1, 2.5])
@pytest.mark.parametrize("solver", range(8))
def test_we_predict_with_models_of_liblinear(tmp_path, data, bias, solver):
    X, y = DATA[data]
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    command = [TRAIN, "-q", "-s", str(solver), "-B", str(bias), "-e", "1", "data.svm", "a.model"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    model = load_liblinear(tmp_path / "a.model")
    theirs = np.array(their_output(tmp_path, X, y), dtype=int)
    np.testing.assert_array_equal(model.predict(X), theirs)
    if bias != 0:  # a constant feature of zero has a weight that means nothing and is not kept
        before = (tmp_path / "a.model").read_text()
        save_liblinear(model, tmp_path / "b.model")
        header = before[: before.index("w\n")]
        assert (tmp_path / "b.model").read_text().startswith(header)
        again = load_liblinear(tmp_path / "b.model")
        np.testing.assert_array_equal(again.coef, model.coef)
        np.testing.assert_allclose(again.intercept, model.intercept, rtol=1e-15)


def test_objective_of_their_model_is_close_to_ours(tmp_path):
    """What the last row of a model with a bias means, checked through the objective."""
    from widemargin.cli.certify import problems_of, training_set_of

    X, y = DATA["two classes"]
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    command = [TRAIN, "-q", "-s", "2", "-B", "2.5", "-e", "1e-9", "data.svm", "a.model"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    theirs = load_liblinear(tmp_path / "a.model")
    ours = LinearSVC(tol=1e-10, fit_intercept="penalised", intercept_scaling=2.5).fit(X, y)
    values = []
    for model in (theirs, model_of(ours)):
        ((problem, w, b),) = problems_of(model, training_set_of(model, X, y))
        values.append(problem.primal_at(w, b))
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    assert values[1] == pytest.approx(ours.certificate_.primal, rel=1e-12)
