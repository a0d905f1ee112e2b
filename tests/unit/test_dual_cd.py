"""Sweeps of coordinate descent: the step in one coordinate, the gap they see, the first sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import oracle
from oracle import Oracle, make_data
from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import Named
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.dual_cd import DualCD
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import Status, run

NAMES = ("hinge", "squared_hinge", "logistic")


def visit(loss: str, q: float, c: float, alpha: float, ahead: float = 0.0) -> tuple[float, float]:
    """Visit the only example of a problem, x = √q, at the weights √q α: its margin is q α."""
    rows = Rows.of(np.array([[np.sqrt(q)]]))
    dual, w = np.array([alpha]), np.array([alpha * np.sqrt(q)])
    problem = BinaryProblem(rows, np.ones(1), np.full(1, c), LOSSES[loss], False)
    sweeps = core.DualSweeps(problem.core, rows.norms, dual, w, 0.0, 0.0, 0.0)
    sweeps.ahead = ahead
    sweeps.begin(0)
    assert sweeps.sweep(1)
    return float(dual[0]), sweeps.gap


@given(
    q=st.floats(1e-4, 1e4),
    c=st.floats(1e-4, 1e4),
    share=st.floats(1e-9, 1.0 - 1e-9),
)
@settings(max_examples=300, deadline=None)
def test_the_logistic_step_is_near_the_minimiser(q: float, c: float, share: float) -> None:
    """Of ½ q α² plus the entropy's negative, from anywhere: within what a sweep need not better."""
    alpha = share * c
    fresh, _ = visit("logistic", q, c, alpha)

    def f(a: float) -> float:
        r = a / c
        return 0.5 * q * a * a + c * (r * np.log(r) + (1.0 - r) * np.log1p(-r))

    def slope(odds: float) -> float:
        # In the logarithm of the odds, where no digits are lost near the ends.
        return q * c * np.exp(-np.logaddexp(0.0, -odds)) + odds

    best = c * np.exp(-np.logaddexp(0.0, -brentq(slope, -800.0, 1.0)))
    assert 0.0 < fresh < c
    near = max(best, 1e-290)
    assert f(fresh) - f(near) <= 0.05 * (f(alpha) - f(near)) + 1e-12 * (abs(f(near)) + c)


@given(m=st.floats(1e-3, 5.5), c=st.floats(1e-3, 1e3), share=st.floats(1e-6, 1.0 - 1e-6))
@settings(max_examples=200, deadline=None)
def test_the_gap_seen_by_a_logistic_visit(m: float, c: float, share: float) -> None:
    """A relative entropy, to within the factor that judging when to ask for a certificate needs."""
    alpha = share * c
    _, seen = visit("logistic", m / alpha, c, alpha)
    exact = c * np.logaddexp(0.0, -m) + alpha * m - oracle.dual_term("logistic", alpha, c)
    assert 0.3 * exact - 1e-12 * c <= seen <= 3.0 * exact + 1e-12 * c
    wanted = c / (1.0 + np.exp(m))
    if abs(alpha - wanted) <= 0.1 * min(wanted, c - wanted) and exact > 1e-9 * c:
        assert seen == pytest.approx(exact, rel=0.02)


def text_like(seed: int = 0) -> tuple[Any, np.ndarray]:
    """Rows of norm one with a few of many features, and one class in ten."""
    random = np.random.default_rng(seed)
    n, d = 3000, 800
    X = np.zeros((n, d))
    y = np.where(random.random(n) < 0.1, 1.0, -1.0)
    popularity = 1.0 / np.arange(1, d + 1)
    popularity /= popularity.sum()
    for i in range(n):
        X[i, random.choice(d, 30, p=popularity)] = 1.0
        if y[i] > 0:
            X[i, random.integers(d - 60, d, 6)] = 1.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sp.csr_matrix(X), y


def gap_after(sweeps: int, X: Any, y: np.ndarray, loss: str, C: float, free: bool) -> float:
    problem = BinaryProblem(Rows.of(X), y, np.full(y.size, C), LOSSES[loss], free)
    state = DualCD().start(problem, None, Settings(1e-12, 0))
    for _ in range(sweeps):
        DualCD().advance(state)
    np.testing.assert_allclose(state.w, problem.rows.combine(state.alpha, y), atol=1e-9)
    assert (state.alpha == problem.loss.clip(state.alpha, problem.cost)).all()
    return problem.certify(state.point)[1].relative_gap


@pytest.mark.parametrize("loss", NAMES)
def test_the_first_sweep_anticipates(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many examples that share what a margin needs, it leaves a much smaller gap.

    Of the hinge's gap a multiple of the weights takes part away in either case.
    """
    X, y = text_like()
    with_it = gap_after(2, X, y, loss, 0.1, False)
    monkeypatch.setattr("widemargin.methods.coordinate.dual_cd._SOFT", 0.0)
    without = gap_after(2, X, y, loss, 0.1, False)
    assert with_it <= (0.85 if loss == "hinge" else 0.7) * without


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("loss", NAMES)
def test_anticipation_does_not_run_away(
    loss: str, C: float, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where it is of no use, the first sweep stays as near as one that does not anticipate."""
    X, y = make_data((2000, 20), seed=3)
    without = gap_after(3, X, y, loss, C, free)
    monkeypatch.setattr("widemargin.methods.coordinate.dual_cd._SOFT", np.inf)
    with_it = gap_after(3, X, y, loss, C, free)
    assert np.isfinite(with_it)
    assert with_it <= 3.0 * without


@pytest.mark.parametrize("loss", NAMES)
def test_long_sweeps_anticipate_alike(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into several calls, the first sweep is no worse."""
    X, y = text_like(1)
    once = gap_after(2, X, y, loss, 0.1, False)
    short = replace(MACHINE, call=50_000.0)
    monkeypatch.setattr("widemargin.methods.coordinate.dual_cd.MACHINE", short)
    several = gap_after(2, X, y, loss, 0.1, False)
    assert several <= 3.0 * once


@pytest.mark.parametrize("loss", NAMES)
def test_the_answer_is_proved_from_the_data(loss: str) -> None:
    X, y = text_like(2)
    problem = BinaryProblem(Rows.of(X), y, np.full(y.size, 0.1), LOSSES[loss], False)
    state = DualCD().start(problem, None, Settings(1e-6, 0))
    for _ in range(200):
        DualCD().advance(state)
        if problem.certify(state.point)[1].relative_gap <= 1e-6:
            break
    judge = Oracle(X.toarray(), y, problem.cost, loss, False)
    P, D = judge.primal(state.w, 0.0), judge.dual(problem.certify(state.point)[0].alpha)
    assert 1e-6 * P + judge.rounding(state.w, 0.0) >= P - D


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", NAMES)
def test_joined_moves_lead_to_the_least_of_the_quadratic(loss: str, free: bool) -> None:
    """Where no bound is met, one step along the joint move has no slope left along either."""
    random = np.random.default_rng(4)
    X, y = make_data((60, 90), seed=4)
    rows = Rows.of(X)
    cost, rho, b = random.uniform(50.0, 60.0, 60), (2.0 if free else 0.0), (0.3 if free else 0.0)
    # Far inside the ranges, three points close to each other.
    points = [25.0 + 0.1 * random.standard_normal(60) for _ in range(3)]
    weights = [rows.combine(point, y) for point in points]
    residuals = [float(point @ y) for point in points]
    alpha, w = points[0].copy(), weights[0].copy()
    problem = BinaryProblem(rows, y, cost, LOSSES[loss], free)
    sweeps = core.DualSweeps(problem.core, rows.norms, alpha, w, residuals[0], b, rho)
    newer = (points[1].copy(), weights[1].copy())
    older = (points[2].copy(), weights[2].copy())
    length, residual = sweeps.join_moves(*newer, residuals[1], *older, residuals[2])
    assert length > 0.0

    def f_slope(at: np.ndarray, direction: np.ndarray) -> float:
        image, t = rows.combine(at, y), float(at @ y)
        slope = float(image @ rows.combine(direction, y)) + (b + rho * t) * float(direction @ y)
        if loss == "logistic":
            return slope + float(direction @ np.log(at / (cost - at)))
        share = at / (2.0 * cost) if loss == "squared_hinge" else np.zeros(60)
        return slope - float(direction @ (1.0 - share))

    # The image of the virtual beginning is that of its dual variables.
    np.testing.assert_allclose(older[1], rows.combine(older[0], y), atol=1e-8)
    assert residual == pytest.approx(float(older[0] @ y), abs=1e-8)
    there = points[0] + (points[0] - older[0])
    # The entropy is no quadratic, and the step is long.
    share = 0.3 if loss == "logistic" else 1e-8
    for k in (1, 2):
        direction = points[0] - points[k]
        assert abs(f_slope(there, direction)) <= share * abs(f_slope(points[0], direction))


def test_moves_in_one_direction_are_not_joined() -> None:
    X, y = make_data((30, 40))
    problem = BinaryProblem(Rows.of(X), y, np.full(30, 10.0), LOSSES["squared_hinge"], False)
    rows = problem.rows
    point, move = np.full(30, 5.0), np.linspace(0.1, 0.2, 30)
    before, older = point - move, point - 2.0 * move
    arrays = [rows.combine(a, y) for a in (point, before, older)]
    kept = older.copy()
    sweeps = core.DualSweeps(problem.core, rows.norms, point, arrays[0], 0.0, 0.0, 0.0)
    length, _ = sweeps.join_moves(before, arrays[1], 0.0, older, arrays[2], 0.0)
    assert length == 0.0
    np.testing.assert_array_equal(older, kept)


@pytest.mark.parametrize("loss", NAMES)
def test_two_moves_save_sweeps(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_data((1500, 40), seed=1) if loss == "logistic" else text_like(3)
    C = 10.0 if loss == "logistic" else 300.0
    problem = BinaryProblem(Rows.of(X), y, np.full(y.size, C), LOSSES[loss], False)

    def passes() -> float:
        solution = run(problem, Named(DualCD()), tol=1e-5, max_iter=3000)
        assert solution.status is Status.CONVERGED
        return solution.passes

    two = passes()
    monkeypatch.setattr(core.DualSweeps, "join_moves", lambda *arguments: (0.0, arguments[-1]))
    assert two <= 0.9 * passes()


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_the_weights_stay_those_of_the_dual_variables(loss: str, free: bool, seed: int) -> None:
    """Long runs on badly scaled columns: what extrapolations blow up is computed afresh in time."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((150, 100)) * 10.0 ** random.uniform(-2.0, 1.0, 100)
    y = np.where(random.random(150) < 0.4, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(150, 10.0), LOSSES[loss], free)
    state = DualCD().start(problem, None, Settings(1e-6, seed))
    for step in range(300):
        DualCD().advance(state)
        if step % 10 == 0:
            w = problem.rows.combine(state.alpha, y)
            assert np.linalg.norm(state.w - w) <= 1e-7 * np.linalg.norm(w)
            assert state.sweeps.residual == pytest.approx(float(state.alpha @ y), abs=1e-6)


@pytest.mark.parametrize("shape", [(400, 30), (400, 100)])
def test_the_gap_at_the_end_of_a_step_is_the_one_expected(shape: tuple[int, int]) -> None:
    """Right after an extrapolation it was several times what the sweep before had seen."""
    random = np.random.default_rng(5)
    X = random.normal(size=shape) * np.logspace(0.0, -1.5, shape[1])
    y = np.where(random.random(shape[0]) < 0.5, 1.0, -1.0)
    cost = np.full(shape[0], 10.0)
    problem = BinaryProblem(Rows.of(X), y, cost, LOSSES["logistic"], False)
    state = DualCD().start(problem, None, Settings(1e-9, 0))
    ratios = []
    for _ in range(80):
        DualCD().advance(state)
        if state.passes > 20.0:
            ratios.append(problem.certify(state.point)[1].relative_gap / state.expected_gap)
    assert float(np.median(ratios)) < 1.5


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_misplaced_examples_are_counted_when_they_are_visited(loss: str) -> None:
    """Of orthogonal rows, so that no visit changes what another one sees."""
    random = np.random.default_rng(4)
    w = random.normal(size=50)
    rows = Rows.of(np.eye(50))
    y = np.where(random.random(50) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(rows, y, np.ones(50), LOSSES[loss], False)
    sweeps = core.DualSweeps(problem.core, rows.norms, np.full(50, 0.5), w, 0.0, 0.0, 0.0)
    wrong = np.count_nonzero(y * w < 0.0)
    sweeps.begin(0)
    assert sweeps.sweep(50)
    assert sweeps.misplaced == wrong


@pytest.mark.parametrize("loss", NAMES)
def test_the_share_of_misplaced_examples(loss: str) -> None:
    """Falls to none on examples that can be put right; not known where no example ever is."""
    random = np.random.default_rng(5)
    X = random.normal(size=(200, 60))
    y = np.where(X @ random.normal(size=60) > 0.0, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(200, 100.0), LOSSES[loss], False)
    method = DualCD()
    state = method.start(problem, None, Settings(1e-3, 0))
    shares = []
    for _ in range(30):
        method.advance(state)
        shares.append(state.misplaced)
    if LOSSES[loss].sparse:
        assert 0.0 < shares[0] < 1.0
        assert shares[-1] == 0.0
    else:
        assert np.isnan(shares).all()
