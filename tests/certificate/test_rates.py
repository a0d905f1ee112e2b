"""Every method of the papers reaches the optimum, at the rate that its paper proves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oracle
from widemargin import LinearSVC
from widemargin.auto.registry import Named, choice_of
from widemargin.data.rows import Rows
from widemargin.methods.base import Settings
from widemargin.methods.published._simplex_qp import solve_simplex_qp
from widemargin.methods.published.bmrm import BMRMLineSearch, BMRMQuadraticProgram
from widemargin.methods.published.dual_of_dual import DualOfDual
from widemargin.methods.published.pragam import Pragam
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import run

FIRST_ORDER = [
    ("pragam", "hinge", 1e-3),
    ("bmrm_ls", "hinge", 1e-3),
    ("pegasos", "hinge", 1e-3),
    ("pegasos_n", "hinge", 1e-2),
    *[("bmrm_qp", loss, 1e-6) for loss in LOSSES],
    ("dual_of_dual", "squared_hinge", 1e-6),
]


def problem(
    loss: str, free: bool, shape: str = "tall", C: float = 0.1, seed: int = 0
) -> BinaryProblem:
    X, y = oracle.make_data(shape, seed)
    random = np.random.default_rng(seed)
    return BinaryProblem(Rows.of(X), y, C * random.uniform(0.5, 2, y.size), LOSSES[loss], free)


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(("name", "loss", "tol"), FIRST_ORDER)
def test_reaches_the_optimum(name: str, loss: str, tol: float, free: bool, shape: str) -> None:
    task = problem(loss, free, shape)
    choice = choice_of(name, BinaryProblem)
    if free and name.startswith("pegasos"):
        with pytest.raises(ValueError, match="has no free intercept"):
            run(task, choice)
        return
    solution = run(task, choice, tol=tol, max_iter=50_000)
    assert solution.status.name == "CONVERGED", solution.message
    best = run(task, choice_of("auto", BinaryProblem), tol=1e-9, max_iter=10_000)
    assert solution.certificate.dual <= best.certificate.primal * (1 + 1e-9)
    assert solution.certificate.primal <= best.certificate.primal * (1 + tol) * (1 + 1e-9)


@pytest.mark.parametrize(("name", "loss", "tol"), FIRST_ORDER)
def test_by_name_in_the_estimator(name: str, loss: str, tol: float) -> None:
    X, y = oracle.make_data("tall", 3)
    intercept: Any = "penalised" if name.startswith("pegasos") else True
    if loss == "logistic":
        return
    model = LinearSVC(
        loss, C=0.1, solver=name, tol=tol, max_iter=50_000, fit_intercept=intercept
    ).fit(X, y)
    assert model.solver_ == name
    task = oracle.Oracle(X, y, np.full(y.size, 0.1), loss, intercept)
    task.check(model, tol)


@pytest.mark.parametrize("name", ["pragam", "dual_of_dual", "pegasos"])
def test_refuses_what_it_cannot_serve(name: str) -> None:
    task = problem("logistic", False)
    with pytest.raises(ValueError, match=f"'{name}' supports the loss .* nearest solver"):
        run(task, choice_of(name, BinaryProblem))


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("adapt", [True, False])
def test_pragam_stays_under_its_bound(adapt: bool, free: bool) -> None:
    """P(w_k) − D(α_k) ≤ 4 L D₂ / ((k+1)(k+2)) at every k (BMRM paper, eq. (26))."""
    task = problem("hinge", free, C=1.0)
    D2 = 0.5 * float(task.cost @ task.cost)
    sigma = np.linalg.norm(oracle.make_data("tall", 0)[0], 2) ** 2
    method = Pragam(adapt=adapt)
    state = method.start(task, None, Settings(1e-9, 0))
    for k in range(400):
        L = state.largest_lipschitz
        assert (2.0 if adapt else 1.03) * sigma >= L
        assert state.gap <= state.mu * D2 * (1 + 1e-9)
        assert state.gap <= 4.0 * L * D2 / ((k + 1) * (k + 2)) * (1 + 1e-9)
        # The claim is about the certificate, not about the method's own sums.
        if k % 50 == 0:
            assert task.certify(state.point)[1].gap <= 4.0 * L * D2 / ((k + 1) * (k + 2))
        method.advance(state)
    assert state.expected_gap < 1e-2


@pytest.mark.parametrize("variant", [BMRMQuadraticProgram, BMRMLineSearch])
def test_bmrm_stays_under_its_bound(variant: Any) -> None:
    """ε_t < ε after log₂(J(0)/G²) + 8G²/ε − 4 steps, G ≥ every subgradient (BMRM, theorem 5)."""
    task = problem("hinge", False, C=0.02)
    G2 = float(task.cost @ np.sqrt(task.rows.norms)) ** 2
    start = task.primal(np.zeros(task.rows.weights), 0.0, np.zeros(task.rows.count))
    method = variant()
    state = method.start(task, None, Settings(1e-9, 0))
    for t in range(1, 300):
        method.advance(state)
        gap = state.best_primal - state.model
        allowed = 8.0 * G2 / (t + 4.0 - np.log2(start / G2))
        if 0.0 < allowed < 4.0 * G2:
            assert gap <= allowed
        assert gap >= -1e-10 * start
    assert gap <= 0.05 * start


def test_bundle_gap_on_orthonormal_tangents() -> None:
    """R(w) = max_i w_i: ε_t = 1/(λt) for every t < d, so no bundle method beats 1/(2λt)."""
    d, lam = 40, 0.5
    for t in range(1, d):
        # J_t: the first t tangents, each orthonormal
        shares = solve_simplex_qp(np.eye(t) / lam, np.zeros(t), np.eye(t)[0])
        np.testing.assert_allclose(shares, 1.0 / t, rtol=1e-9)
        model = -float(shares @ shares) / (2 * lam)
        w = np.zeros(d)
        w[:t] = -shares / lam
        objective = w.max() + 0.5 * lam * float(w @ w)
        assert objective - model == pytest.approx(1.0 / (lam * t), rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_simplex_program_against_its_conditions(seed: int) -> None:
    random = np.random.default_rng(seed)
    t = int(random.integers(1, 60))
    A = random.normal(size=(int(random.integers(1, 40)), t)) * 10.0 ** random.integers(-2, 3)
    b = random.normal(size=t)
    alpha = solve_simplex_qp(A.T @ A, b, np.eye(t)[0])
    assert (alpha >= 0.0).all()
    assert alpha.sum() == pytest.approx(1.0)
    gradient = b - A.T @ (A @ alpha)
    scale = np.abs(b).max() + np.abs(A.T @ A).max()
    assert gradient.max() <= float(alpha @ gradient) + 1e-9 * scale


@pytest.mark.parametrize("free", [True, False])
def test_linear_rate_of_the_accelerated_dual(free: bool) -> None:
    """f(α_k) − f* ≤ (1 − √(m/L))^k (f(α_0) − f* + m/2 ‖α_0 − α*‖²), m the modulus 1/(2c)."""
    task = problem("squared_hinge", free, C=2.0)
    exact = run(task, Named(DualOfDual()), tol=1e-13, max_iter=100_000)
    best, optimum = -exact.certificate.dual, np.asarray(exact.alpha)
    method = DualOfDual(restart=False)
    state = method.start(task, None, Settings(1e-9, 0))
    first = 0.0 - best + 0.5 * state.modulus * float(optimum @ optimum)
    rate = 1.0 - np.sqrt(state.modulus / state.lipschitz)
    for k in range(1, 600):
        method.advance(state)
        assert state.value - best <= rate**k * first * (1 + 1e-6) + 1e-9 * abs(best)
    assert state.value - best <= 1e-6 * abs(best)


def test_restarts_keep_up_with_the_known_modulus() -> None:
    task = problem("squared_hinge", True, C=20.0)
    steps = []
    for restart in (True, False):
        solution = run(task, Named(DualOfDual(restart)), tol=1e-6, max_iter=100_000)
        assert solution.status.name == "CONVERGED"
        steps.append(solution.iterations)
    assert steps[0] <= 1.25 * steps[1]
