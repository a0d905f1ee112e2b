"""LIBLINEAR's text format: read, written, and refused with the line."""

import numpy as np
import pytest

from fitted_models import CANCER, LIBLINEAR_THREE, LIBLINEAR_TWO, fitted
from widemargin.model_io import (
    LinearModel,
    ModelFormatError,
    load_liblinear,
    save_liblinear,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


@pytest.mark.parametrize("text", [LIBLINEAR_TWO, LIBLINEAR_THREE])
def test_liblinear_text_comes_back_byte_for_byte(path, text):
    path.write_text(text)
    model = load_liblinear(path)
    save_liblinear(model, path)
    assert path.read_text() == text


def test_liblinear_models_mean_what_liblinear_means(path):
    path.write_text(LIBLINEAR_THREE)
    three = load_liblinear(path)
    assert three.classes.tolist() == [1, 3, 2]
    assert (three.loss, three.intercept_kind, three.C) == ("squared_hinge", "penalised", None)
    assert three.intercept[2] == -0.90202818838088683
    path.write_text(LIBLINEAR_TWO)
    two = load_liblinear(path)
    assert (two.loss, two.intercept_kind) == ("hinge", "none")
    # A positive score means the first label; anything else, zero too, the second.
    assert two.predict([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]).tolist() == [3, -1, -1]


def test_liblinear_bias_scales_the_intercept(path):
    estimator = fitted(data=CANCER, fit_intercept="penalised", intercept_scaling=4.0)
    save_liblinear(estimator, path)
    assert "bias 4\n" in path.read_text()
    model = load_liblinear(path)
    assert model.intercept_scaling == 4.0
    np.testing.assert_allclose(model.intercept, estimator.intercept_, rtol=1e-15)


def test_liblinear_exact_intercept_is_a_constant_feature(path):
    estimator = fitted(data=CANCER)
    save_liblinear(estimator, path)
    lines = path.read_text().splitlines()
    assert lines[2:5] == ["label 1 0", "nr_feature 30", "bias 1"]
    assert float(lines[-1]) == estimator.intercept_[0]
    np.testing.assert_array_equal(load_liblinear(path).coef, estimator.coef_)


@pytest.mark.parametrize(
    "classes", [["a", "b"], [0.5, 1.0], [0, 2**31], [False, True], [0, np.inf]]
)
def test_liblinear_has_only_integer_labels(path, classes):
    model = LinearModel(np.ones((1, 2)), np.zeros(1), np.array(classes), "hinge")
    with pytest.raises(ModelFormatError, match="LIBLINEAR's labels are 32-bit integers"):
        save_liblinear(model, path)
    assert not path.exists()


def test_liblinear_has_no_other_losses(path):
    model = LinearModel(np.ones((1, 2)), np.zeros(1), np.array([0, 1]), "ramp")
    with pytest.raises(ModelFormatError, match="LIBLINEAR has no model with the loss 'ramp'"):
        save_liblinear(model, path)


def test_crammer_singer_of_two_classes_has_two_columns(path):
    text = LIBLINEAR_TWO.replace("L2R_L1LOSS_SVC_DUAL", "MCSVM_CS")
    text = text.replace("338 \n", "338 -0.76866896825921338 \n")
    text = text.replace("267 \n", "267 -0.15373379365184267 \n")
    path.write_text(text)
    model = load_liblinear(path)
    assert model.predict([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]).tolist() == [3, -1, -1]
    save_liblinear(model, path)
    assert path.read_text() == text
    assert model.to_estimator().multi_class == "crammer_singer"


MALFORMED = {
    "empty": ("", None, "the file is empty"),
    "foreign": ("hello\n", 1, "this is not a LIBLINEAR model"),
    "unknown key": (LIBLINEAR_TWO.replace("nr_class", "classes"), 2, "unknown text"),
    "twice": ("solver_type L2R_LR\n" + LIBLINEAR_TWO, 2, "solver_type occurs twice"),
    "solver": (LIBLINEAR_TWO.replace("L2R_L1LOSS", "L9"), 1, "is not a solver_type of LIBLINEAR"),
    "labels of a regression": (
        LIBLINEAR_TWO.replace("L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVR"),
        3,
        "a model of the type L2R_L2LOSS_SVR has no label",
    ),
    "one class without rho": (
        "solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nw\n1 \n",
        5,
        "there is no rho before the weights",
    ),
    "rho": (
        "solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nrho nan\nw\n1 \n",
        5,
        "rho cannot be 'nan'",
    ),
    "one class": (LIBLINEAR_TWO.replace("nr_class 2", "nr_class 1"), 2, "at least two classes"),
    "class count": (LIBLINEAR_TWO.replace("nr_class 2", "nr_class x"), 2, "nr_class cannot be 'x'"),
    "too few labels": (LIBLINEAR_TWO.replace("3 -1", "3"), 3, "there are 1 labels, but nr_class"),
    "bad label": (LIBLINEAR_TWO.replace("3 -1", "3 1.5"), 3, "label cannot be '1.5'"),
    "equal labels": (LIBLINEAR_TWO.replace("3 -1", "3 3"), 3, "a label occurs twice"),
    "features": (LIBLINEAR_TWO.replace("nr_feature 2", "nr_feature 0"), 4, "nr_feature cannot be"),
    "no features": (LIBLINEAR_TWO.replace("nr_feature 2\n", ""), 5, "there is no nr_feature"),
    "bias": (LIBLINEAR_TWO.replace("bias -1", "bias nan"), 5, "bias cannot be 'nan'"),
    "no weights": (LIBLINEAR_TWO[: LIBLINEAR_TWO.index("w\n")], 5, "it ends before the weights"),
    "cut short": (LIBLINEAR_TWO.rsplit("0.15", 1)[0], 7, "it has 1 of 2 rows of weights"),
    "too many": (LIBLINEAR_TWO + "1\n", 9, "more weights than the 2 rows"),
    "no number": (LIBLINEAR_TWO.replace("0.15", "a.15"), 8, "is not a finite number"),
    "infinite": (LIBLINEAR_TWO.replace("0.15373379365184267", "inf"), 8, "not a finite number"),
    "underscore": (LIBLINEAR_TWO.replace("0.15", "0_15"), 8, "is not a finite number"),
    "columns": (
        LIBLINEAR_THREE.replace("-0.902", "1 -0.902"),
        9,
        "the line should have 3 weights and has 4",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_liblinear_text_is_refused_with_its_line(path, name):
    text, line, message = MALFORMED[name]
    path.write_text(text)
    with pytest.raises(ModelFormatError) as caught:
        load_liblinear(path)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)
