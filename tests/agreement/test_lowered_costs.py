"""Sparse weights at large costs: steps from afar lead nowhere, those by way of lower costs do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC

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


def test_steps_at_lower_costs_count_as_steps() -> None:
    X, y = ones_and_zeros(100, 150, 0)
    with pytest.warns(UserWarning, match="max_iter"):
        few = model(1e4, solver="proximal_newton", max_iter=12).fit(sp.csr_array(X), y)
    assert np.max(few.n_iter_) <= 12
    assert few.certificate_.relative_gap > 1e-4
