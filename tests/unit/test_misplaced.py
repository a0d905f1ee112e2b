"""Examples on the wrong side, as L-BFGS counts them: labels have sides, targets have none."""

from __future__ import annotations

import numpy as np

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
