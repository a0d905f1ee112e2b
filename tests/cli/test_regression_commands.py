"""train, tune, predict, certify and convert of regressions."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from widemargin import LinearSVR, load_model
from widemargin.cli.main import main

X, Y = (part[:120] for part in load_diabetes(return_X_y=True))
X = scale(X)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        " ".join([repr(float(t)), *(f"{j + 1}:{v!r}" for j, v in enumerate(row))])
        for row, t in zip(X.tolist(), Y, strict=True)
    ]
    (tmp_path / "data.svm").write_text("\n".join(rows) + "\n")
    return tmp_path


def answer(capsys, *words):
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_train_predict_and_certify(file, capsys):
    words = ("train", "--task", "regression", "data.svm", "m", "--epsilon", "5", "-C", "2")
    code, said = answer(capsys, *words)
    assert code == 0
    assert said["relative_gap"] <= 1e-4
    same = LinearSVR(epsilon=5.0, C=2.0).fit(X, Y)
    assert said["primal"] == pytest.approx(same.primal_[0], rel=1e-4)
    code, found = answer(capsys, "predict", "data.svm", "m")
    np.testing.assert_allclose(found["predictions"], load_model("m").predict(X))
    assert found["mean_squared_error"] == pytest.approx(said["training_mean_squared_error"])
    assert main(["predict", "data.svm", "m", "-q"]) == 0
    printed = np.array(capsys.readouterr().out.split(), dtype=float)
    np.testing.assert_array_equal(printed, found["predictions"])
    code, proof = answer(capsys, "certify", "m", "data.svm", "--tol", "1e-3")
    assert (code, proof["certified"]) == (0, True)


def test_liblinear_models_need_what_their_files_lack(file, capsys):
    main(
        [
            "train",
            "--liblinear",
            "-q",
            "-s",
            "13",
            "-p",
            "3",
            "-c",
            "0.5",
            "-B",
            "1",
            "data.svm",
            "m",
        ]
    )
    assert (file / "m").read_text().startswith("solver_type L2R_L1LOSS_SVR_DUAL\nnr_class 2\n")
    assert main(["certify", "m", "data.svm", "-C", "0.5"]) == 2
    assert "pass --epsilon" in capsys.readouterr().err
    code, proof = answer(capsys, "certify", "m", "data.svm", "-C", "0.5", "--epsilon", "3")
    assert (code, proof["intercept"]) == (0, "penalised")
    assert main(["convert", "m", "own", "-q"]) == 0
    np.testing.assert_allclose(load_model("own").coef, _weights(file / "m"))


def _weights(path):
    return np.array(path.read_text().split("\nw\n")[1].split(), dtype=float)[:-1]


def test_tune(file, capsys):
    words = ("tune", "--task=regression", "data.svm", "m", "--Cs", "0.01,1", "--epsilon", "5")
    code, said = answer(capsys, *words, "--folds", "3")
    assert (code, said["C"]) == (0, 1.0)
    assert 0.0 < said["best_score"] < 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "data.svm", "m", "--proba"], "--proba is for classifiers"),
        (["certify", "m", "data.svm", "--multi-class", "ovr"], "--multi-class is for classifiers"),
        (["train", "--task", "regression", "data.svm", "--epsilon", "-1"], "finite number from 0"),
        (["train", "--task", "regression", "data.svm", "--solver", "x"], "solver must be one of"),
    ],
)
def test_what_does_not_go_together_is_said(file, capsys, words, message):
    main(["train", "--task", "regression", "data.svm", "m", "-q"])
    assert main(words) == 2
    assert message in capsys.readouterr().err


def hints(capsys, command, labels, *words):
    """Return what is said about the task to a file with these labels."""
    with open("labels.csv", "w") as file:
        file.write("y,a\n" + "".join(f"{label},{i % 7}\n" for i, label in enumerate(labels)))
    main([command, "labels.csv", "m", "--label", "y", *words])
    said = capsys.readouterr().err
    return [line for line in said.splitlines() if "--task regression" in line]


@pytest.mark.parametrize(
    ("command", "words"), [("train", ()), ("tune", ("--Cs", "1", "--folds", "2"))]
)
def test_numbers_that_are_no_classes_name_the_task(file, capsys, command, words):
    (said,) = hints(capsys, command, [7 * (i % 70) for i in range(210)], *words)
    assert said.startswith("widemargin: the labels are 70 different numbers in 210 rows")
    (said,) = hints(capsys, command, [0.5 * i for i in range(40)], *words)
    assert said.startswith("widemargin: labels.csv: the labels are not whole numbers")


@pytest.mark.parametrize("count", [2, 40, 60])
def test_classes_get_no_hint_about_the_task(file, capsys, count):
    assert hints(capsys, "train", [i % count for i in range(600)]) == []
    assert hints(capsys, "train", [f"c{i % 70}" for i in range(210)]) == []
    assert hints(capsys, "train", [i % 70 for i in range(210)], "-q") == []
