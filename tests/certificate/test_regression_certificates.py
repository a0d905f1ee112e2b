"""Certificates of regression: true in exact arithmetic, whatever the solver."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from nasty_problems import nasty
from widemargin import LinearSVR, verify_exactly

PLAIN, SQUARED = "epsilon_insensitive", "squared_epsilon_insensitive"
SOLVERS = {
    PLAIN: ("auto", "dual_cd", "proximal_newton", "interior_point"),
    SQUARED: ("auto", "dual_cd", "newton"),
}


def targets(random: np.random.Generator, n: int) -> Any:
    """Targets of many scales, far from zero, repeated, or all the same."""
    y = random.normal(size=n) * 10.0 ** random.uniform(-6, 6)
    kind = random.integers(5)
    if kind == 0:
        y = y + 10.0 ** random.uniform(0, 10)
    elif kind == 1:
        y = random.integers(-2, 3, size=n).astype(float)
    elif kind == 2 and random.random() < 0.5:
        y = np.full(n, y[0])
    return y


@pytest.mark.parametrize(("loss", "solver"), [(k, s) for k, v in SOLVERS.items() for s in v])
def test_certificates_hold_in_exact_arithmetic(loss: str, solver: str) -> None:
    for seed in range(25):
        task, random = nasty(seed), np.random.default_rng([seed, 7])
        y = targets(random, task.y.size)
        epsilon = float(random.choice([0.0, 0.1, 1.0])) * float(np.abs(y).mean())
        intercept: Any = task.fit_intercept if seed % 5 else "penalised"
        model = LinearSVR(
            epsilon=epsilon,
            C=task.C,
            loss=loss,
            solver=solver,
            tol=task.tol,
            fit_intercept=intercept,
            max_iter=200,
            time_limit=2.0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.X, y, task.weight)
        assert np.isfinite(model.coef_).all()
        report = verify_exactly(model, task.X, y, task.weight)
        assert report.problems[0].verdict == "true", (seed, str(report))
        converged = model.status_ == ["converged"]
        assert converged == (model.certificate_.relative_gap <= task.tol)


def test_targets_within_the_tube_need_no_weights() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    for y in (np.full(20, 5.5), 5.5 + 0.01 * np.arange(20)):
        model = LinearSVR(epsilon=0.2).fit(X, y)
        assert (model.primal_[0], model.dual_[0]) == (0.0, 0.0)
        assert not model.coef_.any()
        assert np.abs(model.predict(X) - y).max() <= 0.2


def test_targets_far_from_zero_are_no_harder() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 5))
    y = X @ random.normal(size=5) + random.normal(size=200)
    near = LinearSVR(epsilon=0.1, tol=1e-6).fit(X, y)
    far = LinearSVR(epsilon=0.1, tol=1e-6).fit(X, y + 2.0**30)
    assert far.status_ == ["converged"]
    assert far.primal_[0] == pytest.approx(near.primal_[0], rel=1e-5)


def test_warm_start_takes_fewer_iterations() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(100, 200))
    y = X @ random.normal(size=200) + random.normal(size=100)
    model = LinearSVR(epsilon=0.1, solver="dual_cd", warm_start=True, tol=1e-6).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ == 0
    assert model.set_params(C=1.1).fit(X, y).n_iter_ < cold


def test_a_weight_of_two_is_a_row_given_twice() -> None:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(50, 4)), random.normal(size=50)
    weight = random.integers(0, 3, size=50)
    for loss in (PLAIN, SQUARED):
        once = LinearSVR(epsilon=0.1, loss=loss, tol=1e-9).fit(X, y, weight)
        twice = LinearSVR(epsilon=0.1, loss=loss, tol=1e-9).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        np.testing.assert_allclose(once.primal_, twice.primal_, rtol=1e-8)
