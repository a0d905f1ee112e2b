"""The proof that no other C is better: the bound against solutions at random values of C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from oracle import LOSSES, make_data
from widemargin import LinearSVC, LinearSVCCV, LogisticRegression, LogisticRegressionCV


def chooser(loss: str, **arguments: Any) -> Any:
    return (
        LogisticRegressionCV(**{"Cs": None, "multi_class": "ovr", **arguments})
        if loss == "logistic"
        else LinearSVCCV(loss, **arguments)
    )


def plain(loss: str, **arguments: Any) -> Any:
    if loss == "logistic":
        return LogisticRegression(multi_class="ovr", **arguments)
    return LinearSVC(loss, **arguments)


def error(loss: str, C: float, X: Any, y: Any, cv: Any, intercept: Any) -> float:
    wrong = [
        1.0
        - plain(loss, C=C, fit_intercept=intercept, tol=1e-9, max_iter=100_000)
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for train, test in cv.split(X, y)
    ]
    return float(np.mean(wrong))


DATA = {
    "two classes": make_data((150, 4), seed=2),
    "cancer": (scale(load_breast_cancer().data)[:200, :8], load_breast_cancer().target[:200]),
    "three classes": (load_iris().data, load_iris().target),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", ["penalised", False])
def test_no_random_C_is_below_the_bound(name: str, loss: str, intercept: Any) -> None:
    X, y = DATA[name]
    cv = StratifiedKFold(3)
    model = chooser(
        loss, Cs=[0.01, 0.1, 1.0, 10.0], cv=cv, certify=0.05, fit_intercept=intercept
    ).fit(X, y)
    assert model.certified_
    assert model.error_bound_ >= 1.0 - model.best_score_ - 0.05 - 1e-9
    random = np.random.default_rng(0)
    for C in np.exp(random.uniform(np.log(0.01), np.log(10.0), 12)):
        assert error(loss, C, X, y, cv, intercept) >= model.error_bound_ - 1e-12


def test_interrupted_before_the_proof() -> None:
    X, y = make_data((3000, 30))
    model = LogisticRegressionCV(
        [0.001, 1.0, 1000.0], certify=1e-4, fit_intercept=False, time_limit=0.2
    ).fit(X, y)
    assert not model.certified_
    assert model.error_bound_ == 0.0
    assert model.stopped_ == "it ended before the proof"


def test_stopped_during_the_proof() -> None:
    X, y = make_data((400, 10))
    seen: list[str] = []

    def stop(title: str, record: Any) -> bool:
        seen.append(title)
        # The second time that the smallest C comes is near the proof's end.
        return title == "C=0.01" and "C=10" in seen

    model = LinearSVCCV(Cs=[0.01, 1.0, 10.0], certify=0.01, fit_intercept=False, callback=stop)
    model.fit(X, y)
    assert not model.certified_
    assert model.error_bound_ == 0.0
    assert {0.01, 1.0, 10.0} <= set(model.Cs_)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_value_of_C(loss: str) -> None:
    X, y = DATA["two classes"]
    model = chooser(loss, Cs=[1.0], certify=0.05, fit_intercept=False).fit(X, y)
    assert model.certified_
    assert model.Cs_.tolist() == [1.0]
    assert 1.0 - model.best_score_ - 0.05 <= model.error_bound_ <= 1.0 - model.best_score_ + 1e-12


def test_the_search_shows_its_bar(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = DATA["two classes"]
    LinearSVCCV(Cs=[0.1, 1.0], certify=0.05, fit_intercept=False, verbose=1).fit(X, y)
    assert "folds x C" in capfd.readouterr().err


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_few_values_of_C_are_solved(loss: str) -> None:
    """Some 70 on these data; balls around single solutions took 900."""
    X, y = make_data((1500, 20), seed=1)
    y = np.where(np.random.default_rng(0).random(1500) < 0.15, -y, y)
    grid = 2.0 ** np.arange(-10, 11)
    model = chooser(loss, Cs=grid, certify=0.01, fit_intercept=False).fit(X, y)
    assert model.certified_
    assert model.n_solved_ <= 120


def test_band_and_plot() -> None:
    pytest.importorskip("matplotlib")
    X, y = DATA["two classes"]
    model = LinearSVCCV(Cs=[0.1, 10.0], certify=0.05, fit_intercept=False).fit(X, y)
    C, lower, upper = model.band_
    assert (np.diff(C) >= 0.0).all()
    assert (lower <= upper + 0.05 + 1e-12).all()
    assert model.plot().axes


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_zeros(loss: str) -> None:
    """A row of zeros is given to the first class at every C; it is an error if it is not one."""
    X, y = make_data((90, 4))
    X = X.copy()
    X[::9] = 0.0
    cv = StratifiedKFold(3)
    model = chooser(loss, Cs=[0.1, 1.0], cv=cv, certify=0.05, fit_intercept=False).fit(X, y)
    for C in (0.13, 0.31, 0.77):
        assert error(loss, C, X, y, cv, False) >= model.error_bound_ - 1e-12
