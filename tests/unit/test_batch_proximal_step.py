"""The proximal step of a mini-batch, against a generic solver."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.data.rows import Rows
from widemargin.instruction_sets import core

RADIUS, COST, STEP = 0.05, 0.7, 0.4


@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_against_cvxpy(norm: float, l2: float) -> None:
    """min Σ_i f_i(w, λ) + (‖w − w₀‖² + (λ − λ₀)²)/(2 step) over one batch of all examples."""
    cp = pytest.importorskip("cvxpy")
    random = np.random.default_rng(3)
    n, d = 7, 4
    X, y = random.normal(size=(n, d)), np.where(random.random(n) < 0.5, 1.0, -1.0)
    weight = random.uniform(0.5, 1.5, n)
    start, price = 0.3 * random.normal(size=d), 1.1
    w = start.copy()
    kernels = core.RobustCore(Rows.of(X).view, norm, y, weight, RADIUS, COST, l2, False)
    stage = core.RobustStage(kernels, np.arange(n), w, 0.0, price, np.zeros(d), np.zeros((2, n)))
    stage.sweep("ippa", 0, n, n, n, STEP, 1.0)
    v, s = cp.Variable(d), cp.Variable()
    margins = cp.multiply(y, X @ v)
    losses = cp.maximum(1.0 - margins, 1.0 + margins - COST * s, 0.0)
    objective = weight @ losses + n * RADIUS * s + 0.5 * n * l2 * cp.sum_squares(v)
    distance = cp.sum_squares(v - start) + cp.square(s - price)
    problem = cp.Problem(cp.Minimize(objective + distance / (2 * STEP)), [cp.norm(v, norm) <= s])
    problem.solve()
    np.testing.assert_allclose(w, v.value, atol=2e-3)
    np.testing.assert_allclose(stage.price, s.value, atol=2e-3)
