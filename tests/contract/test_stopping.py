"""Limits, callbacks, warnings and warm starts."""

from __future__ import annotations

import re
import signal
import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from oracle import INTERCEPTS, LOSSES, PAIRS, SERVES, Oracle, estimator, make_data
from widemargin import Certificate, LinearSVC, LinearSVCCV, RobustSVCCV

NUMBER = r"[0-9.]+(?:e[+-]?[0-9]+)?"
WARNING = re.compile(
    rf"stopped after (?P<iterations>\d+) iterations?[^:]*: "
    rf"objective within (?P<percent>{NUMBER}) % of the optimum "
    rf"\(gap (?P<gap>{NUMBER})\), tol (?P<tol>{NUMBER})"
)


def long_problem() -> tuple[np.ndarray, np.ndarray]:
    """Seconds of work for every method at a tolerance of 1e-14."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40_000, 300)).astype(np.float32)
    y = np.where(X[:, :20].sum(axis=1) + 6.0 * random.normal(size=40_000) > 0, 1.0, -1.0)
    return X, y


def fit_with_warnings(model: Any, X: Any, y: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]


@pytest.mark.parametrize("loss", LOSSES)
def test_iteration_limit_warns_with_what_was_reached(loss: str) -> None:
    X, y = make_data()
    model = estimator(loss, solver="dual_cd", max_iter=2, tol=1e-9)
    (message,) = fit_with_warnings(model, X, y)
    match = WARNING.search(message)
    assert match, message
    gap = model.certificate_.relative_gap
    assert int(match["iterations"]) == 2
    assert np.max(model.n_iter_) == 2
    assert float(match["gap"]) == pytest.approx(gap, rel=0.5)
    assert float(match["percent"]) == pytest.approx(100 * gap, rel=0.05)
    assert float(match["tol"]) == 1e-9
    assert model.status_ == ["iteration_limit"]
    # The certificate is true even so.
    Oracle(X, y, np.ones(y.size), loss).check(model, gap)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_warning_names_the_worst_class(n_jobs: int) -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = estimator("hinge", solver="dual_cd", max_iter=3, tol=1e-9, n_jobs=n_jobs)
    messages = fit_with_warnings(model, X, names[y])
    assert len(messages) == 1
    gaps = [c.relative_gap for c in model.certificates_]
    assert min(gaps) > 1e-9
    worst = names[int(np.argmax(gaps))]
    assert f"'{worst}'" in messages[0]
    assert messages[0].startswith("3 of 3 classes did not reach tol; the worst is ")
    assert WARNING.search(messages[0])
    assert not any(f"'{name}'" in messages[0] for name in names if name != worst)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_warning_when_converged(loss: str) -> None:
    X, y = load_iris(return_X_y=True)
    assert fit_with_warnings(estimator(loss), X, y) == []


def test_warning_points_at_the_caller() -> None:
    X, y = make_data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator("hinge", solver="dual_cd", max_iter=1, tol=1e-9).fit(X, y)
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_time_limit(solver: str, loss: str) -> None:
    X, y = long_problem()
    model = estimator(loss, C=100.0, solver=solver, tol=1e-15, max_iter=10**9, time_limit=0.2)
    began = time.process_time()
    messages = fit_with_warnings(model, X, y)
    # CPU time: a busy machine takes longer by the clock.
    assert time.process_time() - began < 1.0
    assert model.status_[0] in ("time_limit", "stalled", "converged")
    if model.status_ == ["time_limit"]:
        assert len(messages) == 1
        assert WARNING.search(messages[0])
    assert np.isfinite([model.primal_[0], model.dual_[0]]).all()
    Oracle(X.astype(float), y, np.full(y.size, 100.0), loss).check(
        model, max(model.certificate_.relative_gap, 1e-12)
    )


def test_time_limit_of_nothing_still_certifies() -> None:
    X, y = make_data()
    model = estimator("hinge", solver="dual_cd", time_limit=1e-9, tol=1e-9)
    (message,) = fit_with_warnings(model, X, y)
    assert model.status_ == ["time_limit"]
    assert "time limit" in message
    assert model.certificate_.primal <= y.size
    Oracle(X, y, np.ones(y.size), "hinge").check(model, model.certificate_.relative_gap)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_callback_sees_every_record(solver: str, loss: str) -> None:
    X, y = make_data()
    seen: list[Any] = []
    model = estimator(
        loss,
        solver=solver,
        tol=1e-6,
        max_iter=20_000,
        callback=lambda name, record: seen.append((name, record)),
    ).fit(X, y)
    assert seen
    assert {name for name, _ in seen} == {"1.0"}
    history = model.history_[0]
    for key in ("primal", "dual", "gap", "relative_gap", "active", "seconds", "iteration"):
        assert [getattr(record, key) for _, record in seen] == history[key]
    gaps = history["gap"]
    assert gaps == sorted(gaps, reverse=True)
    assert history["seconds"] == sorted(history["seconds"])
    assert history["primal"][-1] == model.primal_[0]
    # Dual variables of the hinge go to their bounds after the last check.
    exact = 0.0 if loss != "hinge" else 2e-6
    assert model.dual_[0] == pytest.approx(history["dual"][-1], rel=exact)
    assert all(0 <= active <= y.size for active in history["active"])
    for P, D in zip(history["primal"], history["dual"], strict=True):
        assert D <= P * (1 + 1e-13)


def test_callback_can_stop() -> None:
    X, y = make_data()
    model = estimator(
        "hinge",
        solver="dual_cd",
        tol=1e-12,
        max_iter=10**6,
        callback=lambda name, record: record.iteration >= 5,
    )
    messages = fit_with_warnings(model, X, y)
    assert model.status_ == ["interrupted"]
    assert len(messages) == 1
    assert "interrupted" in messages[0]
    assert 5 <= np.max(model.n_iter_) < 1000
    Oracle(X, y, np.ones(y.size), "hinge").check(model, model.certificate_.relative_gap)


def test_callback_names_the_class() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    seen = set()
    estimator("logistic", callback=lambda name, record: seen.add(name), n_jobs=2).fit(X, names[y])
    assert seen == set(names)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_that_raises(n_jobs: int) -> None:
    """The error reaches the caller, the signal handler is put back, and the next fit works."""
    X, y = load_iris(return_X_y=True)
    handler = signal.getsignal(signal.SIGINT)

    def callback(name: str, record: Any) -> None:
        raise RuntimeError("from the callback")

    model = estimator("squared_hinge", callback=callback, n_jobs=n_jobs)
    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is handler
    model.set_params(callback=None).fit(X, y)
    assert model.status_ == ["converged"] * 3


def test_signal_handler_is_put_back() -> None:
    X, y = make_data()
    handler = signal.getsignal(signal.SIGINT)
    estimator("hinge").fit(X, y)
    assert signal.getsignal(signal.SIGINT) is handler


def test_quiet_by_default_and_a_bar_when_verbose(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = make_data()
    estimator("hinge").fit(X, y)
    assert capfd.readouterr() == ("", "")
    estimator("hinge", verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert "gap" in out + err


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_warm_start_at_the_solution(solver: str, loss: str, intercept: Any) -> None:
    """From the answer nothing is left to do: it is not worse, and takes no more steps."""
    X, y = make_data()
    model = estimator(
        loss, solver=solver, tol=1e-6, fit_intercept=intercept, warm_start=True, max_iter=20_000
    ).fit(X, y)
    first, gap = int(np.max(model.n_iter_)), model.certificate_.relative_gap
    model.fit(X, y)
    assert np.max(model.n_iter_) <= min(first, 2)
    assert model.certificate_.relative_gap <= gap + 1e-13
    Oracle(X, y, np.ones(y.size), loss, intercept).check(model, 1e-6)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_warm_start_goes_on_after_a_limit(solver: str, loss: str) -> None:
    X, y = make_data()
    model = estimator(loss, solver=solver, tol=1e-9, warm_start=True, max_iter=2)
    fit_with_warnings(model, X, y)
    gap = model.certificate_.relative_gap
    fit_with_warnings(model, X, y)
    assert model.certificate_.relative_gap <= gap * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("change", ["C", "rows", "weights", "loss-free", "classes", "features"])
@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_on_another_problem(loss: str, change: str) -> None:
    """Whatever changed, the answer is that of the new problem, certified."""
    X, y = make_data()
    model = estimator(loss, tol=1e-7, warm_start=True).fit(X, y)
    weight = None
    if change == "C":
        model.set_params(C=0.01)
    elif change == "rows":
        X, y = X[10:], y[10:]
    elif change == "weights":
        weight = np.random.default_rng(0).choice([0.0, 1.0, 5.0], size=y.size)
    elif change == "loss-free":
        y = -y
    elif change == "classes":
        y = np.where(y > 0, 7.0, 3.0)
    else:
        X = np.ascontiguousarray(X[:, :3])
    model.fit(X, y, sample_weight=weight)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    cost = model.C * (np.ones(y.size) if weight is None else weight)
    Oracle(X, signs, cost, loss).check(model, 1e-7)


def test_without_warm_start_the_last_fit_is_forgotten() -> None:
    X, y = make_data()
    model = estimator("hinge", solver="dual_cd", tol=1e-5)
    first = np.max(model.fit(X, y).n_iter_)
    assert np.max(model.fit(X, y).n_iter_) == first


def test_solver_says_what_ran() -> None:
    X, y = make_data()
    for name in SERVES:
        for loss in SERVES[name]:
            model = estimator(loss, solver=name, tol=1e-2).fit(X, y)
            assert model.solver_.startswith(name)
    auto = estimator("squared_hinge").fit(X, y)
    assert any(name in auto.solver_ for name in SERVES)
    assert set(auto.history_[0]["method"]) <= set(SERVES)


def test_the_warning_says_what_to_do() -> None:
    X, y = make_data()
    for arguments, advice in (
        ({"max_iter": 1}, "stopped after 1 iteration because .*; raise max_iter to come nearer"),
        ({"time_limit": 1e-9}, "; raise time_limit to come nearer"),
    ):
        model = estimator("logistic", solver="dual_cd", tol=1e-9, **arguments)
        (message,) = fit_with_warnings(model, X, y)
        assert re.search(advice, message)


def test_no_answer_is_further_from_the_optimum_than_its_objective() -> None:
    """A dual value below zero, as after one step, says nothing that is not known already."""
    certificate = Certificate(primal=2.0, dual=-100.0)
    assert str(certificate).endswith("within 100 % of the optimum")


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(max_iter=1, tol=1e-12),
        LinearSVC("hinge", multi_class="weston_watkins", max_iter=1, tol=1e-12),
        LinearSVCCV(Cs=[10.0], max_iter=1, tol=1e-12),
        LinearSVCCV(Cs=[1.0], certify=0.5, fit_intercept=False, max_iter=1, tol=1e-12),
        RobustSVCCV([0.1], max_iter=1, tol=1e-12),
    ],
    ids=lambda model: type(model).__name__,
)
def test_warnings_point_to_the_caller(model: Any) -> None:
    X, y = make_data((120, 5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert caught
    assert {entry.filename for entry in caught} == {__file__}
