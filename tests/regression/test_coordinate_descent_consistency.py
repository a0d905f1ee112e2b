"""w must stay Σ α_i y_i x_i whatever was shrunk between two extrapolations."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.data.rows import Rows
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.dual_cd import DualCD
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_follow_the_dual_variables(loss: str, free: bool) -> None:
    random = np.random.default_rng(1)
    X = np.where(random.random((300, 500)) < 0.05, random.normal(size=(300, 500)), 0.0)
    y = np.where(random.random(300) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(300, 100.0), LOSSES[loss], free)
    method = DualCD()
    state = method.start(problem, None, Settings(1e-9, 0))
    for _ in range(60):
        method.advance(state)
        combination = X.T @ (state.alpha * y)
        np.testing.assert_allclose(state.w, combination, atol=1e-9 * np.abs(combination).max())
        assert state.sweeps.residual == pytest.approx(state.alpha @ y, abs=1e-9 * state.alpha.sum())
