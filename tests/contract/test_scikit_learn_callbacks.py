"""Callbacks of scikit-learn 1.9 work with our estimators, alone and inside a search."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from widemargin import LinearSVC, LinearSVCCV, LogisticRegression, LogisticRegressionCV

callback = pytest.importorskip("sklearn.callback")
X, y = load_iris(return_X_y=True)


class Recorder:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.seen.append("setup")

    def on_fit_task_begin(self, estimator: Any, context: Any, **more: Any) -> None:
        self.seen.append("begin")

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> bool:
        self.seen.append("end")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        self.seen.append("teardown")


@pytest.mark.parametrize("make", [LinearSVC, LinearSVCCV, LogisticRegressionCV])
def test_a_fit_is_a_task(make: Any) -> None:
    recorder = Recorder()
    model = make().set_callbacks(recorder)
    model.fit(X, y, np.ones(y.size))
    assert recorder.seen == ["setup", "begin", "end", "teardown"]
    np.testing.assert_array_equal(model.coef_, make().fit(X, y, np.ones(y.size)).coef_)
    clone(model)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("max_iter", [0, 2, 1000])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_iteration_is_a_task(classes: int, max_iter: int) -> None:
    recorder = Recorder()
    model = LogisticRegression(max_iter=max_iter).set_callbacks(recorder)
    rows, labels = X[y < classes], y[y < classes]
    model.fit(rows, labels)
    # As in scikit-learn: the fit, at least one iteration, and an empty one.
    tasks = 1 + max(int(model.n_iter_[0]), 1) + 1
    assert recorder.seen.count("begin") == recorder.seen.count("end") == tasks
    expected = LogisticRegression(max_iter=max_iter).fit(rows, labels)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert "_tasks" not in model.__dict__


def test_estimators_on_the_way_can_be_pickled() -> None:
    seen = []

    class Keeper(Recorder):
        def on_fit_task_end(
            self, estimator: Any, context: Any, *, fitted_estimator: Any = None, **more: Any
        ) -> bool:
            if fitted_estimator is not None:
                # This class is local, and so cannot be pickled.
                state = {k: v for k, v in vars(fitted_estimator).items() if "callback" not in k}
                copy = LogisticRegression()
                copy.__dict__.update(pickle.loads(pickle.dumps(state)))
                seen.append(copy.predict(X))
            return False

    model = LogisticRegression().set_callbacks(Keeper())
    model.fit(X, y)
    assert len(seen) == model.n_iter_[0] + 1
    np.testing.assert_array_equal(seen[-1], model.predict(X))


def test_progress_bar(capfd: pytest.CaptureFixture[str]) -> None:
    LogisticRegression().set_callbacks(callback.ProgressBar()).fit(X, y)
    search = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "LinearSVC" in "".join(capfd.readouterr())


def test_scoring_monitor() -> None:
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = LogisticRegression().set_callbacks(monitor).fit(X, y)
    data = monitor.get_logs().data
    assert data[-1]["accuracy"] == model.score(X, y)
    # A score after every iteration, of the weights that it came to.
    assert len(data) >= model.n_iter_[0] + 1
    assert data[0]["accuracy"] > 0.8
