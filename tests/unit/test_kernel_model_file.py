"""Model files of KernelSVC: what is read is what was saved, and damage is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from widemargin import (
    KernelSVC,
    ModelFormatError,
    load_model,
    save_liblinear,
    save_model,
    save_onnx,
)
from widemargin.cli.main import main
from widemargin.model_io.container import read_container, write_container

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


@pytest.mark.parametrize("rule", ["ovr", "ovo", "weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "precomputed"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_is_read_as_it_was_saved(path, kernel, rule, classes):
    rows, names = X[: 50 * classes], NAMES[: 50 * classes]
    rows = rows @ rows.T if kernel == "precomputed" else rows
    model = KernelSVC(kernel, C=2.0, multi_class=rule, class_weight={"setosa": 2.0})
    model.fit(rows, names)
    save_model(model, path)
    found = load_model(path)
    assert isinstance(found, KernelSVC)
    assert np.array_equal(found.decision_function(rows), model.decision_function(rows))
    assert np.array_equal(found.predict(rows), model.predict(rows))
    assert found.get_params() == model.get_params()
    assert vars(found).keys() == vars(model).keys()
    assert found.certificate_ == model.certificate_
    for name in ("support_", "n_support_", "support_vectors_", "dual_coef_", "n_iter_"):
        assert np.array_equal(getattr(found, name), getattr(model, name))


def test_sparse_support_vectors_and_names_of_features_stay(path):
    pandas = pytest.importorskip("pandas")
    model = KernelSVC().fit(sp.csr_matrix(X), Y)
    save_model(model, path)
    found = load_model(path)
    assert sp.issparse(found.support_vectors_)
    assert np.array_equal(found.predict(sp.csr_matrix(X)), model.predict(sp.csr_matrix(X)))
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    save_model(KernelSVC().fit(frame, Y), path)
    with pytest.raises(ValueError, match="feature names"):
        load_model(path).predict(frame[["b", "a", "c", "d"]])


def test_a_function_as_kernel_is_refused(path):
    model = KernelSVC(lambda a, b: a @ b.T).fit(X, Y)
    with pytest.raises(ModelFormatError, match="contains no code"):
        save_model(model, path)
    assert not path.exists()


@pytest.mark.parametrize("save", [save_liblinear, save_onnx])
def test_other_formats_are_for_linear_models(path, save):
    with pytest.raises(TypeError, match=r"expected a fitted linear estimator.*KernelSVC"):
        save(KernelSVC().fit(X, Y), path)


def test_the_command_line_names_the_kind_of_model(path, tmp_path, capsys):
    save_model(KernelSVC().fit(X, Y), path)
    data = tmp_path / "data.svm"
    data.write_text("1 1:1 2:1 3:1 4:1\n")
    assert main(["predict", str(data), str(path)]) != 0
    assert "this is a kernel model" in capsys.readouterr().err


DAMAGES = {
    "classes twice": lambda h, a: h.update(classes=["a", "a", "b"]),
    "sigmoid": lambda h, a: h["settings"].update(kernel="sigmoid"),
    "no setting": lambda h, a: h["settings"].pop("loss"),
    "gamma": lambda h, a: h.update(gamma=-1.0),
    "features": lambda h, a: h.update(features=5),
    "names": lambda h, a: h.update(feature_names=["a"]),
    "counts": lambda h, a: a.update(n_support=a["n_support"] + 1),
    "coefficients": lambda h, a: a.update(dual_coef=a["dual_coef"][:, 1:]),
    "not finite": lambda h, a: a.update(intercept=a["intercept"] * np.nan),
    "row below zero": lambda h, a: a.update(support=a["support"] - 1000),
    "vectors": lambda h, a: a.update(support_vectors=a["support_vectors"][1:]),
    "fractions": lambda h, a: a.update(support=a["support"] + 0.5),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_fit_together_is_refused(path, damage):
    save_model(KernelSVC().fit(X, NAMES), path)
    header, arrays = read_container(path)
    write_container(path, header, arrays)
    load_model(path)  # sound so far
    DAMAGES[damage](header, arrays)
    write_container(path, header, arrays)
    with pytest.raises(ModelFormatError, match="content is invalid"):
        load_model(path)


def test_sparse_vectors_with_a_wild_index_are_refused(path):
    save_model(KernelSVC().fit(sp.csr_matrix(X), Y), path)
    header, arrays = read_container(path)
    arrays["support_vectors_indices"] = arrays["support_vectors_indices"] + 1000
    write_container(path, header, arrays)
    with pytest.raises(ModelFormatError, match="content is invalid"):
        load_model(path)
