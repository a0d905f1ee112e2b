"""LinearSVR against cvxpy, LIBLINEAR's objective through scikit-learn, and least squares."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVR as Theirs

from widemargin import LinearSVR

PLAIN, SQUARED = "epsilon_insensitive", "squared_epsilon_insensitive"
SOLVERS = {
    PLAIN: ("auto", "dual_cd", "proximal_newton", "interior_point"),
    SQUARED: ("auto", "dual_cd", "newton"),
}


def data(n: int = 60, d: int = 6, seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.7)
    y = 3.0 + X @ random.normal(size=d) + 0.3 * random.normal(size=n)
    return X, y, random.uniform(0.0, 2.0, size=n) * (random.random(n) < 0.9)


def optimum(X: Any, y: Any, cost: Any, loss: str, epsilon: float, free: bool) -> float:
    """P* by a generic solver."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    slack = cp.pos(cp.abs(y - X @ w - (b if free else 0.0)) - epsilon)
    slack = slack if loss == PLAIN else cp.square(slack)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cost @ slack))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(("loss", "solver"), [(k, s) for k, v in SOLVERS.items() for s in v])
def test_value_is_that_of_a_generic_solver(loss: str, solver: str, free: bool) -> None:
    X, y, weight = data()
    layouts = [X, sp.csr_array(X), X.astype(np.float32), sp.csr_matrix(X.astype(np.float32))]
    for epsilon, C in ((0.0, 1.0), (0.2, 10.0), (1.0, 0.05)):
        best = optimum(X, y, C * weight, loss, epsilon, free)
        best_single = optimum(X.astype(np.float32), y, C * weight, loss, epsilon, free)
        for layout in layouts:
            model = LinearSVR(
                epsilon=epsilon,
                C=C,
                loss=loss,
                fit_intercept=free,
                solver=solver,
                tol=1e-7,
                max_iter=20_000,
            ).fit(layout, y, weight)
            truth = best if layout.dtype == np.float64 else best_single
            assert model.primal_[0] == pytest.approx(truth, rel=1e-6), (epsilon, C)
            assert model.dual_[0] == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("loss", [PLAIN, SQUARED])
def test_penalised_intercept_is_liblinears_objective(loss: str) -> None:
    X, y, weight = data(seed=3)
    weight = weight + 0.1
    ours = LinearSVR(
        epsilon=0.1, loss=loss, fit_intercept="penalised", intercept_scaling=2.0, tol=1e-9
    ).fit(X, y, weight)
    theirs = Theirs(
        epsilon=0.1, loss=loss, intercept_scaling=2.0, tol=1e-10, max_iter=1_000_000, dual=True
    ).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_squared_loss_without_a_tube_is_ridge_regression() -> None:
    X, y, weight = data(seed=4)
    ours = LinearSVR(epsilon=0.0, loss=SQUARED, C=2.0, tol=1e-10).fit(X, y, weight)
    theirs = Ridge(alpha=1.0 / 4.0).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_[0], theirs.intercept_, atol=1e-5)


def test_more_weights_than_rows() -> None:
    random = np.random.default_rng(5)
    X, y = random.normal(size=(40, 300)), random.normal(size=40)
    for loss in (PLAIN, SQUARED):
        best = optimum(X, y, np.full(40, 1.0), loss, 0.1, True)
        for solver in SOLVERS[loss]:
            model = LinearSVR(epsilon=0.1, loss=loss, solver=solver, tol=1e-7).fit(X, y)
            assert model.primal_[0] == pytest.approx(best, rel=1e-6)
