"""Dual-of-dual took the smallest cost for at most 1, so that L ≥ ½ whatever the scale of X."""

from __future__ import annotations

import numpy as np

from widemargin import LinearSVC


def test_steps_do_not_depend_on_the_scale_of_the_data() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 6))
    y = np.where(X[:, 0] + random.normal(size=120) > 0.0, 1, -1)

    def steps(scale: float) -> int:
        # P is scaled by 1/scale² as a whole: the same problem.
        model = LinearSVC(
            loss="squared_hinge", solver="dual_of_dual", C=scale**-2, tol=1e-5, fit_intercept=False
        )
        return int(np.max(model.fit(scale * X, y).n_iter_))

    assert steps(2.0**-10) == steps(1.0) == steps(2.0**4)
