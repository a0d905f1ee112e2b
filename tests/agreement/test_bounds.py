"""coef_bounds and positive against cvxpy and scikit-learn, with exact certificates."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear

from nasty_problems import nasty
from widemargin import LinearSVC, LinearSVR, LogisticRegression, verify_exactly

N, D = 70, 6
LOWER = np.array([0.0, 0.0, -0.1, -np.inf, 0.3, -1.0])
UPPER = np.array([np.inf, 0.2, 0.1, np.inf, 1.0, -0.5])
CLASSIFIERS = ("hinge", "squared_hinge", "logistic")
REGRESSIONS = ("epsilon_insensitive", "squared_epsilon_insensitive")


def data(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, D)) * (random.random((N, D)) < 0.8)
    numbers = 1.0 + X @ random.normal(size=D) + random.normal(size=N)
    weight = random.uniform(0.1, 2.0, size=N) * (random.random(N) < 0.9)
    return X, np.where(numbers > 1.0, 1, -1), numbers, weight


def estimator(loss: str, **arguments: Any) -> Any:
    if loss in REGRESSIONS:
        return LinearSVR(loss=loss, epsilon=0.1, **arguments)
    if loss == "logistic":
        return LogisticRegression(**arguments)
    return LinearSVC(loss, **arguments)


def losses(loss: str, scores: Any, y: Any) -> Any:
    if loss in REGRESSIONS:
        outside = cp.pos(cp.abs(y - scores) - 0.1)
        return outside if loss == REGRESSIONS[0] else cp.square(outside)
    margins = cp.multiply(y, scores)
    if loss == "logistic":
        return cp.logistic(-margins)
    return cp.pos(1 - margins) if loss == "hinge" else cp.square(cp.pos(1 - margins))


def optimum(X: Any, y: Any, cost: Any, loss: str, intercept: Any) -> tuple[float, Any]:
    w, b = cp.Variable(D), cp.Variable()
    scores = X @ w + (b if intercept else 0.0)
    objective = 0.5 * cp.sum_squares(w) + cost @ losses(loss, scores, y)
    if intercept == "penalised":
        objective += 0.5 * cp.square(b)
    has_lower, has_upper = np.isfinite(LOWER), np.isfinite(UPPER)
    inside = [w[has_lower] >= LOWER[has_lower], w[has_upper] <= UPPER[has_upper]]
    problem = cp.Problem(cp.Minimize(objective), inside)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value), w.value


@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize("loss", [*CLASSIFIERS, *REGRESSIONS])
def test_values_and_weights_are_those_of_a_generic_solver(loss: str, intercept: Any) -> None:
    X, labels, numbers, weight = data()
    y = numbers if loss in REGRESSIONS else labels
    for C in (0.05, 10.0):
        for single in (False, True):
            used = X.astype(np.float32) if single else X
            best, w = optimum(used.astype(float), y, C * weight, loss, intercept)
            for layout in (used, sp.csr_array(used)):
                model = estimator(
                    loss, C=C, coef_bounds=(LOWER, UPPER), fit_intercept=intercept, tol=1e-8
                ).fit(layout, y, weight)
                assert model.status_ == ["converged"]
                assert model.primal_[0] == pytest.approx(best, rel=1e-6)
                assert model.dual_[0] == pytest.approx(best, rel=1e-6)
                coef = np.ravel(model.coef_)
                np.testing.assert_allclose(coef, w, atol=1e-3)
                assert (coef >= LOWER).all()
                assert (coef <= UPPER).all()


@pytest.mark.parametrize("loss", [*CLASSIFIERS, *REGRESSIONS])
def test_certificates_hold_in_exact_arithmetic(loss: str) -> None:
    if loss == "logistic":
        pytest.importorskip("flint")
    for seed in range(8):
        task, random = nasty(seed), np.random.default_rng([seed, 11])
        d = task.X.shape[1]
        size = 10.0 ** random.uniform(-3, 3)
        least = size * random.normal(size=d)
        lower = np.where(random.random(d) < 0.3, -np.inf, least)
        upper = np.where(random.random(d) < 0.3, np.inf, least + size * random.random(d))
        y = task.y
        if loss in REGRESSIONS:
            y = random.normal(size=task.y.size) * 10.0 ** random.uniform(-3, 3)
        if np.unique(y).size != 2 and loss in CLASSIFIERS:
            continue
        model = estimator(
            loss, C=task.C, tol=task.tol, fit_intercept=task.fit_intercept, max_iter=100
        ).set_params(coef_bounds=(lower, upper), time_limit=2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.X, y, task.weight)
        report = verify_exactly(model, task.X, y, task.weight)
        assert report.problems[0].verdict == "true", (seed, str(report))


def test_squared_loss_without_a_tube_is_bounded_least_squares() -> None:
    X, _, numbers, _ = data(1)
    model = LinearSVR(
        epsilon=0.0, loss=REGRESSIONS[1], C=1e6, positive=True, fit_intercept=False, tol=1e-10
    ).fit(X, numbers)
    theirs = lsq_linear(X, numbers, (0.0, np.inf), tol=1e-14).x
    np.testing.assert_allclose(model.coef_, theirs, atol=1e-4)


def test_more_weights_than_a_matrix_has_room_for() -> None:
    random = np.random.default_rng(2)
    X = sp.random(150, 2500, 0.02, format="csr", random_state=2)
    y = np.where(X @ random.normal(size=2500) > 0, 1, -1)
    for loss in CLASSIFIERS:
        model = estimator(loss, C=1.0, positive=True, tol=1e-5).fit(X, y)
        assert model.status_ == ["converged"]
        assert model.coef_.min() == 0.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bounds", [(0.0, np.inf), (-0.2, 0.3)])
def test_more_weights_than_examples_and_large_C(loss: str, bounds: tuple[float, float]) -> None:
    """Few examples tie many weights together: projected steps alone go back and forth."""
    random = np.random.default_rng(5)
    X = random.normal(size=(40, 300)) * (random.random((40, 300)) < 0.2)
    y = np.where(np.arange(40) % 2, 1, -1)
    model = LinearSVC(loss, C=1e4, coef_bounds=bounds, tol=1e-5, max_iter=60).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-5
    w, b = cp.Variable(300), cp.Variable()
    objective = 0.5 * cp.sum_squares(w) + 1e4 * cp.sum(losses(loss, X @ w + b, y))
    inside = [w >= bounds[0], w <= bounds[1]]
    wanted = cp.Problem(cp.Minimize(objective), inside).solve(solver="CLARABEL")
    assert model.primal_[0] == pytest.approx(wanted, rel=2e-5)


def test_smooth_steps_go_on_while_they_lower_the_objective() -> None:
    """Over many steps the dual point is worse than at first."""
    random = np.random.default_rng(1)
    X = random.normal(size=(1000, 400)) * (random.random((1000, 400)) < 0.3)
    scores = X @ random.normal(size=400)
    y = np.where(scores > np.median(scores), 1, -1)
    model = LinearSVC(C=1e5, coef_bounds=(-4.0, 7.0), tol=1e-3).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3


def test_bounds_that_bind_nothing_change_nothing() -> None:
    X, labels, _, _ = data(3)
    free = LinearSVC("squared_hinge", tol=1e-10).fit(X, labels)
    wide = LinearSVC("squared_hinge", coef_bounds=(-100.0, 100.0), tol=1e-10).fit(X, labels)
    np.testing.assert_allclose(wide.coef_, free.coef_, atol=1e-4)
    warm = LinearSVC("hinge", positive=True, warm_start=True, tol=1e-6).fit(X, labels)
    assert warm.fit(X, labels).n_iter_ == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"coef_bounds": 1.0}, "must be a pair"),
        ({"coef_bounds": (1.0, 0.0)}, "leave nothing for feature 0"),
        ({"coef_bounds": (np.zeros(3), None)}, r"have shape \(6,\)"),
        ({"coef_bounds": (np.nan, None)}, "must be infinite or at most"),
        ({"coef_bounds": (np.inf, None)}, "must not be inf"),
        ({"coef_bounds": ("low", None)}, "must be numbers"),
        ({"coef_bounds": (None, -1.0), "positive": True}, "leave nothing for feature 0"),
        ({"positive": "yes"}, "positive must be True or False"),
        ({"positive": True, "penalty": "l1"}, "need penalty='l2'"),
        ({"positive": True, "multi_class": "crammer_singer", "loss": "hinge"}, "for two classes"),
        ({"positive": True, "solver": "dual_cd"}, "does not support problems with bounds"),
    ],
)
def test_what_has_no_meaning_is_an_error(arguments: dict, words: str) -> None:
    X, labels, _, _ = data()
    with pytest.raises(ValueError, match=words):
        LinearSVC(**arguments).fit(X, labels)


def test_three_classes_and_no_penalty_are_errors() -> None:
    X, _, numbers, _ = data()
    with pytest.raises(ValueError, match="for two classes"):
        LogisticRegression(positive=True).fit(X, np.digitize(numbers, [0.0, 2.0]))
    with pytest.raises(ValueError, match="finite C"):
        LogisticRegression(positive=True, C=np.inf).fit(X, numbers > 0.0)
