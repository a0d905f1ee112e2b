"""The path of regressions over C: the same answers as single fits, with less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from widemargin import LinearSVR, path

X, Y = load_diabetes(return_X_y=True)
X = scale(X)
CS = [0.01, 0.1, 1.0, 10.0]
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@pytest.mark.parametrize("intercept", [True, "penalised", False])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_c_is_what_a_fit_finds(loss: str, intercept: Any) -> None:
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=Y.size)
    over = path(
        *(sp.csr_array(X), Y, CS),
        loss=loss,
        epsilon=5.0,
        fit_intercept=intercept,
        sample_weight=weight,
        tol=1e-8,
        max_iter=20_000,
    )
    assert over.converged
    assert over.coefs.shape == (4, 1, 10)
    for place, C in enumerate(CS):
        model = LinearSVR(
            epsilon=5.0, C=C, loss=loss, fit_intercept=intercept, tol=1e-8, max_iter=20_000
        ).fit(X, Y, weight)
        value = over.certificates[place].primal
        assert value == pytest.approx(model.primal_[0], rel=1e-7)
        np.testing.assert_allclose(over.predict(X)[place], model.predict(X), atol=0.05)
        assert over.score(X, Y)[place] == pytest.approx(model.score(X, Y), abs=1e-4)


def test_warm_starts_take_fewer_passes() -> None:
    settings: Any = {"loss": LOSSES[1], "epsilon": 5.0}
    values = 2.0 ** np.arange(-6, 4)
    warm, cold = (path(X, Y, values, warm=w, **settings) for w in (True, False))
    assert warm.passes.sum() < 0.8 * cold.passes.sum()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loss": "absolute"}, "'epsilon_insensitive'"),
        ({"loss": LOSSES[0], "epsilon": -1.0}, "epsilon must be"),
        ({"loss": LOSSES[0], "l1_ratio": 0.5}, "1-norm is not supported"),
        ({"loss": LOSSES[0], "class_weight": "balanced"}, "no meaning for a regression"),
        ({"loss": "hinge", "epsilon": 0.1}, "epsilon is for regression"),
    ],
)
def test_arguments_are_checked(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        path(X, Y > 100.0, [1.0], **arguments)
