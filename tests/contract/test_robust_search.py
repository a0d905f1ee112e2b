"""How a search over radii ends early, and what it keeps."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from robust_oracle import make_robust
from widemargin import RobustSVCCV

RADII = [0.01, 0.1, 1.0, 5.0]


def data() -> tuple[np.ndarray, np.ndarray]:
    oracle = make_robust((120, 4))
    return oracle.X, oracle.y


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_ends_the_search_and_keeps_what_is_done(n_jobs: int) -> None:
    X, y = data()
    seen: list[str] = []

    def stop(title: str, record: Any) -> bool:
        seen.append(title)
        return title == "radius=0.1"

    model = RobustSVCCV(RADII, cv=3, n_jobs=n_jobs, callback=stop).fit(X, y)
    assert model.radii_.tolist() == [5.0, 1.0]
    assert model.scores_.shape == (2, 3)
    assert model.stopped_ == "it was interrupted"
    assert "radius=0.01" not in seen
    assert model.status_ == ["converged"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_done(n_jobs: int) -> None:
    X, y = data()
    X, y = np.tile(X, (40, 1)) + np.random.default_rng(0).normal(size=(4800, 4)), np.tile(y, 40)
    pressed = threading.Event()

    def press(title: str, record: Any) -> None:
        if title == "radius=1" and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    many = np.append(np.linspace(0.001, 0.9, 200), [1.0, 5.0])
    model = RobustSVCCV(many, cv=3, n_jobs=n_jobs, callback=press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert pressed.is_set()
    assert model.radii_[0] == 5.0
    assert model.radii_.size < 100
    assert model.stopped_ == "it was interrupted"
    assert np.isfinite(model.coef_).all()


def test_time_limit_is_that_of_the_search() -> None:
    X, y = data()
    began = time.perf_counter()
    model = RobustSVCCV(np.linspace(0.001, 1.0, 3000), cv=3, time_limit=0.2).fit(X, y)
    assert time.perf_counter() - began < 5.0, "it was a hundred times the limit once"
    assert 1 <= model.radii_.size < 3000
    assert model.stopped_ == "the time limit was reached"
    assert model.scores_.shape == (model.radii_.size, 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbose_shows_one_bar(n_jobs: int, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = data()
    RobustSVCCV(RADII, cv=3, n_jobs=n_jobs, verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("folds x radii") == 1
    assert "12/12" in err


def test_groups_and_scores() -> None:
    X, y = data()
    groups = np.arange(y.size) // 10
    model = RobustSVCCV(RADII, cv=GroupKFold(3)).fit(X, y, groups=groups)
    given = RobustSVCCV(RADII, cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(model.scores_, given.scores_)
    weight = np.random.default_rng(0).integers(1, 3, y.size)
    RobustSVCCV(RADII, cv=3, scoring="balanced_accuracy").fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="is no score of scikit-learn"):
        RobustSVCCV(RADII, scoring="nonsense").fit(X, y)
