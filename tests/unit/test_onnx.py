"""ONNX graphs: labels, scores and probabilities of onnxruntime are ours, on 1,000 rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
    RobustSVC,
    RobustSVCCV,
    load_liblinear,
    register_onnx_converters,
    save_liblinear,
    save_onnx,
)
from widemargin.model_io import model_of
from widemargin.model_io.errors import ModelFormatError

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

ESTIMATORS = {
    "LinearSVC": LinearSVC(),
    "hinge": LinearSVC("hinge", fit_intercept=False),
    "penalised": LinearSVC(fit_intercept="penalised", intercept_scaling=3.0),
    "LogisticRegression": LogisticRegression(),
    "one-vs-rest": LogisticRegression(multi_class="ovr"),
    "LinearSVCCV": LinearSVCCV(Cs=[0.1, 1.0]),
    "sigmoid": LinearSVCCV(Cs=[0.1], probability="sigmoid"),
    "isotonic": LinearSVCCV(Cs=[0.1], probability="isotonic"),
    "LogisticRegressionCV": LogisticRegressionCV(Cs=[0.1, 1.0]),
    "Crammer-Singer": LinearSVC(multi_class="crammer_singer"),
    "RobustSVC": RobustSVC(radius=0.1),
    "RobustSVCCV": RobustSVCCV(cv=2, radii=[0.1, 0.2]),
}
BINARY_ONLY = ("RobustSVC", "RobustSVCCV")


def data(classes: int, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    """Return rows to train on, their labels, and 1,000 rows to predict."""
    X, y = make_classification(
        1200, 9, n_informative=6, n_classes=classes, flip_y=0.1, random_state=classes
    )
    X = (3.0 * X).astype(dtype)
    return X[:200], y[:200], X[200:]


def answers(graph: Any, X: Any) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    (given,) = session.get_inputs()
    return dict(zip(names, session.run(None, {given.name: X}), strict=True))


def cases() -> list[Any]:
    return [
        pytest.param(name, k, id=f"{name}-{k}")
        for name in ESTIMATORS
        for k in (2, 4)
        if k == 2 or name not in BINARY_ONLY
    ]


@pytest.mark.parametrize(("name", "classes"), cases())
def test_files(name: str, classes: int, tmp_path: Path) -> None:
    X, y, new = data(classes)
    words = np.array(["ash", "beech", "cedar", "double fir"])
    model = ESTIMATORS[name].fit(X, words[y])
    save_onnx(model, tmp_path / "m.onnx")
    found = answers(str(tmp_path / "m.onnx"), new)
    assert len(new) == 1000
    np.testing.assert_array_equal(found["label"], model.predict(new))
    scores = model.decision_function(new).reshape(1000, -1)
    np.testing.assert_allclose(found["scores"], scores, atol=1e-9)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize(("name", "classes"), cases())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pipelines(name: str, classes: int, dtype: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    X, y, new = data(classes, dtype)
    # A pipeline's scaler computes in the precision of its rows there.
    first = [StandardScaler()] if dtype == np.float64 else []
    model = make_pipeline(*first, ESTIMATORS[name]).fit(X, y)
    graph = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    label, second = answers(graph.SerializeToString(), new).values()
    new = new.astype(np.float64)  # scores are computed in double precision there
    np.testing.assert_array_equal(label, model.predict(new))
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(new)
    else:
        expected = model.decision_function(new)
        if expected.ndim == 1:
            expected = np.column_stack([-expected, expected])
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-6)


def test_a_transformer_of_a_search_goes_along() -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    X, y, new = data(3)
    inner = make_pipeline(StandardScaler(), SelectKBest(k=4))
    model = LinearSVCCV(Cs=[0.1], transformer=inner, probability=True).fit(X, y)
    graph = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    label, probabilities = answers(graph.SerializeToString(), new).values()
    np.testing.assert_array_equal(label, model.predict(new))
    np.testing.assert_allclose(probabilities, model.predict_proba(new), atol=1e-6)
    graph = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False, "raw_scores": True})
    _, scores = answers(graph.SerializeToString(), new).values()
    np.testing.assert_allclose(scores, model.decision_function(new), atol=1e-6)


@pytest.mark.parametrize("labels", [[0.0, 1.0], [-1, 1], [False, True]])
def test_labels(labels: Any, tmp_path: Path) -> None:
    X, y, new = data(2, np.float32)
    model = LogisticRegression().fit(X, np.array(labels)[y])
    save_onnx(model, tmp_path / "m.onnx", dtype=np.float32)
    found = answers(str(tmp_path / "m.onnx"), new)
    np.testing.assert_array_equal(found["label"], model.predict(new))
    assert found["scores"].dtype == np.float32


def test_two_lines_for_two_classes(tmp_path: Path) -> None:
    """A Crammer-Singer model of LIBLINEAR has one line for each of two classes."""
    X, y, new = data(2)
    save_liblinear(LinearSVC(multi_class="crammer_singer").fit(X, y), tmp_path / "m")
    model = load_liblinear(tmp_path / "m")
    save_onnx(model, tmp_path / "m.onnx")
    found = answers(str(tmp_path / "m.onnx"), new)
    np.testing.assert_array_equal(found["label"], model.predict(new))


def test_refused(tmp_path: Path) -> None:
    X, y, _ = data(2)
    with pytest.raises(ValueError, match="dtype must be"):
        save_onnx(LinearSVC().fit(X, y), tmp_path / "m.onnx", dtype=np.int32)
    odd = model_of(LogisticRegression().fit(X, y))
    object.__setattr__(odd, "classes", np.array([0.5, 1.5]))
    with pytest.raises(ModelFormatError, match="integers or strings"):
        save_onnx(odd, tmp_path / "m.onnx")


def test_the_package_does_not_import_onnx() -> None:
    code = "import sys, widemargin, widemargin.model_io; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression", "sigmoid", "RobustSVC"])
def test_skops(name: str, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    X, y, new = data(2)
    model = ESTIMATORS[name].fit(X, y)
    skops.dump(model, tmp_path / "m.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "m.skops")
    assert all(kind.startswith("widemargin.") for kind in unknown)
    again = skops.load(tmp_path / "m.skops", trusted=unknown)
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_dictionary_per_row_is_the_default_of_skl2onnx(classes: int) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    X, y, new = data(classes, np.float32)  # ONNX has dictionaries of single precision only
    model = ESTIMATORS["LogisticRegression"].fit(X, y)
    label, maps = answers(skl2onnx.to_onnx(model, X[:1]).SerializeToString(), new).values()
    new = new.astype(np.float64)  # scores are computed in double precision there
    np.testing.assert_array_equal(label, model.predict(new))
    found = np.array([[row[name] for name in model.classes_.tolist()] for row in maps])
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-6)
    with pytest.raises(ValueError, match="nocl"):
        skl2onnx.to_onnx(model, X[:1], options={id(model): {"nocl": True}})
