"""How a search over C begins, ends, stops early and goes on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from oracle import LOSSES, make_data
from widemargin import LinearSVCCV, LogisticRegressionCV
from widemargin.data.training_set import TrainingSet
from widemargin.problems.losses import LOSSES as KINDS
from widemargin.selection.stopping import GradientRule, first_C


def chooser(loss: str, **arguments: Any) -> Any:
    return (
        LogisticRegressionCV(**{"Cs": None, **arguments})
        if loss == "logistic"
        else LinearSVCCV(loss, **arguments)
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_smallest_C(loss: str) -> None:
    X, y = make_data((100, 5))
    C = first_C(TrainingSet.of(X, y), 1, KINDS[loss])
    assert np.log2(C) == int(np.log2(C))
    if loss == "hinge":
        margins = y * (X @ (X.T @ y))
        assert C * margins.max() <= 1.0 < 2 * C * margins.max()
    else:
        slope = 1.0 if loss == "logistic" else 2.0
        bound = 1.0 / (slope * 100 * (X**2).sum(axis=1).max())
        assert C <= bound < 2 * C


def test_the_rule_wants_three_in_a_row() -> None:
    rule = GradientRule(0.01)
    good, bad, shares = np.array([0.004]), np.array([0.006]), np.array([0.5])
    assert [rule.enough(r, shares) for r in (good, good, bad, good, good)] == [False] * 5
    assert rule.enough(good, shares)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
def test_automatic_search(loss: str, intercept: bool) -> None:
    """From the smallest C by doubling; it stops where the paper's inequality says so."""
    X, y = make_data((300, 5))
    model = chooser(loss, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.Cs_[1:] / model.Cs_[:-1], 2.0)
    assert model.Cs_[0] == first_C(TrainingSet.of(X, y), 1, KINDS[loss])
    assert model.Cs_[-1] <= 1024.0
    if model.Cs_[-1] < 1024.0:
        assert "gradient rule" in model.stopped_
    assert model.best_score_ == model.path_["scores"].mean(axis=1).max()


def test_primal_and_dual_search_agree() -> None:
    X, y = make_data((200, 6))
    primal = LogisticRegressionCV([0.1, 1.0, 10.0], solver="newton", search_tol=1e-6).fit(X, y)
    dual = LogisticRegressionCV([0.1, 1.0, 10.0], solver="dual_cd", search_tol=1e-6).fit(X, y)
    np.testing.assert_allclose(primal.path_["scores"], dual.path_["scores"], atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_continue_search(loss: str) -> None:
    X, y = make_data((400, 5))
    model = chooser(loss, fit_intercept=False, search_tol=0.1).fit(X, y)
    before, last = model.Cs_, model.Cs_[-1]
    model.continue_search(X, y, tol=1e-4)
    assert model.Cs_[-1] >= last
    np.testing.assert_array_equal(model.Cs_[: before.size], before)
    assert (np.diff(model.Cs_) > 0).all()
    gaps = [c.relative_gap for c in model.certificates_[before.size - 1 :]]
    assert max(gaps) <= 1.01e-5
    with pytest.raises(ValueError, match="data that the search was begun on"):
        model.continue_search(X[:, :3], y, tol=1e-4)
    with pytest.raises(ValueError, match="tol must be"):
        model.continue_search(X, y, tol=0.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_callback_ends_the_search_and_keeps_what_is_done(loss: str) -> None:
    X, y = make_data((150, 5))

    def stop(title: str, record: Any) -> bool:
        return title == "C=1"

    model = chooser(loss, Cs=[0.01, 0.1, 1.0, 10.0], callback=stop).fit(X, y)
    assert model.Cs_.tolist()[:2] == [0.01, 0.1]
    assert model.Cs_[-1] <= 1.0
    assert "interrupted" in model.stopped_
    assert model.predict(X).shape == y.shape


def test_time_limit_keeps_what_is_done() -> None:
    X, y = make_data((4000, 40))
    model = LogisticRegressionCV(2.0 ** np.arange(-10, 11, 0.05), time_limit=0.15).fit(X, y)
    assert 1 <= model.Cs_.size < 400
    assert model.stopped_ == "the time limit was reached"
    assert np.isfinite(model.path_["scores"]).all()


def test_ties_go_to_the_smallest_C() -> None:
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]] * 5)
    y = np.sign(X[:, 0])
    model = LinearSVCCV(Cs=[10.0, 0.1, 1.0], cv=2).fit(X, y)
    assert model.C_ == 0.1


def test_verbose_shows_a_bar(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = make_data((60, 4))
    LinearSVCCV(Cs=[0.1, 1.0], verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "folds x C" in err


def test_plot() -> None:
    pytest.importorskip("matplotlib")
    X, y = make_data((60, 4))
    assert LinearSVCCV(Cs=[0.1, 1.0]).fit(X, y).plot().axes


def test_folds_that_fall_short_are_told() -> None:
    """The scores of a search whose folds are not solved say little."""
    X, y = make_data((400, 20))
    with pytest.warns(ConvergenceWarning, match="the folds reached a gap of .* raise max_iter"):
        LinearSVCCV("hinge", Cs=[10.0], solver="dual_cd", max_iter=2, tol=0.5).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVCCV("hinge", Cs=[10.0]).fit(X, y)
        LinearSVCCV("hinge", Cs=[10.0], solver="dual_cd", time_limit=1e-9, tol=0.5).fit(X, y)


def test_a_column_for_y_is_told_once() -> None:
    X, y = make_data((60, 4))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearSVCCV(Cs=[1.0]).fit(X, y[:, None])
    assert [entry.category for entry in caught] == [DataConversionWarning]
