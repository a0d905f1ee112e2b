"""Multinomial models on the command line and in model files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from widemargin import LogisticRegression, load_model, save_model


def test_train_and_certify(run_json):
    code, trained = run_json("train", "iris.csv", "a.model", "--loss", "logistic", "--tol", 1e-6)
    assert code == 0
    assert trained["multi_class"] == "multinomial"
    code, result = run_json("certify", "a.model", "iris.csv", "--tol", 1e-5)
    assert code == 0
    assert result["certified"]
    assert len(result["problems"]) == 1
    code, separate = run_json(
        "train", "iris.csv", "b.model", "--loss", "logistic", "--multi-class", "ovr"
    )
    assert code == 0
    assert separate["multi_class"] == "ovr"


def test_what_does_not_go_together(run):
    code, _, message = run("train", "iris.csv", "a.model", "--multi-class", "multinomial")
    assert code == 2
    assert "needs --loss logistic" in message
    code, _, message = run("train", "iris.svm", "a", "--loss", "logistic", "--format", "liblinear")
    assert code == 2
    assert "no multinomial model" in message


def test_a_model_file_keeps_the_probabilities(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(tol=1e-6).fit(X, y)
    save_model(model, tmp_path / "iris.model")
    loaded = load_model(tmp_path / "iris.model")
    assert loaded.multi_class == "multinomial"
    scores = loaded.decision_function(X)
    np.testing.assert_allclose(loaded.probabilities_of(scores), model.predict_proba(X), rtol=1e-12)
    again = loaded.to_estimator()
    assert again.multi_class == "multinomial"
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    again.set_params(warm_start=True, tol=1e-5).fit(X, y)
    assert again.n_iter_[0] <= 1


def test_liblinear_has_no_such_model(tmp_path):
    from widemargin.model_io.errors import ModelFormatError
    from widemargin.model_io.liblinear import save_liblinear

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ModelFormatError, match="no multinomial model"):
        save_liblinear(LogisticRegression().fit(X, y), tmp_path / "iris.liblinear")
