"""Reported: joint problems far from zero, whose claim the exact judge could not follow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from widemargin import LinearSVC, verify_exactly

FAR = [
    (
        [33554448.0, 33554430.0, 33554452.0, 33554398.0],
        [1.117989637019079e-05, 1207.4756257284976, 1.2873763323033346e-06, 221153.44323052533],
        0.09332510420088164,
    ),
    (
        [268435616.0, 268435488.0, 268435424.0, 268435360.0, 268435584.0, 268435488.0],
        [602107.2, 1463.087, 0.006425517, 16.93303, 3.522941, 5.636926],
        0.01346018,
    ),
]


@pytest.mark.parametrize(("x", "weight", "C"), FAR)
def test_price_of_a_residual_around_the_mean(x: list[float], weight: list[float], C: float) -> None:
    """The price held around the library's own shift alone, not around the mean of the examples."""
    X, y = np.array(x, dtype=np.float32)[:, None], np.arange(len(x)) % 4
    model = LinearSVC("hinge", C=C, multi_class="crammer_singer", max_iter=5, tol=1e-12)
    model.set_params(solver="block_dual_cd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)
    report = verify_exactly(model, X, y, weight)
    assert [problem.verdict for problem in report.problems] == ["true"], str(report)
