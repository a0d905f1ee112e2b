"""Several steps of the second-order methods in one compiled call, and what they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin import LinearSVR
from widemargin.data.target_set import TargetSet
from widemargin.data.training_set import TrainingSet
from widemargin.instruction_sets import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.losses import LOSSES
from widemargin.problems.regression import RegressionProblem

SMOOTH = ["squared_hinge", "logistic", "squared_epsilon_insensitive"]
ROUNDED = ["hinge", "epsilon_insensitive"]


def problem_of(loss: str, free: bool) -> Any:
    """Return a noisy problem of 80 rows and 5 columns."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 5))
    t = X @ random.normal(size=5) + random.normal(size=80)
    if loss in LOSSES:
        data = TrainingSet.of(X, np.where(t > 0.0, 1, -1), C=3.0, fit_intercept=free)
        return BinaryProblem.of(data, 1, LOSSES[loss])
    return RegressionProblem.of(TargetSet.of(X, t, C=3.0, fit_intercept=free), loss, 0.2)


def start(problem: Any) -> list[Any]:
    """Return weights, intercept, scores and dual variables to work on."""
    n = problem.rows.count
    return [np.zeros(problem.rows.weights), 0.0, np.zeros(n), np.empty(n)]


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", SMOOTH)
def test_newton_steps_are_those_taken_one_by_one(loss: str, free: bool) -> None:
    problem = problem_of(loss, free)
    w, b, scores, alpha = start(problem)
    together = problem.core.newton_steps(free, w, b, scores, alpha, 9, 1e-10)
    assert 2 <= together.steps < 9
    assert together.gap <= 1e-10 * together.primal

    v, c, at, beta = start(problem)
    for _ in range(together.steps):
        report = problem.core.newton_step(free, v, c, at, beta)
        c = report.b
    assert (report.b, report.primal, report.gap) == (together.b, together.primal, together.gap)
    for one, other in ((v, w), (at, scores), (beta, alpha)):
        np.testing.assert_array_equal(one, other)


def test_newton_steps_end_where_none_leads_further() -> None:
    problem = problem_of("squared_hinge", False)
    w, b, scores, alpha = start(problem)
    first = problem.core.newton_steps(False, w, b, scores, alpha, 100, 1e-12)
    assert first.steps < 100
    assert first.gap <= 1e-12 * first.primal
    for wanted, steps in ((1.0, 1), (0.0, 3)):
        more = problem.core.newton_steps(False, w, b, scores, alpha, steps, wanted)
        assert 1 <= more.steps <= steps


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", ROUNDED)
def test_proximal_steps_are_those_taken_one_by_one(loss: str, free: bool) -> None:
    problem = problem_of(loss, free)

    def steps(most: int, calls: int) -> tuple[Any, list[Any], Any]:
        n, (w, b, scores, alpha) = problem.rows.count, start(problem)
        course, center = core.ProximalCourse(), problem.loss.middle(problem.cost)
        course.h, course.most, course.wanted = 2.5, most, 1e-8
        combination = np.empty_like(w)
        assert center.size == n
        for _ in range(calls):
            report = problem.core.proximal_steps(
                free, course, center, w, b, scores, alpha, combination
            )
            b = report.b
        return report, [w, scores, alpha, center, combination], course

    together, arrays, course = steps(100, 1)
    assert 2 <= together.steps < 100
    assert together.gap <= 1e-8 * together.primal
    report, alone, other = steps(1, together.steps)
    assert (report.b, report.primal, report.gap) == (together.b, together.primal, together.gap)
    assert (course.h, course.last_mismatch) == (other.h, other.last_mismatch)
    for one, same in zip(alone, arrays, strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_few_iterations_are_what_was_asked_for(loss: str) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 4))
    y = X @ random.normal(size=4) + random.normal(size=60)
    with pytest.warns(UserWarning, match="stopped after 1 iteration"):
        model = LinearSVR(loss=loss, epsilon=0.3, max_iter=1, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 31])
def test_largest_magnitude(length: int) -> None:
    random = np.random.default_rng(length)
    values = random.normal(size=length)
    assert core.largest_magnitude(values) == np.abs(values).max(initial=0.0)
    for place in range(length):
        for bad in (np.nan, np.inf, -np.inf):
            spoilt = values.copy()
            spoilt[place] = bad
            assert not np.isfinite(core.largest_magnitude(spoilt))
            assert np.isnan(core.largest_magnitude(spoilt)) == np.isnan(bad)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 31])
def test_largest_share(length: int) -> None:
    random = np.random.default_rng(length)
    values, most = random.normal(size=length), random.uniform(0.1, 2.0, size=length)
    assert core.largest_share(values, most) == np.max(np.abs(values) / most)
    without_cost = random.random(length) < 0.5
    values[without_cost] = most[without_cost] = 0.0
    if not without_cost.all():
        rest = ~without_cost
        assert core.largest_share(values, most) == np.max(np.abs(values[rest]) / most[rest])
    nothing = np.zeros(length)
    assert np.isnan(core.largest_share(nothing, nothing))


def test_weights_of_a_regression_take_their_best_multiple() -> None:
    """Weights that are a little too short are made longer where that proves what is asked for."""
    problem = problem_of("epsilon_insensitive", False)
    model = LinearSVR(C=3.0, epsilon=0.2, fit_intercept=False, tol=1e-9)
    X = np.asarray(problem.rows.array)
    model.fit(X, problem.target)
    tol = 1e-5
    for factor in (0.999, 1.001):
        short = Point(factor * model.coef_, 0.0, model.dual_coef_)
        point, certificate = problem.certify(short, 0.1 * tol)
        assert certificate.relative_gap <= tol
        np.testing.assert_allclose(point.w, model.coef_, rtol=1e-4)
