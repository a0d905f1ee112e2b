"""gap ≤ tol over the whole grid, recomputed from coef_, intercept_ and dual_coef_ by numpy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracle import (
    COMPARED,
    INTERCEPTS,
    LAYOUTS,
    LOSSES,
    PAIRS,
    SERVES,
    Oracle,
    estimator,
    layout,
    make_data,
)
from widemargin.auto.registry import solvers_for
from widemargin.problems.binary import BinaryProblem

COSTS = (1e-3, 1.0, 1e3)


def fit_and_check(
    loss: str, intercept: Any, C: float, shape: str, name: str, tol: float, **more: Any
) -> Any:
    X, y = make_data(shape, density=1.0 if name.startswith("dense") else 0.4)
    scaling = 2.5 if intercept == "penalised" else 1.0
    model = estimator(
        loss, C=C, tol=tol, fit_intercept=intercept, intercept_scaling=scaling, **more
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(layout(X, name), y)
    assert model.status_ == ["converged"]
    Oracle(X, y, np.full(y.size, C), loss, intercept, scaling).check(model, tol)
    return model


def tolerances(name: str) -> tuple[float, ...]:
    return (1e-3, 1e-6, 1e-9) if "float64" in name else (1e-3, 1e-6)


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize(
    ("name", "tol"), [(name, tol) for name in LAYOUTS for tol in tolerances(name)]
)
@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_auto(loss: str, intercept: Any, C: float, shape: str, name: str, tol: float) -> None:
    fit_and_check(loss, intercept, C, shape, name, tol)


def test_every_solver_is_tested() -> None:
    """The binary ones here; the other kinds of problems have tests of their own."""
    assert {*solvers_for(BinaryProblem)} - {"auto"} == set(SERVES) | set(COMPARED)


@pytest.mark.parametrize("name", ["dense-float64", "csr-float32-int64"])
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize(("solver", "loss"), [pair for pair in PAIRS if pair[0] != "auto"])
def test_named_solver(
    solver: str, loss: str, intercept: Any, C: float, tol: float, shape: str, name: str
) -> None:
    crawls = {"dual_cd": "tall", "quasi_newton": "wide"}
    if C == 1e3 and crawls.get(solver) == shape:
        # Where C is large, coordinate descent crawls if n >> d, L-BFGS if n < d: not their ground.
        tol = 1e-2
    max_iter = 100_000 if solver in crawls else 1000
    fit_and_check(
        loss, intercept, C, shape, name, tol, solver=solver, max_iter=max_iter, time_limit=10.0
    )


@pytest.mark.parametrize("random_state", range(5))
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_dual_cd_does_not_drift(loss: str, intercept: Any, shape: str, random_state: int) -> None:
    """Rounding in the running w must not keep the certificate from closing."""
    fit_and_check(
        loss,
        intercept,
        1.0,
        shape,
        "dense-float64",
        1e-10,
        solver="dual_cd",
        max_iter=20_000,
        random_state=random_state,
    )


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_weights_and_classes(loss: str, intercept: Any, solver: str) -> None:
    """Weights that differ by orders of magnitude and are sometimes zero, three classes."""
    X, _ = make_data("tall", seed=3)
    random = np.random.default_rng(4)
    classes = np.array(["a", "b", "c"])
    y = classes[np.argmax(X[:, :3] + 0.7 * random.normal(size=(X.shape[0], 3)), axis=1)]
    weight = random.choice([0.0, 0.01, 1.0, 2.0], size=y.size)
    model = estimator(
        loss,
        C=0.5,
        tol=1e-7,
        fit_intercept=intercept,
        class_weight={"b": 3.0},
        solver=solver,
        max_iter=20_000,
    ).fit(X, y, sample_weight=weight)
    cost = 0.5 * weight * np.where(y == "b", 3.0, 1.0)
    for row, label in enumerate(classes):
        signs = np.where(y == label, 1.0, -1.0)
        Oracle(X, signs, cost, loss, intercept).check(model, 1e-7, row)
    assert model.certificate_.primal == pytest.approx(model.primal_.sum(), rel=1e-15)
    assert model.certificate_.dual == pytest.approx(model.dual_.sum(), rel=1e-15)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
@pytest.mark.parametrize("kind", ["all-zero", "constant", "two-rows", "one-column", "same-rows"])
def test_degenerate_data(kind: str, loss: str, intercept: Any, solver: str) -> None:
    """Data without rank still have an optimum, and it is certified."""
    X, y = make_data("tall", seed=5)
    if kind == "all-zero":
        X = np.zeros_like(X)
    elif kind == "constant":
        X = np.ones_like(X)
    elif kind == "two-rows":
        X, y = X[:2], np.array([1.0, -1.0])
    elif kind == "one-column":
        X = X[:, :1]
    else:
        X = np.tile(X[:1], (y.size, 1))
    model = estimator(loss, tol=1e-6, fit_intercept=intercept, solver=solver, max_iter=20_000)
    model.fit(np.ascontiguousarray(X), y)
    Oracle(X, y, np.ones(y.size), loss, intercept).check(model, 1e-6)


@pytest.mark.parametrize("share", [0.01, 0.99])
@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_unbalanced_classes(loss: str, C: float, share: float) -> None:
    """The exact intercept must not break where one class is rare."""
    X, _ = make_data((200, 6), seed=6)
    y = np.where(np.arange(200) < 200 * share, 1.0, -1.0)
    model = estimator(loss, C=C, tol=1e-6).fit(X, y)
    Oracle(X, y, np.full(200, C), loss).check(model, 1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_scale_of_features(loss: str, intercept: Any, scale: float) -> None:
    """A change of units with the C that goes with it is the same problem."""
    X, y = make_data("tall", seed=7)
    X = X * scale
    C = scale**-2
    scaling = scale if intercept == "penalised" else 1.0
    model = estimator(loss, C=C, tol=1e-6, fit_intercept=intercept, intercept_scaling=scaling)
    model.fit(X, y)
    Oracle(X, y, np.full(y.size, C), loss, intercept, scaling).check(model, 1e-6)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("C", [1e5, 1e8])
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_large_costs_are_certified_truly(solver: str, loss: str, C: float, seed: int) -> None:
    """Dual variables far above 1, most of them at their bound: D must still be a lower bound.

    What gap was reached is not asked here, only that what is said of it is true.
    """
    random = np.random.default_rng(seed)
    n, d = int(random.integers(6, 40)), int(random.integers(1, 4))
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-6, 1)
    y = np.where(random.random(n) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    model = estimator(loss, C=C, tol=1e-3, solver=solver, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    Oracle(X, y, np.full(n, C), loss).check(model, model.certificate_.relative_gap)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("C", [1e-5, 1e-3, 1e-1, 1e1, 1e3, 1e5])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_many_problems(loss: str, intercept: Any, C: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    n, d = int(random.integers(20, 400)), int(random.integers(1, 200))
    X, y = make_data((n, d), seed=seed, noise=float(random.choice([0.0, 0.5, 5.0])))
    if np.unique(y).size < 2:
        y[0] = -y[0]
    X = X * 10.0 ** random.integers(-2, 3)
    model = estimator(loss, C=C, tol=1e-7, fit_intercept=intercept).fit(X, y)
    Oracle(X, y, np.full(n, C), loss, intercept).check(model, 1e-7)
