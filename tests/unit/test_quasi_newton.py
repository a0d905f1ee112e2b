"""L-BFGS on binary and regression problems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC, LinearSVR, LogisticRegression
from widemargin.auto.registry import choice_of
from widemargin.data import work
from widemargin.data.training_set import TrainingSet
from widemargin.linalg.limited_memory import LimitedMemory
from widemargin.methods.base import Settings
from widemargin.methods.newton.quasi_newton import QuasiNewton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import run


def data(rows: int = 300, features: int = 20, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    X = random.normal(size=(rows, features)) * np.geomspace(0.1, 10.0, features) + shift
    noise = random.normal(size=rows)
    return X, np.where((X - shift) @ random.normal(size=features) + 3.0 * noise > 0.0, 1, -1)


def problem(loss: str, intercept: bool, shift: float = 0.0, C: float = 1.0) -> BinaryProblem:
    X, y = data(shift=shift)
    return BinaryProblem.of(TrainingSet.of(X, y, C=C, fit_intercept=intercept), 1, LOSSES[loss])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_estimated_gap_is_the_certificate(loss: str, intercept: bool) -> None:
    """½‖∇P‖² at dual variables that belong to the scores, intercept included."""
    stated = problem(loss, intercept)
    method = QuasiNewton()
    state = method.start(stated, None, Settings(1e-6, 0))
    for _ in range(6):
        method.advance(state)
        certificate = stated.certify(state.point)[1]
        assert certificate.relative_gap <= state.expected_gap * (1.0 + 1e-6) + 1e-9
        if stated.loss.dual_quadratic is None:  # else a multiple of the dual variables is better
            assert certificate.relative_gap >= state.expected_gap * (1.0 - 1e-6)
        assert state.primal == pytest.approx(certificate.primal, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_shifted_columns(loss: str) -> None:
    """An intercept makes up for them; without one the mean is a single direction.

    By the variances around zero it would take 351 and 570 steps.
    """
    choice = choice_of("quasi_newton", BinaryProblem)
    steps = [run(problem(loss, True, s), choice, tol=1e-4).iterations for s in (0.0, 50.0)]
    assert abs(steps[1] - steps[0]) <= 2
    assert run(problem(loss, False, 50.0), choice, tol=1e-4).iterations <= 100


def test_badly_scaled_columns_are_scaled() -> None:
    X, y = data()
    scales = np.geomspace(1.0, 1e4, X.shape[1])
    few = LogisticRegression(solver="quasi_newton", C=100.0).fit(X * scales, y)
    assert few.status_ == ["converged"]
    assert few.n_iter_[0] <= 100


def test_small_costs_take_a_step_along_the_gradient() -> None:
    solution = run(problem("logistic", True, C=1e-6), choice_of("quasi_newton", BinaryProblem))
    assert solution.iterations == 1
    assert solution.status.name == "CONVERGED"


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_warm_start_is_shorter(loss: str) -> None:
    stated = problem(loss, True)
    cold = run(stated, choice_of("quasi_newton", BinaryProblem), tol=1e-6)
    near = run(stated, choice_of("dual_cd", BinaryProblem), tol=1e-3, max_iter=100_000)
    choice = choice_of("quasi_newton", BinaryProblem)
    warm = run(stated, choice, tol=1e-6, warm=near.point)
    assert warm.status.name == "CONVERGED"
    assert warm.iterations < cold.iterations


def test_the_answer_is_that_of_newton() -> None:
    X, y = data()
    for rows in (X, sp.csr_matrix(X), X.astype(np.float32)):
        models = [
            LinearSVC("squared_hinge", solver=solver, tol=1e-10).fit(rows, y)
            for solver in ("quasi_newton", "newton")
        ]
        assert models[0].coef_ == pytest.approx(models[1].coef_, rel=1e-3, abs=1e-4)


def test_regression_with_the_squared_loss() -> None:
    X, _ = data()
    target = X @ np.linspace(-1.0, 1.0, X.shape[1]) + 3.0
    loss = "squared_epsilon_insensitive"
    models = [
        LinearSVR(loss=loss, solver=solver, tol=1e-9, C=0.1).fit(X, target)
        for solver in ("quasi_newton", "newton")
    ]
    assert models[0].coef_ == pytest.approx(models[1].coef_, rel=1e-4, abs=1e-5)
    assert models[0].intercept_ == pytest.approx(models[1].intercept_, rel=1e-4)


def test_a_loss_without_second_derivatives_is_refused() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="'dual_cd'"):
        LinearSVC("hinge", solver="quasi_newton").fit(X, y)


def test_limited_memory_is_exact_on_a_quadratic() -> None:
    """With exact pairs of all directions, conjugate to one another, H⁻¹ is recovered."""
    random = np.random.default_rng(3)
    root = random.normal(size=(6, 6))
    H = root @ root.T + np.eye(6)
    memory = LimitedMemory(6)
    for direction in np.linalg.eigh(H)[1].T:
        memory.add(direction, H @ direction)
    right = random.normal(size=6)
    assert memory.solve(right, np.copy) == pytest.approx(np.linalg.solve(H, right))
    memory.add(right, -right)  # no curvature along it
    assert len(memory.pairs) == 6
    memory.add(right, right)
    assert len(memory.pairs) == 6


def test_solving_with_a_factor_is_counted() -> None:
    """Two values a row, but 700 weights: nearly all of a step is solving with the factor."""
    X = sp.csr_matrix(sp.eye(699, 700) - sp.eye(699, 700, k=1))
    y = np.where(np.random.default_rng(0).random(699) < 0.5, -1.0, 1.0)
    data = TrainingSet.of(X, y, C=100.0, fit_intercept=False)
    problem = BinaryProblem.of(data, 1, LOSSES["squared_hinge"])
    state = QuasiNewton().start(problem, None, Settings(1e-6, 0))

    def counted() -> float:
        before = problem.meter.nanoseconds
        QuasiNewton().advance(state)
        return problem.meter.nanoseconds - before

    plain = counted()
    state.metric = state.metric.renewed(problem, state.curvature)
    assert state.metric.factor is not None
    assert counted() - plain == pytest.approx(work.solve(700), rel=0.1)
