"""certify: models of any origin against the data; convert: there and back."""

import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from widemargin import LinearSVC, load_svmlight
from widemargin.model_io import (
    LinearModel,
    load_liblinear,
    load_model,
    save_liblinear,
    save_model,
)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), np.where(y, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", ["exact", "penalised", "none"])
def test_our_models_pass(run_json, loss, intercept):
    _, trained = run_json(
        "train", "cancer.svm", "a.model", "--loss", loss, "--intercept", intercept, "-C", 0.3,
        "--tol", 1e-7,
    )  # fmt: skip
    code, result = run_json("certify", "a.model", "cancer.svm", "--tol", 1e-5)
    assert code == 0
    assert result["certified"]
    assert result["C"] == 0.3
    (problem,) = result["problems"]
    assert problem["primal"] == pytest.approx(trained["primal"], rel=1e-10)
    assert problem["dual"] <= trained["primal"] * (1 + 1e-12)
    assert problem["relative_gap"] <= 1e-5


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", ["exact", "penalised", "none"])
def test_exactly(run_json, loss, intercept):
    """The bounds are those of exact arithmetic, rounded outwards."""
    options = ("--loss", loss, "--intercept", intercept, "--multi-class", "ovr")
    run_json("train", "iris.csv", "a.model", *options)
    code, plain = run_json("certify", "a.model", "iris.csv", "--tol", 1e-4)
    assert code == 0
    assert not plain["exact"]
    code, exact = run_json("certify", "a.model", "iris.csv", "--tol", 2e-4, "--exact")
    assert code == 0
    assert exact["exact"]
    for before, now in zip(plain["problems"], exact["problems"], strict=True):
        assert now["primal"] == pytest.approx(before["primal"], rel=1e-13)
        assert now["dual"] <= now["primal"]
        assert now["relative_gap"] <= 2e-4


@pytest.mark.parametrize("data", ["iris.csv", "cancer.svm"])
@pytest.mark.parametrize(
    "rule",
    [("--loss", "hinge", "--multi-class", "crammer_singer"), ("--loss", "logistic")],
    ids=["Crammer-Singer", "multinomial"],
)
def test_exactly_and_jointly(run, run_json, data, rule):
    run_json("train", data, "a.model", *rule)
    code, result = run_json("certify", "a.model", data, "--tol", 2e-4, "--exact")
    assert code == 0
    assert result["problems"][0]["relative_gap"] <= 2e-4
    assert "proven in exact arithmetic" in run("certify", "a.model", data, "--exact")[1]


def test_a_worse_model_fails_with_bounds_on_how_much_worse(run_json):
    X, y = cancer()
    best = LinearSVC("hinge", fit_intercept=False, tol=1e-8).fit(X, y)
    w = 1.2 * best.coef_
    primal = 0.5 * float((w**2).sum()) + np.maximum(0.0, 1.0 - y * (X @ w[0])).sum()
    save_model(
        LinearModel(w, np.zeros(1), np.array([-1, 1]), "hinge", C=1.0, intercept_kind="none"),
        "bad.model",
    )
    code, result = run_json("certify", "bad.model", "cancer.svm", "--tol", 1e-3)
    (problem,) = result["problems"]
    optimum = best.certificate_.primal
    assert code == 1
    assert not result["certified"]
    assert problem["primal"] == pytest.approx(primal, rel=1e-12)
    assert problem["dual"] <= optimum <= problem["best_primal"] * (1 + 1e-8)
    # The gap found is the true one, to the accuracy that the search aims at.
    assert problem["gap"] == pytest.approx(primal - optimum, abs=2e-4 * primal)


def test_the_models_own_intercept_counts(run_json):
    """A wrong intercept is the model's fault, and must not be repaired on the way."""
    X, y = cancer()
    best = LinearSVC(tol=1e-8).fit(X, y)
    save_model(
        LinearModel(best.coef_, best.intercept_ + 1.0, np.array([-1, 1]), "squared_hinge", C=1.0),
        "bad.model",
    )
    code, result = run_json("certify", "bad.model", "cancer.svm")
    assert code == 1
    assert result["problems"][0]["best_primal"] < result["problems"][0]["primal"] * 0.99


def test_every_class_gets_its_row(run, run_json):
    run_json("train", "iris.csv", "a.model", "--tol", 1e-6, "--class-weight", "setosa=3")
    code, result = run_json("certify", "a.model", "iris.csv", "--tol", 1e-4)
    assert code == 0
    assert [problem["class"] for problem in result["problems"]] == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    assert result["relative_gap"] == max(p["relative_gap"] for p in result["problems"])
    assert run_json("certify", "a.model", "iris.csv", "--class-weight", "setosa=1")[0] == 1
    code, out, _ = run("certify", "a.model", "iris.csv")
    assert code == 0
    assert "versicolor" in out
    assert "The objective is proven to be within 0.1 % of the optimum" in out


def test_liblinear_text_without_the_program(run, run_json):
    X, y = cancer()
    save_liblinear(LinearSVC("hinge", fit_intercept="penalised", tol=1e-6).fit(X, y), "a.model")
    code, _, err = run("certify", "a.model", "cancer.svm")
    assert code == 2
    assert "a.model does not contain the C it was trained with: pass -C" in err
    code, result = run_json("certify", "a.model", "cancer.svm", "-C", 1, "--tol", 1e-4)
    assert code == 0
    assert (result["loss"], result["intercept"]) == ("hinge", "penalised")
    assert run_json("certify", "a.model", "cancer.svm", "-C", 2, "--tol", 1e-4)[0] == 1
    # Written as a constant feature, an exact intercept has to be named.
    save_liblinear(LinearSVC(tol=1e-6).fit(X, y), "b.model")
    arguments = ("certify", "b.model", "cancer.svm", "-C", 1, "--tol", 1e-5)
    assert run_json(*arguments)[0] == 1
    assert run_json(*arguments, "--intercept", "exact")[0] == 0


@pytest.mark.skipif(shutil.which("liblinear-train") is None, reason="liblinear-train is absent")
@pytest.mark.parametrize("solver", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("bias", ["-1", "1"])
def test_models_of_liblinear(run_json, folder, solver, bias):
    program = shutil.which("liblinear-train")
    for epsilon, tol, expected in (("1e-6", 1e-3, 0), ("100", 1e-9, 1)):
        command = [program, "-q", "-s", str(solver), "-B", bias, "-e", epsilon, "-c", "0.5"]
        subprocess.run([*command, "cancer.svm", "a.model"], check=True, capture_output=True)
        code, result = run_json("certify", "a.model", "cancer.svm", "-C", 0.5, "--tol", tol)
        assert code == expected
        assert result["intercept"] == ("penalised" if bias == "1" else "none")


def test_features_that_only_the_data_have(run_json, folder):
    """A model that never saw a feature is a model with weight zero for it."""
    text = (folder / "cancer.svm").read_text().splitlines()
    run_json("train", "cancer.svm", "a.model", "--tol", 1e-6)
    (folder / "more.svm").write_text("\n".join([text[0] + " 40:3", *text[1:]]) + "\n")
    code, result = run_json("certify", "a.model", "more.svm")
    assert code in (0, 1)
    assert result["problems"][0]["primal"] == pytest.approx(
        load_model("a.model").certificates[0].primal, rel=1e-10
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n1 2:1\n", "the data have no example of the model's class -1"),
        ("1 1:1\n-1 2:1\n5 1:1\n", "the data have the label 5, which the model does not know"),
    ],
)
def test_labels_must_be_the_models(run, folder, text, message):
    run("train", "cancer.svm", "a.model")
    (folder / "other.svm").write_text(text)
    code, _, err = run("certify", "a.model", "other.svm")
    assert code == 2
    assert message in err


def test_other_kinds_cannot_be_certified(run, folder):
    (folder / "a.model").write_text(
        "solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nrho 1\nw\n1 \n"
    )
    code, _, err = run("certify", "a.model", "cancer.svm", "-C", 1)
    assert code == 2
    assert "-C is not for an outlier detector" in err


def test_models_there_and_back(run, folder):
    run("train", "iris.svm", "a.model", "--intercept", "penalised")
    assert run("convert", "a.model", "b.model")[0] == 0
    assert run("convert", "b.model", "c.model")[0] == 0
    first, last = load_model("a.model"), load_model("c.model")
    np.testing.assert_array_equal(first.coef, last.coef)
    np.testing.assert_array_equal(first.intercept, last.intercept)
    assert load_liblinear("b.model").loss == "squared_hinge"
    assert run("convert", "a.model", "d.model", "--to", "own")[0] == 0
    assert (folder / "a.model").read_bytes() == (folder / "d.model").read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_data_there_and_back(run, folder, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    code, out, err = run("convert", "cancer.svm", f"a{suffix}")
    assert (code, err) == (0, "")
    assert "569 x 30" in out
    assert run("convert", f"a{suffix}", "b.svm")[0] == 0
    before = [line.split() for line in (folder / "cancer.svm").read_text().splitlines()]
    after = [line.split() for line in (folder / "b.svm").read_text().splitlines()]
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert float(old[0]) == float(new[0])
        assert [float(cell.split(":")[1]) for cell in old[1:]] == [
            float(cell.split(":")[1]) for cell in new[1:]
        ]


def test_csv_keeps_names_and_strings(run, folder):
    assert run("convert", "iris.csv", "b.csv")[0] == 0
    assert run("convert", "b.csv", "c.csv")[0] == 0
    head, first, *_ = (folder / "c.csv").read_text().splitlines()
    assert head == "sl,sw,pl,pw,label"
    assert first == "5.1,3.5,1.4,0.2,setosa"
    code, _, err = run("convert", "iris.csv", "c.svm")
    assert code == 2
    assert "LIBSVM's format needs numbers as labels; these are text" in err
    np.testing.assert_array_equal(
        np.loadtxt(folder / "c.csv", delimiter=",", skiprows=1, usecols=range(4)),
        load_iris().data,
    )


def test_convert_refuses_the_wrong_target(run):
    run("train", "iris.svm", "a.model")
    code, _, err = run("convert", "a.model", "b", "--to", "csv")
    assert code == 2
    assert "a.model is a model; --to must be own, liblinear or onnx" in err
    code, _, err = run("convert", "iris.svm", "b", "--to", "own")
    assert code == 2
    assert "iris.svm is not a model; --to must be svm, csv or parquet" in err


def test_model_to_onnx(run, run_json, folder):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    run("train", "iris.svm", "iris.model", "--loss", "logistic")
    code, found = run_json("convert", "iris.model", "iris.onnx")
    assert code == 0
    assert found["to"] == "onnx"
    session = runtime.InferenceSession(str(folder / "iris.onnx"))
    _, answers = run_json("predict", "iris.svm", "iris.model", "--proba")
    X = np.asarray(load_svmlight(folder / "iris.svm")[0].todense())
    label, scores, probabilities = session.run(None, {"X": X})
    np.testing.assert_array_equal(label, answers["labels"])
    np.testing.assert_allclose(probabilities, answers["probabilities"], atol=1e-9)
    assert scores.shape == (150, 3)
