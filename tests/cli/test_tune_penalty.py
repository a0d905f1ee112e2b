"""``widemargin tune --penalty``: a search over C for models with few weights."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import LinearSVCCV, LogisticRegressionCV, load_svmlight
from widemargin.model_io import load_model


@pytest.mark.parametrize(
    ("words", "kind", "settings"),
    [
        (("--penalty", "l1"), LinearSVCCV, {"penalty": "l1"}),
        (
            ("--penalty", "elasticnet", "--l1-ratio", 0.5),
            LinearSVCCV,
            {"penalty": "elasticnet", "l1_ratio": 0.5},
        ),
        (
            ("--loss", "logistic", "--penalty", "elasticnet", "--l1-ratio", 0.5),
            LogisticRegressionCV,
            {"penalty": "elasticnet", "l1_ratios": [0.5], "use_legacy_attributes": False},
        ),
    ],
)
def test_same_as_the_estimator(run, words, kind, settings):
    from sklearn.model_selection import StratifiedKFold

    code, out, err = run("tune", "cancer.svm", "few.model", "--Cs", "0.01,0.1", *words)
    assert code == 0, err
    X, y = load_svmlight("cancer.svm")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = kind(Cs=[0.01, 0.1], cv=folds, random_state=0, **settings).fit(X, y)
    model = load_model("few.model")
    assert model.C == search.C
    np.testing.assert_array_equal(np.ravel(model.coef) != 0.0, np.ravel(search.coef_) != 0.0)
    used = int((search.coef_ != 0.0).any(axis=0).sum())
    assert f"{used} of {X.shape[1]} features" in out
    assert used < X.shape[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--penalty", "l1", "--loss", "hinge"), "hinge"),
        (("--penalty", "elasticnet"), "l1_ratio"),
        (("--penalty", "l1", "--certify", 0.02, "--intercept", "none"), "--penalty l2"),
    ],
)
def test_refused_before_any_data_are_read(run, words, message):
    code, _, err = run("tune", "missing.svm", *words)
    assert code == 2
    assert message in err


def test_a_state_of_another_penalty_is_refused(run):
    first = ("tune", "cancer.svm", "few.model", "--Cs", "0.01,0.1", "--state", "kept")
    assert run(*first, "--penalty", "l1")[0] == 0
    code, _, err = run(*first, "--continue")
    assert code == 2
    assert "penalty" in err
