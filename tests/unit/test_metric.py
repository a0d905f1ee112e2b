"""When L-BFGS takes a factor of the Hessian, and what it does with it."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.auto.registry import choice_of
from widemargin.data import work
from widemargin.data.training_set import TrainingSet
from widemargin.methods.base import Settings
from widemargin.methods.newton._factors import sample_pays
from widemargin.methods.newton._metric import Metric
from widemargin.methods.newton.newton import Newton
from widemargin.methods.newton.quasi_newton import QuasiNewton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import run


def correlated(
    rows: int = 1_200, features: int = 300, C: float = 100.0, intercept: bool = True
) -> BinaryProblem:
    """Columns that are sums of each other, which no scaling of them puts right."""
    random = np.random.default_rng(3)
    mixed = random.normal(size=(features, features)) * np.geomspace(1.0, 1e-2, features)
    X = random.normal(size=(rows, features)) @ mixed.T
    score = X @ random.normal(size=features)
    y = np.where(score + np.std(score) * random.normal(size=rows) > 0.0, 1, -1)
    data = TrainingSet.of(X, y, C=C, fit_intercept=intercept)
    return BinaryProblem.of(data, 1, LOSSES["logistic"])


def hessian(problem: BinaryProblem, curvature: np.ndarray) -> np.ndarray:
    """That of the objective minimised over the intercept."""
    X = np.column_stack([problem.rows.scores(unit) for unit in np.eye(problem.rows.weights)])
    mean = curvature @ X / curvature.sum() if problem.free_intercept else 0.0
    return np.eye(X.shape[1]) + (X - mean).T @ (curvature[:, None] * (X - mean))


@pytest.mark.parametrize("intercept", [True, False])
def test_a_factor_solves_the_newton_equation(intercept: bool) -> None:
    """Of the objective minimised over the intercept."""
    problem = correlated(200, 12, intercept=intercept)
    curvature = np.random.default_rng(1).random(200)
    right = np.random.default_rng(2).normal(size=12)
    found = Metric().renewed(problem, curvature).solve(right)
    np.testing.assert_allclose(hessian(problem, curvature) @ found, right, rtol=1e-6, atol=1e-8)


def test_many_steps_pay_for_a_factor() -> None:
    problem, method = correlated(), QuasiNewton()
    state = method.start(problem, None, Settings(1e-6, 0))
    while state.expected_gap > 1e-6:
        method.advance(state)
    assert state.metric.factor is not None
    assert state.metric.gaps[0] > 1e-6  # and steps that follow it


def test_steps_with_a_factor_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, choice = correlated(), choice_of("quasi_newton", BinaryProblem)
    few = run(problem, choice, tol=1e-6)
    monkeypatch.setattr(Metric, "is_due", lambda *over: False)
    many = run(problem, choice, tol=1e-6, max_iter=10_000)
    assert few.certificate.relative_gap <= 1e-6
    assert 2 * few.iterations < many.iterations


@pytest.mark.parametrize(
    ("spent", "before", "now", "due"),
    [
        (0.4, 1.0, 0.9, False),  # too little was spent
        (0.6, 1.0, 0.9, True),
        (0.6, 1.0, 2.0, True),  # the gap rose
        (3.0, 1.0, 2e-6, False),  # next to the end
        (0.6, 1.0, 1e-4, False),  # less is left than a factor costs
        (9.0, 1.0, np.inf, False),  # nothing is known
        (9.0, 1.0, 0.0, False),  # solved
    ],
)
def test_when_a_factor_is_due(spent: float, before: float, now: float, due: bool) -> None:
    """After half of its price, where the rate so far promises as much as all of it."""
    problem = correlated()
    size = problem.rows.size
    price = size.gram() + work.factor(size.weights)
    metric = Metric(began=problem.meter.nanoseconds - spent * price, gaps=[before])
    assert metric.is_due(problem, now, problem.rows.count, 1e-6) is due


@pytest.mark.parametrize("has_factor", [True, False])
def test_the_later_steps_with_a_factor_count(has_factor: bool) -> None:
    """The first ones are fast near the point whose factor it is."""
    problem = correlated()
    size = problem.rows.size
    began = problem.meter.nanoseconds - 0.6 * (size.gram() + work.factor(size.weights))
    metric = Metric(began=began, gaps=[1.0, 1e-2, 2e-4, 1.1e-4])
    if has_factor:
        metric.factor = metric.renewed(problem, problem.cost).factor
    assert metric.is_due(problem, 1e-4, problem.rows.count, 1e-6) is has_factor


def test_a_factor_is_due_where_all_digits_are_asked_for() -> None:
    problem = correlated()
    metric = Metric(began=problem.meter.nanoseconds - 1e12, gaps=[1.0])
    assert metric.is_due(problem, 0.9, problem.rows.count, 0.0)


def test_no_factor_of_too_many_weights() -> None:
    problem = correlated(60, 2_100, C=1.0)
    metric = Metric(began=problem.meter.nanoseconds - 1e12, gaps=[1.0])
    assert not metric.is_due(problem, 0.99, problem.rows.count, 1e-6)


def test_a_factor_that_fails_leaves_the_last_one() -> None:
    problem = correlated(200, 12)
    kept = Metric().renewed(problem, np.ones(200))
    assert kept.renewed(problem, np.full(200, np.inf)).factor is kept.factor


def test_newton_goes_on_between_factors() -> None:
    """One factor serves many steps where it costs many; the answer is the same."""
    problem, method = correlated(2_500, 800, C=1e4), Newton()
    state = method.start(problem, None, Settings(1e-6, 0))
    steps = 0
    while state.expected_gap > 1e-6 and steps < 200:
        method.advance(state)
        steps += 1
    assert state.rest is not None
    certificate = problem.certify(state.point)[1]
    assert certificate.relative_gap <= 1.1e-6  # rounding included


@pytest.mark.filterwarnings("error")
def test_a_sample_of_examples_without_curvature() -> None:
    """As on the squared hinge where all margins are kept: what is left is the penalty."""
    problem = correlated(800, 12)
    assert sample_pays(problem)
    right = np.arange(12.0)
    found = Metric().renewed(problem, np.zeros(800)).solve(right)
    np.testing.assert_allclose(found, right, rtol=1e-12)


def test_a_gap_that_was_never_known_says_nothing() -> None:
    """Work that was spent while the objective overflowed is no rate."""
    problem = correlated()
    metric = Metric(began=problem.meter.nanoseconds - 1e12)
    assert metric.is_due(problem, 0.9, problem.rows.count, 1e-6)
