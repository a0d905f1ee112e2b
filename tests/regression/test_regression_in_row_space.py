"""Regression and one class with fewer rows than features, handed over to steps in row space.

The classes had a way to state a problem of the name of the one that puts it on other rows: `fit`
ended with a TypeError.
"""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.data.rows import Rows
from widemargin.methods.base import Settings
from widemargin.methods.newton.newton import Newton
from widemargin.methods.newton.proximal_newton import ProximalNewton
from widemargin.methods.newton.row_space import RowSpace
from widemargin.problems.one_class import OneClassProblem
from widemargin.problems.regression import RegressionProblem


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("free", [True, False])
def test_steps_in_row_space_solve_regression(loss: str, free: bool) -> None:
    random = np.random.default_rng(0)
    X, target = random.normal(size=(30, 80)), random.normal(size=30)
    problem = RegressionProblem.stated(Rows.of(X), target, np.full(30, 5.0), (loss, 0.1), free)
    method = RowSpace(Newton() if problem.loss.smooth else ProximalNewton())
    state = method.start(problem, None, Settings(1e-6, 0))
    for _ in range(100):
        method.advance(state)
        if problem.certify(state.point)[1].relative_gap <= 1e-6:
            break
    assert problem.certify(state.point)[1].relative_gap <= 1e-6


def test_one_class_goes_on_other_rows() -> None:
    X = np.abs(np.random.default_rng(1).normal(size=(20, 50)))
    problem = OneClassProblem.stated(Rows.of(X), np.ones(20), 0.3)
    lower = np.linalg.cholesky(X @ X.T)
    other = problem.over(Rows.of(lower))
    alpha = np.full(20, problem.mass / 20)
    w = X.T @ alpha
    inner = np.linalg.solve(lower, X @ w)
    assert other.primal(inner, 0.5, lower @ inner) == pytest.approx(
        problem.primal(w, 0.5, X @ w), rel=1e-10
    )
