"""Examples on the wrong side as L-BFGS counts them, and rows outside of the tube around targets."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.auto.registry import method_named
from widemargin.data.target_set import TargetSet
from widemargin.data.training_set import TrainingSet
from widemargin.methods.base import Settings
from widemargin.methods.newton.quasi_newton import QuasiNewton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.regression import RegressionProblem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
SETTINGS = Settings(tol=1e-4, seed=0)
TARGET = X[:, 0] + 0.5 * RNG.normal(size=200)


def test_labels_have_a_wrong_side() -> None:
    data = TrainingSet.of(X, TARGET > 0.0, C=1.0, fit_intercept=True)
    problem = BinaryProblem.of(data, 1, LOSSES["squared_hinge"])
    state = QuasiNewton().start(problem, None, SETTINGS)
    QuasiNewton().advance(state)
    wrong = problem.y * (X @ state.w + state.b) < 0.0
    assert state.misplaced == wrong.mean()
    assert 0.0 < state.misplaced < 0.5


def test_targets_have_none() -> None:
    data = TargetSet.of(X, TARGET, C=1.0, fit_intercept=True)
    problem = RegressionProblem.of(data, "squared_epsilon_insensitive", 0.1)
    state = QuasiNewton().start(problem, None, SETTINGS)
    QuasiNewton().advance(state)
    assert np.isnan(state.misplaced)


@pytest.mark.parametrize("name", ["squared_epsilon_insensitive", "epsilon_insensitive"])
@pytest.mark.parametrize("rows", [200, 3000])
def test_sweeps_count_rows_outside_of_the_tube(name: str, rows: int) -> None:
    many = np.random.default_rng(1).normal(size=(rows, 5))
    noise = np.random.default_rng(2).normal(size=rows)
    for scale, least, most in ((2.0, 0.85, 1.0), (0.01, 0.0, 0.1)):
        data = TargetSet.of(many, many[:, 0] + scale * noise, C=10.0)
        problem = RegressionProblem.of(data, name, 0.1)
        solver = method_named("dual_cd", RegressionProblem)
        state = solver.start(problem, None, SETTINGS)
        for _ in range(30):
            solver.advance(state)
            if state.finished or state.expected_gap <= SETTINGS.tol:
                break
        slack = np.abs(problem.target - many @ state.point.w) > 0.1
        assert state.misplaced == pytest.approx(slack.mean(), abs=0.05)
        assert least <= state.misplaced <= most
