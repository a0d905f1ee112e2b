"""train --task sequence, and predict and certify with sequence models."""

import json

import numpy as np
import pytest

from widemargin import SequenceCRF, SequenceSVC, load_conll, load_model, save_model
from widemargin.model_io import ModelFormatError, SequenceModel, sequence_model_of

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB\n"


def text(seed, sentences, labels=True):
    """Return sentences with tags that tell their labels, most of the time."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        for _ in range(random.integers(1, 7)):
            code = random.integers(3)
            tag = code if random.random() < 0.8 else random.integers(3)
            own = [f"w{random.integers(20)}", f"T{tag}"] + [["B-NP", "I-NP", "O"][code]] * labels
            lines.append(" ".join(own))
        lines.append("")
    return "\n".join(lines)


@pytest.fixture
def files(folder):
    (folder / "train.txt").write_text(text(0, 40))
    (folder / "test.txt").write_text(text(1, 10))
    (folder / "plain.txt").write_text(text(1, 10, labels=False))
    (folder / "template").write_text(TEMPLATE)
    return folder


@pytest.mark.parametrize(("loss", "kind"), [("hinge", SequenceSVC), ("logistic", SequenceCRF)])
def test_train_predict_certify(files, run, run_json, loss, kind):
    code, result = run_json(
        "train", "--task", "sequence", "train.txt", "a.model", "--template", "template",
        "--loss", loss, "-C", 0.5,
    )  # fmt: skip
    data = load_conll("train.txt", TEMPLATE)
    test = load_conll("test.txt", TEMPLATE, data.feature_names)
    expected = kind(0.5).fit(data.X, data.y, lengths=data.lengths)
    assert code == 0
    assert result["command"] == "train"
    assert result["relative_gap"] <= 1e-3
    assert result["primal"] == pytest.approx(expected.certificate_.primal, rel=1e-3)
    model = load_model("a.model")
    assert isinstance(model, SequenceModel)
    assert (model.template, model.columns, model.C) == (TEMPLATE, 2, 0.5)
    # A file with labels and the same without give the same answers.
    code, result = run_json("predict", "test.txt", "a.model")
    found = model.predict(test.X, lengths=test.lengths)
    assert result["labels"] == [labels.tolist() for labels in found]
    assert result["token_accuracy"] == pytest.approx(np.mean(np.concatenate(found) == test.y))
    assert 0.0 < result["span_f1"] < 1.0
    code, out, _ = run("predict", "plain.txt", "a.model", "-q")
    assert out == "\n\n".join("\n".join(labels) for labels in found) + "\n"
    code, result = run_json("certify", "a.model", "train.txt")
    assert (code, result["certified"]) == (0, True)
    code, result = run_json("certify", "a.model", "train.txt", "-C", 50, "--time-limit", 5)
    assert (code, result["certified"]) == (1, False)


def test_probabilities_and_reports(files, run):
    command = ["train", "--task=sequence", "train.txt", "--template", "template"]
    code, out, _ = run(*command, "--loss", "logistic")
    assert code == 0
    assert "training span F1" in out
    code, out, _ = run("predict", "plain.txt", "train.txt.model", "--proba", "-q")
    heading, first = out.splitlines()[:2]
    assert heading == "labels B-NP I-NP O"
    assert sum(map(float, first.split()[1:])) == pytest.approx(1.0)
    assert run(*command, "--max-iter", 1, "--tol", 1e-9)[0] == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["predict", "test.txt", "a.model", "--scores"], "--scores is not for sequences"),
        (["predict", "test.txt", "a.model", "--proba"], "--proba needs a model trained with"),
        (["predict", "template", "a.model"], "template has 1 columns; the model was trained on 2"),
        (["certify", "a.model", "plain.txt"], "plain.txt has no labels"),
        (["certify", "a.model", "train.txt", "--exact"], "--exact is not for sequences"),
        (["convert", "a.model", "b.onnx"], "a.model is a sequence model"),
        (["train", "--task", "sequence", "train.txt", "--loss", "squared_hinge"], "invalid choice"),
        (["train", "--task", "sequence", "train.txt", "--solver", "newton"], "cached_frank_wolfe"),
        (["train", "--task", "sequence", "none.txt"], "none.txt"),
        (["train", "--task", "chess", "train.txt"], "invalid choice"),
    ],
)
def test_what_is_refused(files, run, command, message):
    run("train", "--task", "sequence", "train.txt", "a.model", "--template", "template")
    code, _, err = run(*command)
    assert code == 2
    assert message in err


def test_model_files(files):
    X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 2, 0]], np.eye(3)[[1]]]
    y = [[5, 7, 9], [9, 9, 5], [7]]
    cost = 1.0 - np.eye(3)
    cost[0, 1] = 3.0
    fitted = SequenceSVC(0.7, cost=cost, boundaries=False).fit(X, y)
    save_model(fitted, "numbers.model")
    model = load_model("numbers.model")
    assert repr(model) == "<SequenceModel: hinge, C 0.7, 3 labels, 3 features>"
    assert np.array_equal(model.coef, fitted.coef_)
    assert np.array_equal(model.cost, cost)
    assert [labels.tolist() for labels in model.predict(X)] == [
        labels.tolist() for labels in fitted.predict(X)
    ]
    assert model.certificate.dual == fitted.certificate_.dual
    assert model.problem(X, y).primal_at(model.weights) == pytest.approx(model.primal)
    again = model.to_estimator()
    assert again.certificate_.primal == model.primal
    with pytest.raises(ValueError, match="the label 4"):
        model.problem(X, [[4, 7, 9], [9, 9, 5], [7]])
    with pytest.raises(ValueError, match="no template"):
        model.features_of([[["a"]]])
    with pytest.raises(ValueError, match="log loss"):
        model.predict_marginals(X)
    with pytest.raises(ValueError, match="transition has shape"):
        SequenceModel(**{**vars(model), "transition": np.zeros((2, 2))})
    content = (files / "numbers.model").read_bytes()
    (files / "cut.model").write_bytes(content[:-40])
    with pytest.raises(ModelFormatError, match="truncated"):
        load_model("cut.model")
    names = sequence_model_of(SequenceCRF().fit([[{"a": 1}, {"b": 1}]], [["x", "y"]]))
    save_model(names, "names.model")
    assert load_model("names.model").feature_names == ("a", "b")
    assert json.dumps(load_model("names.model").predict([[{"b": 1}]])[0].tolist()) == '["y"]'
