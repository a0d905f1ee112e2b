"""Corners of the multiclass problem and of its compiled loops."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from oracle_multiclass import RULES, MulticlassOracle, make_classes
from widemargin import LinearSVC
from widemargin.auto.registry import choice_of
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings
from widemargin.methods.coordinate._block_state import BlockState
from widemargin.methods.coordinate.block_dual_cd import BlockDualCD
from widemargin.methods.newton.multiclass import MulticlassNewton
from widemargin.problems.compressed_duals import residual_of
from widemargin.problems.multiclass import MulticlassProblem


def problem(
    k: int = 4, d: int = 5, rule: str = "weston_watkins", free_intercept: bool = True
) -> MulticlassProblem:
    X, y = make_classes(60, d, k, seed=9)
    rows, label = Rows.of(X), y.astype(np.int32)
    return MulticlassProblem(rows, label, np.ones(60), k, rule, free_intercept)


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
    assert choice_of("auto", MulticlassProblem).first(many, None, 1e-4).name == "block_dual_cd"
    few = MulticlassProblem(Rows.of(X[:30]), label[:30], np.ones(30), 3, "weston_watkins", False)
    assert choice_of("auto", MulticlassProblem).first(few, None, 1e-4).name == "proximal_newton"


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


def test_search_refuses_the_trail_of_another_problem() -> None:
    case = problem()
    state = BlockState.at(case, None, Settings(tol=1e-3, seed=0), costly=1.0)
    with pytest.raises(ValueError, match="another problem"):
        state.sweeps.extrapolate(core.BlockTrail(3, 4, case.rows.weights, 2, 1, 0))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("free_intercept", [False, True])
def test_searches_keep_the_weights_of_the_duals_and_lower_the_objective(
    rule: str, free_intercept: bool
) -> None:
    case = problem(rule=rule, free_intercept=free_intercept)
    state = BlockDualCD().start(case, None, Settings(tol=1e-9, seed=0))
    shares = []
    for _ in range(12):
        state.sweeps.set_span(state.trail)
        state.sweep(partial(state.sweeps.sweep, state.visits_per_call, False))
        before = lagrangian(state)
        shares.append(state.sweeps.extrapolate(state.trail))
        assert lagrangian(state) <= before + 1e-12 * abs(before)
        beta = state.beta()
        nothing = np.zeros((case.classes, case.rows.weights))
        image = case.losses_and_combination(nothing, np.zeros(case.classes), beta)[1]
        assert_allclose(state.weights, image, atol=1e-11)
        if free_intercept:
            assert_allclose(
                state.residual[: case.classes],
                residual_of(beta, case.label, case.classes),
                atol=1e-11,
            )
        feasible = case.in_range(beta.sparse(case.classes))
        assert_allclose(feasible.values, beta.values, rtol=1e-12)
    assert max(shares) > 0.0


def lagrangian(state: BlockState) -> float:
    """Return f as core/sweeps/block_dual_cd.hpp has it."""
    penalty = state.b @ state.residual + 0.5 * state.rho * state.residual @ state.residual
    return float(0.5 * np.vdot(state.weights, state.weights) - state.duals.sum + penalty)
