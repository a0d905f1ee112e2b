"""train, predict, certify and convert of outlier detectors, and exact proofs of regressions."""

import json

import numpy as np
import pytest

from widemargin import LinearOneClassSVM, load_model
from widemargin.cli.main import main

X = np.random.default_rng(0).normal(size=(100, 3)) + 2.0


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for row in X.tolist())
    (tmp_path / "data.svm").write_text("".join(f"1 {line}\n" for line in lines))
    return tmp_path


def answer(capsys, *words):
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_train_predict_and_certify(file, capsys):
    code, said = answer(capsys, "train", "--task", "one-class", "data.svm", "m", "--nu", "0.2")
    assert (code, said["status"]) == (0, "converged")
    model = LinearOneClassSVM(0.2).fit(X)
    assert said["primal"] == model.primal_[0]
    assert said["training_outliers"] == float((model.predict(X) < 0).mean())
    code, found = answer(capsys, "predict", "data.svm", "m")
    np.testing.assert_array_equal(found["predictions"], model.predict(X))
    assert found["accuracy"] == pytest.approx(1.0 - said["training_outliers"])
    for more in ((), ("--exact",)):
        code, proof = answer(capsys, "certify", "m", "data.svm", *more)
        assert (code, proof["certified"], proof["nu"]) == (0, True, 0.2)
        assert proof["dual"] <= proof["primal"] < 0.0


def test_centred_data_are_certified_too(file, capsys):
    lines = (" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for row in (X - 2.0).tolist())
    (file / "centred.svm").write_text("".join(f"1 {line}\n" for line in lines))
    assert main(["train", "--task", "one-class", "centred.svm", "m"]) == 0
    assert "all weights are zero" in capsys.readouterr().err
    for more in ((), ("--exact",)):
        code, proof = answer(capsys, "certify", "m", "centred.svm", *more)
        assert (code, proof["certified"], proof["primal"]) == (0, True, 0.0)


def test_liblinear_models_need_nu(file, capsys):
    assert main(["train", "--liblinear", "-q", "-s", "21", "-n", "0.2", "data.svm", "m"]) == 0
    assert (file / "m").read_text().startswith("solver_type ONECLASS_SVM\nnr_class 2\n")
    assert main(["certify", "m", "data.svm"]) == 2
    assert "pass --nu" in capsys.readouterr().err
    code, proof = answer(capsys, "certify", "m", "data.svm", "--nu", "0.2", "--exact")
    assert (code, proof["certified"]) == (0, True)
    code, proof = answer(capsys, "certify", "m", "data.svm", "--nu", "0.3")
    assert (code, proof["certified"]) == (1, False)
    assert main(["convert", "m", "own", "-q"]) == 0
    assert load_model("own").kind == "one_class"


@pytest.mark.parametrize("option", ["-C 1", "--epsilon 1", "--loss hinge", "--intercept none"])
def test_options_of_others_are_errors(file, capsys, option):
    main(["train", "--task", "one-class", "data.svm", "m", "-q"])
    assert main(["certify", "m", "data.svm", *option.split()]) == 2
    assert option.split()[0] in capsys.readouterr().err


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", ["exact", "penalised", "none"])
def test_regressions_are_certified_in_exact_arithmetic(file, capsys, loss, intercept):
    lines = (file / "data.svm").read_text().splitlines()
    numbers = np.random.default_rng(1).normal(size=100).tolist()
    text = "".join(f"{t!r}{line[1:]}\n" for t, line in zip(numbers, lines, strict=True))
    (file / "numbers.svm").write_text(text)
    words = ("--loss", loss, "--intercept", intercept, "--epsilon", "0.1", "-q")
    assert main(["train", "--task", "regression", "numbers.svm", "r", *words]) == 0
    code, plain = answer(capsys, "certify", "r", "numbers.svm")
    code, exact = answer(capsys, "certify", "r", "numbers.svm", "--exact")
    assert (code, exact["certified"], exact["exact"]) == (0, True, True)
    assert exact["primal"] <= plain["primal"]
    assert exact["primal"] == pytest.approx(plain["primal"], rel=1e-9)


def test_bounds_in_train_and_certify(file, capsys):
    lines = (file / "data.svm").read_text().splitlines()
    random = np.random.default_rng(2)
    signs = np.where(X[:, 0] - X[:, 1] + random.normal(size=100) > 0, "+1", "-1")
    text = "".join(f"{s}{line[1:]}\n" for s, line in zip(signs, lines, strict=True))
    (file / "labels.svm").write_text(text)
    assert main(["train", "labels.svm", "c", "--positive", "-q"]) == 0
    assert load_model("c").coef.min() == 0.0
    bounded = ["train", "--task", "regression", "labels.svm", "r", "--coef-bounds=-0.1,0.1", "-q"]
    assert main(bounded) == 0
    assert np.abs(load_model("r").coef).max() == 0.1
    for model, option in (("c", "--positive"), ("r", "--coef-bounds=-0.1,0.1")):
        assert main(["certify", model, "labels.svm", "-q"]) == 1
        for more in ((), ("--exact",)):
            code, proof = answer(capsys, "certify", model, "labels.svm", option, *more)
            assert (code, proof["certified"]) == (0, True)
    assert main(["train", "labels.svm", "c", "--positive", "--penalty", "l1"]) == 2
    assert "--penalty l2" in capsys.readouterr().err


def test_onnx(file):
    runtime = pytest.importorskip("onnxruntime")
    from widemargin import save_onnx

    model = LinearOneClassSVM(0.2).fit(X)
    save_onnx(model, "m.onnx")
    session = runtime.InferenceSession("m.onnx")
    label, scores = session.run(["label", "scores"], {"X": X})
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(X))
