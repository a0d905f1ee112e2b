"""Weston-Watkins and Crammer-Singer against a generic convex solver, and against LIBLINEAR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import INTERCEPTS
from oracle_multiclass import RULES, MulticlassOracle, make_classes
from widemargin import LinearSVC

cp = pytest.importorskip("cvxpy")
SETTINGS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 200}


def solve(oracle: MulticlassOracle) -> tuple[float, np.ndarray]:
    """The optimum, and the W that attains it (unique: strongly convex)."""
    k, d = oracle.k, oracle.X.shape[1]
    W, b = cp.Variable((k, d)), cp.Variable(k)
    objective = 0.5 * cp.sum_squares(W)
    if oracle.intercept == "penalised":
        objective += 0.5 * cp.sum_squares(b / oracle.scaling)
    for y in range(k):
        X, c = oracle.X[oracle.y == y], oracle.c[oracle.y == y]
        offset = [0.0] * k if oracle.intercept is False else [b[y] - b[j] for j in range(k)]
        slacks = [cp.pos(1.0 - X @ (W[y] - W[j]) - offset[j]) for j in range(k) if j != y]
        sums = sum(slacks) if oracle.rule == "weston_watkins" else cp.max(cp.vstack(slacks), axis=0)
        objective += c @ sums
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, **SETTINGS)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value), np.asarray(W.value)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("weights", ["none", "sample and class"])
@pytest.mark.parametrize(("shape", "C"), [((50, 4, 4), 0.3), ((50, 4, 3), 5.0), ((16, 20, 4), 1.0)])
def test_optimum(
    rule: str, intercept: bool | str, weights: str, shape: tuple[int, int, int], C: float
) -> None:
    n, d, k = shape
    X, y = make_classes(n, d, k, seed=n + k)
    scaling = 2.0 if intercept == "penalised" else 1.0
    arguments: dict[str, Any] = {"multi_class": rule, "C": C, "intercept_scaling": scaling}
    c, sample_weight = np.full(n, C), None
    if weights != "none":
        sample_weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)
        sample_weight[:k] = 1.0
        arguments["class_weight"] = {0: 2.0, 1: 0.5}
        c = c * sample_weight * np.where(y == 0, 2.0, np.where(y == 1, 0.5, 1.0))
    model = LinearSVC(
        "hinge", tol=1e-7, fit_intercept=intercept, max_iter=200_000, **arguments
    ).fit(X, y, sample_weight)
    oracle = MulticlassOracle(X, y, c, rule, intercept, scaling)
    P, D = oracle.check(model, 1e-7)
    best, W = solve(oracle)
    assert pytest.approx(best, rel=1e-6) == P
    assert pytest.approx(best, rel=1e-6) == D
    assert best * (1.0 + 1e-8) >= D
    # ½‖W − W*‖² ≤ P − P*, by strong convexity.
    distance = 0.5 * float(((oracle.weights_of(model)[0] - W) ** 2).sum())
    assert distance <= (P - best) + 1e-8 * best


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_crammer_singer_against_liblinear(C: float) -> None:
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = make_classes(200, 8, 5, seed=5)
    theirs = liblinear.train(y.astype(float), X, f"-s 4 -c {C} -e 1e-8 -q")
    weights = np.array(theirs.w[: 8 * 5]).reshape(8, 5).T[np.argsort(theirs.get_labels())]
    model = LinearSVC("hinge", C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-7)
    model.set_params(max_iter=100_000).fit(X, y)
    oracle = MulticlassOracle(X, y, np.full(200, C), "crammer_singer", False)
    assert oracle.primal(weights, np.zeros(5)) == pytest.approx(model.certificate_.primal, rel=1e-6)
