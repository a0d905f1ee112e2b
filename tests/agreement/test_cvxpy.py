"""P and D against a generic convex solver that is given primal and dual as docs/theory has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import INTERCEPTS, LOSSES, Oracle, estimator, make_data

cp = pytest.importorskip("cvxpy")

SHAPES = {"tall": (40, 4), "wide": (14, 20)}
WEIGHTS = ("none", "sample", "class", "both", "zeros")
# Tight enough that 1e-6 is judged by the answer, not by the judge.
SETTINGS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 200}


def solve_primal(oracle: Oracle) -> tuple[float, np.ndarray]:
    """The optimum, and the w that attains it (unique: the objective is strongly convex in w)."""
    d = oracle.X.shape[1]
    w, b = cp.Variable(d), cp.Variable()
    m = cp.multiply(oracle.y, oracle.X @ w + (0.0 if oracle.intercept is False else b))
    if oracle.loss == "hinge":
        losses = cp.pos(1.0 - m)
    elif oracle.loss == "squared_hinge":
        losses = cp.square(cp.pos(1.0 - m))
    else:
        losses = cp.logistic(-m)
    objective = 0.5 * cp.sum_squares(w) + oracle.c @ losses
    if oracle.intercept == "penalised":
        objective += 0.5 * cp.square(b / oracle.scaling)
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, **SETTINGS)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value), np.asarray(w.value)


def solve_dual(oracle: Oracle) -> float:
    """The optimum of the dual, over the examples that have a cost."""
    used = oracle.c > 0.0
    X, y, c = oracle.X[used], oracle.y[used], oracle.c[used]
    alpha = cp.Variable(y.size)
    constraints = [alpha >= 0.0]
    if oracle.loss == "hinge":
        terms = cp.sum(alpha)
    elif oracle.loss == "squared_hinge":
        terms = cp.sum(alpha) - cp.sum(cp.multiply(1.0 / (4.0 * c), cp.square(alpha)))
    else:
        terms = cp.sum(cp.entr(alpha) + cp.entr(c - alpha)) + float(np.sum(c * np.log(c)))
    if oracle.loss != "squared_hinge":
        constraints.append(alpha <= c)
    if oracle.intercept is True:
        constraints.append(alpha @ y == 0.0)
    objective = terms - 0.5 * cp.sum_squares((X * y[:, None]).T @ alpha)
    if oracle.intercept == "penalised":
        objective -= 0.5 * cp.square(oracle.scaling * (alpha @ y))
    problem = cp.Problem(cp.Maximize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, **SETTINGS)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value)


def weights_of(kind: str, y: np.ndarray) -> tuple[Any, Any, np.ndarray]:
    """sample_weight, class_weight, and the factor on C that they amount to."""
    random = np.random.default_rng(11)
    sample = random.uniform(0.2, 3.0, size=y.size) if kind in ("sample", "both") else None
    if kind == "zeros":
        sample = random.choice([0.0, 1.0, 2.0], size=y.size)
    classes = {-1.0: 0.4, 1.0: 2.5} if kind in ("class", "both") else None
    factor = np.ones(y.size) if sample is None else sample.copy()
    if classes is not None:
        factor = factor * np.where(y > 0, 2.5, 0.4)
    return sample, classes, factor


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_primal_and_dual(loss: str, intercept: Any, weights: str, shape: str) -> None:
    X, y = make_data(SHAPES[shape], seed=1)
    C = 0.7
    sample, classes, factor = weights_of(weights, y)
    scaling = 3.0 if intercept == "penalised" else 1.0
    oracle = Oracle(X, y, C * factor, loss, intercept, scaling)
    optimum, w = solve_primal(oracle)
    assert solve_dual(oracle) == pytest.approx(optimum, rel=1e-7)

    model = estimator(
        loss,
        C=C,
        tol=1e-9,
        fit_intercept=intercept,
        intercept_scaling=scaling,
        class_weight=classes,
        max_iter=20_000,
    ).fit(X, y, sample_weight=sample)
    P, D = oracle.check(model, 1e-9)
    assert pytest.approx(optimum, rel=1e-6) == P
    assert pytest.approx(optimum, rel=1e-6) == D
    # ½‖w − w*‖² ≤ P(w) − P*: a gap of 1e-9 P is a distance of √(2e-9 P).
    assert np.linalg.norm(model.coef_[0] - w) <= np.sqrt(2e-9 * P) + 1e-5 * np.linalg.norm(w)


@pytest.mark.parametrize("C", [1e-3, 1e3])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_small_and_large_cost(loss: str, intercept: Any, C: float) -> None:
    X, y = make_data(SHAPES["tall"], seed=2)
    oracle = Oracle(X, y, np.full(y.size, C), loss, intercept)
    optimum, _ = solve_primal(oracle)
    model = estimator(loss, C=C, tol=1e-9, fit_intercept=intercept).fit(X, y)
    P, D = oracle.check(model, 1e-9)
    assert pytest.approx(optimum, rel=1e-6) == P
    assert pytest.approx(optimum, rel=1e-6) == D


def test_balanced_class_weight() -> None:
    """n / (k · n_class), as scikit-learn defines it."""
    X, y = make_data(SHAPES["tall"], seed=3)
    y[:25] = 1.0
    factor = np.where(y > 0, y.size / (2 * np.sum(y > 0)), y.size / (2 * np.sum(y < 0)))
    oracle = Oracle(X, y, factor, "squared_hinge")
    optimum, _ = solve_primal(oracle)
    model = estimator("squared_hinge", tol=1e-9, class_weight="balanced").fit(X, y)
    P, _ = oracle.check(model, 1e-9)
    assert pytest.approx(optimum, rel=1e-6) == P


def test_each_class_against_the_rest() -> None:
    X, _ = make_data((60, 5), seed=4)
    y = np.argmax(X[:, :3] + np.random.default_rng(0).normal(size=(60, 3)), axis=1)
    model = estimator("squared_hinge", tol=1e-9).fit(X, y)
    for row in range(3):
        oracle = Oracle(X, np.where(y == row, 1.0, -1.0), np.ones(60), "squared_hinge")
        optimum, w = solve_primal(oracle)
        P, _ = oracle.check(model, 1e-9, row)
        assert pytest.approx(optimum, rel=1e-6) == P
        np.testing.assert_allclose(model.coef_[row], w, atol=1e-4)
