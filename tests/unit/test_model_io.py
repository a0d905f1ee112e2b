"""Model files: round trips, and one clear sentence for every file that cannot be read."""

import hashlib
import json
import pickle
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from widemargin import LinearSVC, LogisticRegression
from widemargin.model_io import (
    LinearModel,
    ModelFormatError,
    load_liblinear,
    load_model,
    model_of,
    save_liblinear,
    save_model,
)
from widemargin.model_io.own import MAGIC, SCHEMA

IRIS = load_iris(return_X_y=True)
CANCER = (scale(load_breast_cancer().data), load_breast_cancer().target)

# What LIBLINEAR 2.3's `train -s 2 -B 1` and `train -s 3` wrote for two small files.
LIBLINEAR_THREE = """\
solver_type L2R_L2LOSS_SVC
nr_class 3
label 1 3 2
nr_feature 2
bias 1
w
0.88524963515289867 -0.70324189526184544 -0.006187693365417718 
-0.41853237393730119 -0.48379052369077308 0.78721210037813683 
0.015658959279877122 0.059850374064837897 -0.90202818838088683 
"""  # noqa: W291 - LIBLINEAR ends its lines so
LIBLINEAR_TWO = """\
solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 3 -1
nr_feature 2
bias -1
w
0.76866896825921338 
0.15373379365184267 
"""  # noqa: W291


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


def fitted(classes="numbers", data=IRIS, make=LinearSVC, **settings):
    X, y = data
    names = {
        "numbers": np.arange(3),
        "strings": np.array(["Rose", "lily", "τulip"]),
        "objects": np.array(["Rose", "lily", "τulip"], dtype=object),
        "bytes": np.arange(3, dtype=np.uint8),
        "floats": np.array([-1.0, 0.0, 2.0], dtype=np.float32),
        "booleans": np.array([False, True]),
    }[classes]
    return make(**settings).fit(X, names[y])


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
    assert again.n_iter_[0] < cold.n_iter_[0]
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
    with pytest.raises(ValueError, match="only the logistic loss gives probabilities"):
        model_of(fitted()).probabilities_of(np.zeros(3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coef": np.zeros(3)}, r"coef must have shape \(k, n_features\)"),
        ({"intercept": np.zeros(2)}, "coef has 1 rows"),
        ({"classes": np.array([1])}, "at least two classes"),
        ({"classes": np.array([1, 1])}, "named twice"),
        ({"classes": np.array([1, 2, 3])}, "3 classes do not go with 1 rows"),
        ({"coef": np.array([[np.nan, 1.0]])}, "not finite"),
        ({"intercept_kind": "some"}, "intercept_kind"),
        ({"intercept_scaling": 0.0}, "intercept_scaling"),
        ({"C": -1.0}, "C must be positive"),
        ({"primal": np.zeros(4)}, "primal has shape"),
        ({"feature_names": ("a",)}, "1 names for 2 features"),
        ({"loss": 3}, "must be strings"),
    ],
)
def test_inconsistent_models_are_refused(changes, message):
    good = {"coef": np.ones((1, 2)), "intercept": np.zeros(1), "classes": [0, 1], "loss": "hinge"}
    LinearModel(**good)
    with pytest.raises(ValueError, match=message):
        LinearModel(**{**good, **changes})


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    save_model(fitted(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(fitted(C=2.0), path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*nowhere"):
        save_model(fitted(), tmp_path / "nowhere" / "a.model")


def with_checksum(content):
    return content + hashlib.sha256(content).digest()


def rebuilt(content, change):
    """Return a file of our format with another header, its checksum right."""
    length = struct.unpack_from("<I", content, 12)[0]
    header = json.loads(content[24 : 24 + length])
    change(header)
    text = json.dumps(header).encode()
    arrays = content[24 + length : -32]
    size = 24 + len(text) + len(arrays) + 32
    return with_checksum(struct.pack("<8sIIQ", MAGIC, SCHEMA, len(text), size) + text + arrays)


def flip(content, place):
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


DAMAGES = {
    "empty": (lambda c: b"", "this is not a widemargin model"),
    "foreign": (lambda c: b"solver_type L2R_LR\n", "this is not a widemargin model"),
    "pickle": (lambda c: pickle.dumps({"a": 1}), "this is not a widemargin model"),
    "newer": (
        lambda c: c[:8] + struct.pack("<I", 99) + c[12:],
        "the model has schema 99; this version of widemargin reads schema 1: install a newer one",
    ),
    "magic only": (lambda c: c[:8], "the file is cut short: it ends after 8 bytes"),
    "preamble cut": (lambda c: c[:20], "the file is cut short: it ends after 20 bytes"),
    "half": (lambda c: c[: len(c) // 2], "the file is cut short: it has"),
    "last byte gone": (lambda c: c[:-1], "the file is cut short: it has"),
    "too long": (lambda c: c + b"x", "the file is damaged: it should have"),
    "header bit": (lambda c: flip(c, 40), "the file is damaged: its checksum does not match"),
    "array bit": (lambda c: flip(c, -60), "the file is damaged: its checksum does not match"),
    "checksum bit": (lambda c: flip(c, -1), "the file is damaged: its checksum does not match"),
    "header length": (
        lambda c: c[:12] + struct.pack("<I", 2**31) + c[16:],
        "the file is damaged: it should have",
    ),
    "no arrays": (
        lambda c: rebuilt(c, lambda h: h.pop("arrays")),
        "the file's content makes no sense: 'arrays'",
    ),
    "huge array": (
        lambda c: rebuilt(c, lambda h: h["arrays"][0].update(shape=[2**40, 2**40])),
        "does not fit into the file",
    ),
    "object array": (
        lambda c: rebuilt(c, lambda h: h["arrays"][0].update(dtype="|O")),
        "makes no sense: array 'coef' of '|O'",
    ),
    "unknown field": (
        lambda c: rebuilt(c, lambda h: h.update(colour="red")),
        "makes no sense",
    ),
    "wrong type": (lambda c: rebuilt(c, lambda h: h.update(C="one")), "makes no sense"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_read_is_refused_by_a_sentence(path, name):
    save_model(fitted(), path)
    damage, message = DAMAGES[name]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelFormatError) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", range(0, 300, 7))
def test_no_flipped_bit_passes(path, place):
    save_model(fitted(), path)
    content = path.read_bytes()
    path.write_bytes(flip(content, place % len(content)))
    with pytest.raises(ModelFormatError):
        load_model(path)


def test_mixed_classes_cannot_be_saved(path):
    model = LinearModel(np.ones((1, 2)), np.zeros(1), np.array([1, "a"], dtype=object), "hinge")
    with pytest.raises(ModelFormatError, match="all numbers or all strings"):
        save_model(model, path)
    assert not path.exists()


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
    with pytest.raises(ModelFormatError, match="LIBLINEAR's labels are integers of 32 bits"):
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
    "foreign": ("hello\n", 1, "this is not a model of LIBLINEAR"),
    "unknown key": (LIBLINEAR_TWO.replace("nr_class", "classes"), 2, "unknown text"),
    "twice": ("solver_type L2R_LR\n" + LIBLINEAR_TWO, 2, "solver_type occurs twice"),
    "solver": (LIBLINEAR_TWO.replace("L2R_L1LOSS", "L9"), 1, "is not a solver_type of LIBLINEAR"),
    "regression": (
        LIBLINEAR_TWO.replace("L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVR"),
        1,
        "L2R_L2LOSS_SVR is not a classifier",
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
        "there should be 3 weights on the line, there are 4",
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
