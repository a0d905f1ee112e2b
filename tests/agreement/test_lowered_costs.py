"""Sparse weights at large costs: steps from afar lead nowhere, those by way of lower costs do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC
from widemargin.auto.registry import choice_of
from widemargin.data.along import Along
from widemargin.data.training_set import TrainingSet
from widemargin.problems.losses import LOSSES
from widemargin.problems.sparse_weights import SparseProblem
from widemargin.run import run

cp = pytest.importorskip("cvxpy")


def ones_and_zeros(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = (random.random((rows, columns)) < 0.5).astype(float)
    return X, np.where(random.random(rows) < 0.5, 1, -1)


def model(C: float, **given: object) -> LinearSVC:
    return LinearSVC(penalty="l1", C=C, tol=1e-4, **given)


@pytest.mark.parametrize("solver", ["proximal_newton", "auto"])
def test_few_steps_lead_to_the_solution_at_large_costs(solver: str) -> None:
    """Without lower costs 150 steps are not enough."""
    X, y = ones_and_zeros(100, 150, 0)
    found = model(1e4, solver=solver, max_iter=150).fit(X, y)
    assert found.status_ == ["converged"]
    assert found.certificate_.relative_gap <= 1e-4
    w, b = cp.Variable(150), cp.Variable()
    losses = cp.sum_squares(cp.pos(1 - cp.multiply(y, X @ w + b)))
    least = cp.Problem(cp.Minimize(cp.norm1(w) + 1e4 * losses)).solve(solver=cp.CLARABEL)
    assert found.certificate_.primal == pytest.approx(least, rel=2e-4)
    assert found.certificate_.dual <= least * (1.0 + 1e-6)


def test_lower_costs_leave_nothing_for_the_next_value_of_a_path() -> None:
    X, y = ones_and_zeros(100, 150, 0)
    data = TrainingSet.of(X, y, C=1e4, fit_intercept=True)
    problem = SparseProblem.of(data, 1, LOSSES["squared_hinge"], 1.0)
    problem.last_columns.along = Along()
    method = choice_of("proximal_newton", SparseProblem)
    assert run(problem, method, tol=1e-4).status.value == "the tolerance was reached"
    slopes = problem.last_columns.along.slopes
    assert slopes
    assert {cost for cost, _ in slopes} == {problem.cost.sum()}


def test_who_keeps_the_steps_of_a_run_gets_the_same_answer() -> None:
    X, y = ones_and_zeros(100, 150, 0)
    data = TrainingSet.of(sp.csr_array(X), y, C=1e4, fit_intercept=True)
    problem = SparseProblem.of(data, 1, LOSSES["squared_hinge"], 1.0)
    kept: list[np.ndarray] = []

    def keep(w: np.ndarray, b: float) -> None:
        kept.append(w)

    found = [
        run(problem, choice_of("proximal_newton", SparseProblem), tol=1e-4, max_iter=60, keep=each)
        for each in (None, keep)
    ]
    assert [each.status.value for each in found] == ["the tolerance was reached"] * 2
    np.testing.assert_array_equal(found[0].w, found[1].w)
    assert len(kept) == found[0].iterations == found[1].iterations
