"""Coordinate descent in lanes against the sweeps over single problems, and classes side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oracle import Oracle, layout, make_data
from widemargin import LinearSVCCV, LogisticRegressionCV
from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import choice_of
from widemargin.auto.search import Accuracy
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.lanes import LanesProblem, lane_squares
from widemargin.problems.losses import LOSSES
from widemargin.run import Status, run
from widemargin.selection.engines.base import Solved
from widemargin.selection.engines.separate import Separate
from widemargin.selection.predicted_starts import Known, lanes_start
from widemargin.selection.search import Driver, Limits, Search

SMOOTH = ("squared_hinge", "logistic")


def side_by_side(loss: str, lanes: int, C: float = 0.7, kind: str = "csr-float64-int32") -> Any:
    X, y = make_data((90, 12), density=0.5)
    random = np.random.default_rng(0)
    signed = np.where(random.random((90, lanes)) < 0.3, 1.0, -1.0)
    signed[:, 0] = y
    signed *= random.uniform(0.5, 2.0, signed.shape)
    signed[5, 1], signed[:, lanes - 1], signed[7] = 0.0, 0.0, 0.0
    return X, LanesProblem(Rows.of(layout(X, kind)), signed, C, LOSSES[loss], False)


@pytest.mark.parametrize("kind", ["dense-float64", "csr-float32-int32", "csr-float64-int64"])
@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("loss", SMOOTH)
def test_a_sweep_is_that_of_every_lane(loss: str, lanes: int, kind: str) -> None:
    _, problem = side_by_side(loss, lanes, kind=kind)
    rows = problem.rows
    signs, cost = np.sign(problem.signed_cost), problem.C * np.abs(problem.signed_cost)
    alpha = signs * cost * np.random.default_rng(3).uniform(0.1, 0.9, signs.shape)
    together, w, gaps = alpha.copy(), problem.combine(alpha), np.zeros(lanes)
    sweeps = core.LaneSweeps(problem.core, rows.norms, together, w)
    # One example takes part in no lane.
    assert sweeps.active == 89
    sweeps.begin(9)
    assert sweeps.sweep(-1.0, 10**6, gaps)
    assert sweeps.active == 89
    compared = 0
    for lane in range(lanes):
        parts = np.count_nonzero(cost[:, lane])
        if parts == 0:
            assert not together[:, lane].any()
            assert gaps[lane] == 0.0
        if parts < 89:
            continue
        y = np.where(signs[:, lane] < 0.0, -1.0, 1.0)
        single = np.abs(alpha[:, lane])
        alone = BinaryProblem(rows, y, cost[:, lane].copy(), problem.loss, False)
        v = rows.combine(single, y)
        apart = core.DualSweeps(alone.core, rows.norms, single, v, 0.0, 0.0, 0.0)
        apart.begin(9)
        assert apart.sweep(10**6)
        close = 1e-11 if loss == "squared_hinge" else 0.02
        np.testing.assert_allclose(np.abs(together[:, lane]), single, rtol=close, atol=close)
        if loss == "squared_hinge":
            assert gaps[lane] == pytest.approx(apart.gap, rel=1e-10)
        compared += 1
    assert compared == lanes - 2
    np.testing.assert_allclose(w, problem.combine(together), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_gaps_are_those_of_the_point(loss: str) -> None:
    """Near the solution, where both are small; every example is left alone, so nothing moves."""
    _, problem = side_by_side(loss, 4)
    solution = run(problem, choice_of("newton", LanesProblem), tol=1e-10)
    alpha = solution.alpha * np.random.default_rng(0).uniform(0.97, 1.0, solution.alpha.shape)
    w, gaps, kept = problem.combine(alpha), np.zeros(4), alpha.copy()
    sweeps = core.LaneSweeps(problem.core, problem.rows.norms, alpha, w)
    sweeps.begin(1)
    assert sweeps.sweep(np.inf, 10**6, gaps)
    assert sweeps.active == 0
    np.testing.assert_array_equal(alpha, kept)
    losses = problem.terms(problem.scores(w), np.zeros(4))
    true = problem.primals(w, losses) - problem.dual_values(alpha, w)
    np.testing.assert_allclose(gaps, true, rtol=1e-9 if loss == "squared_hinge" else 0.1)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("C", [1e-3, 0.7, 5.0])
@pytest.mark.parametrize("loss", SMOOTH)
def test_certificate(loss: str, C: float, tol: float) -> None:
    X, problem = side_by_side(loss, 8, C)
    solution = run(problem, choice_of("dual_cd", LanesProblem), tol=tol, max_iter=20_000)
    assert solution.status is Status.CONVERGED
    _, primals, duals = problem.certify_lanes(solution.point)
    for lane in range(7):
        signs = np.where(problem.signed_cost[:, lane] < 0.0, -1.0, 1.0)
        cost = C * np.abs(problem.signed_cost[:, lane])
        oracle = Oracle(X, signs, cost, loss, False)
        assert oracle.primal(solution.w[:, lane], 0.0) == pytest.approx(primals[lane], rel=1e-10)
        assert duals[lane] <= primals[lane]
    assert float((primals - duals).sum()) <= tol * float(primals.sum())


def test_what_it_refuses() -> None:
    _, problem = side_by_side("logistic", 8)
    free = LanesProblem(problem.rows, problem.signed_cost, 1.0, LOSSES["logistic"], True)
    with pytest.raises(ValueError, match="penalised, or none"):
        run(free, choice_of("dual_cd", LanesProblem))
    wide = LanesProblem(problem.rows, np.ones((90, 12)), 1.0, LOSSES["logistic"], False)
    with pytest.raises(ValueError, match="at most 8"):
        run(wide, choice_of("dual_cd", LanesProblem))


def test_lane_squares() -> None:
    matrix = np.random.default_rng(0).normal(size=(13, 12))
    np.testing.assert_allclose(lane_squares(matrix), (matrix**2).sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("loss", SMOOTH)
def test_a_start_is_feasible_and_knows_its_weights(loss: str) -> None:
    _, problem = side_by_side(loss, 4, 0.5)
    known = []
    for C in (0.5, 1.0):
        at = problem.rescaled(C / 0.5)
        point, _, _ = at.certify_lanes(run(at, choice_of("newton", LanesProblem), tol=1e-9).point)
        known.append(Known(C, point.alpha, at.combine(point.alpha)))
    later = problem.rescaled(4.0)
    for before in (None, known[0]):
        start = lanes_start(later, known[1], before)
        inside = start.alpha.copy()
        later.bring_into_range(inside)
        np.testing.assert_allclose(inside, start.alpha, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(
            start.combination, later.combine(start.alpha), rtol=1e-10, atol=1e-12
        )
    scaled = lanes_start(later, known[1], None)
    moved = lanes_start(later, known[1], known[0])
    values = [later.dual_values(k.alpha.copy(), k.combination).sum() for k in (scaled, moved)]
    assert values[1] > values[0]


def several(classes: int, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=240)
    X = random.normal(size=(240, 30)) * (random.random((240, 30)) < 0.5)
    X[:, 0] += 1.0
    for k in range(classes):
        X[y == k, k] += 1.5
    return X, y


@pytest.mark.parametrize("together", [0, 12])
@pytest.mark.parametrize("classes", [3, 11])
@pytest.mark.parametrize("estimator", [LinearSVCCV, LogisticRegressionCV])
def test_classes_side_by_side(
    estimator: Any, classes: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same scores as from one class at a time; those that are not done go on alone."""
    machine = replace(MACHINE, lane_sweeps=max(together, 1))
    monkeypatch.setattr("widemargin.selection.engines.class_lanes.MACHINE", machine)
    X, y = several(classes)
    settings: dict[str, Any] = {
        "Cs": 2.0 ** np.arange(-8, 3, 2),
        "cv": 4,
        "multi_class": "ovr",
        "fit_intercept": "penalised",
        "solver": "dual_cd",
        "max_iter": 20_000,
    }
    weight = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    fast = estimator(**settings).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(
        "widemargin.selection.search.ClassLanes", lambda folds: Separate(folds, "dual_cd")
    )
    slow = estimator(**settings).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(fast.path_["scores"], slow.path_["scores"], atol=1e-12)
    np.testing.assert_allclose(fast.path_["primal"], slow.path_["primal"], rtol=3e-7)
    assert (fast.path_["primal"] - fast.path_["dual"] >= 0.0).all()
    assert max(c.relative_gap for c in fast.certificates_) <= 1e-7
    np.testing.assert_allclose(fast.fold_coef_, slow.fold_coef_, atol=2e-2)
    np.testing.assert_allclose(fast.coef_, slow.coef_, atol=1e-2)


@pytest.mark.parametrize("estimator", [LinearSVCCV, LogisticRegressionCV])
def test_the_search_goes_on(estimator: Any) -> None:
    X, y = several(5, 2)
    model = estimator(
        Cs=None, cv=3, multi_class="ovr", fit_intercept=False, solver="dual_cd", search_tol=0.3
    )
    model.fit(X, y)
    first = model.Cs_.copy()
    model.continue_search(X, y, tol=1e-3)
    assert model.Cs_[-1] > first[-1]
    assert max(c.relative_gap for c in model.certificates_[first.size :]) <= 1e-4


def test_an_unfinished_C_is_forgotten() -> None:
    X, y = several(5)
    seen: list[float] = []

    def stop(name: str, record: Any) -> bool:
        seen.append(float(name[2:]))
        return seen[-1] >= 1.0

    model = LinearSVCCV(
        Cs=2.0 ** np.arange(-3, 4), cv=3, fit_intercept=False, solver="dual_cd", callback=stop
    ).fit(X, y)
    assert model.Cs_[-1] == 0.5
    assert "interrupted" in model.stopped_


def test_a_C_out_of_the_question_is_solved_coarsely() -> None:
    """Unless its score comes near the best one again; then it is solved as well as the others."""
    asked: list[tuple[float, float]] = []
    scores = iter([0.9, 0.8, 0.7, 0.95, 0.95, 0.9])

    class Engine:
        def solve(self, C: float, effort: Any) -> Any:
            asked.append((C, effort.tol))
            return Solved(C, [], np.ones((1, 1)), np.ones((1, 1)), [], np.ones(1, dtype=int))

        def mean_weights(self) -> Any:
            return np.zeros((1, 1)), np.zeros(1)

    driver = Driver(
        Engine(),  # type: ignore[arg-type]
        lambda solved: np.array([next(scores)]),
        Limits(Accuracy(1e-3, 0.1, 0.05)),
    )
    search = driver.go_on([1.0, 2.0, 4.0, 8.0, 16.0])
    # 4 is coarse since 2 was far below; 8 too, but turns out to be good, and is solved again.
    assert asked == [(1, 1e-3), (2, 1e-3), (4, 0.1), (8, 0.1), (8, 1e-3), (16, 1e-3)]
    assert [float(s[0]) for s in search.scores] == [0.9, 0.8, 0.7, 0.95, 0.9]


def test_beyond_a_C_without_errors_nothing_can_be_better() -> None:
    search = Search(Cs=[1.0], scores=[np.array([1.0, 1.0])], best_score=1.0)
    assert search.far_below(0.1)
    assert not Search(Cs=[1.0], scores=[np.array([0.9])], best_score=0.9).far_below(0.1)
