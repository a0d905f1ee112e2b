"""Corners of the multiclass problem and of its compiled loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracle_multiclass import RULES, MulticlassOracle, make_classes
from widemargin import LinearSVC
from widemargin.data.rows import Rows
from widemargin.kernels import core
from widemargin.methods.auto_multiclass import AutoMulticlass
from widemargin.methods.base import Settings
from widemargin.methods.block_state import BlockState
from widemargin.methods.multiclass_newton import MulticlassNewton
from widemargin.problems.multiclass import MulticlassProblem


def problem(k: int = 4, d: int = 5, rule: str = "weston_watkins") -> MulticlassProblem:
    X, y = make_classes(60, d, k, seed=9)
    return MulticlassProblem(Rows.of(X), y.astype(np.int32), np.ones(60), k, rule, True)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scale", [1e-100, 1e-160])
def test_tiny_features(rule: str, scale: float) -> None:
    X, y = make_classes()
    model = LinearSVC("hinge", multi_class=rule, max_iter=20).fit(X * scale, y)
    assert np.isfinite(model.certificate_.primal)
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("intercept", [False, True])
def test_shark_goes_on_below_its_first_threshold(intercept: bool) -> None:
    X, y = make_classes(60, 20, 4, seed=1)
    model = LinearSVC(
        "hinge",
        C=100.0,
        fit_intercept=intercept,
        multi_class="weston_watkins",
        solver="shark",
        tol=1e-4,
        max_iter=5000,
    ).fit(X, y)
    assert model.status_ == ["converged"]
    MulticlassOracle(X, y, np.full(y.size, 100.0), "weston_watkins", intercept).check(model, 1e-4)


def test_auto_counts_rows_that_hold_nothing() -> None:
    """Empty rows have scores too: many of them are no small problem."""
    label = (np.arange(9000) % 3).astype(np.int32)
    X = sp.csr_array((np.ones(30), (np.arange(30), np.arange(30) % 2)), shape=(9000, 2))
    many = MulticlassProblem(Rows.of(X), label, np.ones(9000), 3, "weston_watkins", False)
    assert AutoMulticlass().first(many, None, 1e-4).name == "block_dual_cd"
    assert AutoMulticlass().first(problem(), None, 1e-4).name == "proximal_newton"


def test_newton_refuses_what_does_not_fit_into_memory() -> None:
    newton = MulticlassNewton()
    assert newton.refuses(problem(k=40)) is None
    reason = newton.refuses(problem(k=40, d=1500))
    assert reason is not None
    assert "40 times 1501 x 1501" in reason
    assert "'block_dual_cd'" in reason


@pytest.mark.parametrize(
    ("pointers", "classes"),
    [
        ([0, *[1] * 60], [4]),
        ([0, *[1] * 60], [-1]),
        ([0, 5, *[1] * 59], [0]),
        ([-1, *[1] * 60], [0]),
    ],
)
def test_broken_duals_are_refused(pointers: list[int], classes: list[int]) -> None:
    case = problem()
    weights = np.zeros((5, case.stride))
    with pytest.raises(ValueError, match="not valid compressed rows"):
        case.core.losses(
            weights,
            np.zeros(case.stride),
            np.array(pointers),
            np.array(classes, dtype=np.int32),
            np.ones(1),
            np.zeros_like(weights),
            0,
            60,
        )


def test_extrapolation_refuses_duals_of_other_examples() -> None:
    case = problem()
    state = BlockState.at(case, None, Settings(tol=1e-3, seed=0), costly=1.0)
    with pytest.raises(ValueError, match="another number of examples"):
        case.core.extrapolate(
            state.duals,
            state.weights,
            state.residual,
            state.b,
            state.rho,
            core.BlockDuals(3, 4),
            state.weights.copy(),
            state.residual.copy(),
            np.arange(60),
            np.zeros_like(state.weights),
        )
