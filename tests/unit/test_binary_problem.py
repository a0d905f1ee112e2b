"""Primal, dual, scale and certificate of a problem, against numpy, at points of any quality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import INTERCEPTS, LOSSES, Oracle, alpha_at, layout, make_data
from widemargin import LinearSVC
from widemargin.data.rows import Rows
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.losses import LOSSES as OURS


def make(loss: str, intercept: Any, seed: int = 0, n: int = 30) -> tuple[BinaryProblem, Oracle]:
    X, y = make_data((n, 4), seed=seed, density=0.6)
    c = np.random.default_rng(seed).uniform(0.2, 2.0, size=n)
    c[5] = 0.0
    rows = Rows.of(layout(X, "dense-float64"))
    if intercept == "penalised":
        rows = rows.with_constant(1.5)
    scaling = 1.5 if intercept == "penalised" else 1.0
    problem = BinaryProblem(rows, y, c, OURS[loss], intercept is True)
    return problem, Oracle(X, y, c, loss, intercept, scaling)


def random_point(problem: BinaryProblem, seed: int) -> Point:
    """Weights and dual variables that fit neither each other nor the constraints."""
    random = np.random.default_rng(seed)
    size = 10.0 ** random.integers(-3, 2)
    return Point(
        size * random.normal(size=problem.rows.weights),
        float(random.normal()) if problem.free_intercept else 0.0,
        random.normal(size=problem.rows.count) * 10.0 ** random.integers(-3, 2),
    )


def split(
    problem: BinaryProblem, oracle: Oracle, w: np.ndarray, b: float
) -> tuple[np.ndarray, float]:
    return (w[:-1], w[-1] * oracle.scaling) if oracle.intercept == "penalised" else (w, b)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_certificate_of_any_point(loss: str, intercept: Any, seed: int) -> None:
    problem, oracle = make(loss, intercept, seed)
    point = random_point(problem, seed)
    before = point.w.copy(), point.alpha.copy()
    best, certificate = problem.certify(point)
    np.testing.assert_array_equal(point.w, before[0])
    np.testing.assert_array_equal(point.alpha, before[1])
    oracle.check_feasible(best.alpha)
    w, b = split(problem, oracle, best.w, best.b)
    assert certificate.primal == pytest.approx(oracle.primal(w, b), rel=1e-12)
    assert certificate.dual == pytest.approx(oracle.dual(best.alpha), rel=1e-11, abs=1e-12)
    assert certificate.primal >= certificate.dual
    # w is what was given, or a multiple of it that is better; b is no worse than any other.
    if loss == "hinge":
        scale = float(best.w @ point.w) / float(point.w @ point.w)
        np.testing.assert_allclose(best.w, scale * point.w, rtol=1e-14, atol=0.0)
        assert certificate.primal <= oracle.primal(*split(problem, oracle, point.w, point.b)) * (
            1 + 1e-12
        )
    else:
        np.testing.assert_array_equal(best.w, point.w)
    if intercept is True:
        for other in np.linspace(b - 3, b + 3, 601):
            assert oracle.primal(w, other) >= certificate.primal * (1 - 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_margins_missed_by_a_little_cost_little(intercept: bool) -> None:
    """However large C is: a slightly larger w misses none of them."""
    random = np.random.default_rng(3)
    X = random.normal(size=(30, 200))
    y = np.where(random.random(30) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(30, 1e6), OURS["hinge"], intercept)
    near = LinearSVC("hinge", C=1e6, tol=1e-7, fit_intercept=intercept).fit(X, y)
    alpha = np.abs(near.dual_coef_[0])
    short = Point((1.0 - 1e-5) * near.coef_[0], float(near.intercept_[0]) * intercept, alpha)
    point, certificate = problem.certify(short)
    # It would be C times what is missed: more than the whole objective.
    assert problem.primal_at(short.w, short.b) > 1.5 * certificate.primal
    assert certificate.relative_gap < 1e-4
    assert certificate.dual <= problem.primal_at(point.w, point.b) <= certificate.primal


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_best_scale(loss: str, intercept: Any, seed: int) -> None:
    """No other feasible multiple of α has a higher D."""
    problem, oracle = make(loss, intercept, seed)
    best, certificate = problem.certify(random_point(problem, seed))
    for t in np.concatenate([np.linspace(0.0, 3.0, 301), 1.0 + np.array([-1e-4, 1e-4])]):
        scaled = t * best.alpha
        if loss == "hinge" and (scaled > oracle.c).any():
            continue
        assert oracle.dual(scaled) <= certificate.dual + 1e-11 * (1 + abs(certificate.dual))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_feasible_is_the_nearest(loss: str, intercept: Any, seed: int) -> None:
    problem, oracle = make(loss, intercept, seed)
    alpha = np.random.default_rng(seed).normal(size=problem.rows.count)
    nearest = problem.feasible(alpha)
    oracle.check_feasible(nearest)
    random = np.random.default_rng(seed + 50)
    for _ in range(50):  # no feasible point nearby is nearer
        other = problem.feasible(nearest + 0.1 * random.normal(size=alpha.size))
        assert np.linalg.norm(alpha - nearest) <= np.linalg.norm(alpha - other) + 1e-12


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_point_at(loss: str, intercept: Any) -> None:
    problem, oracle = make(loss, intercept)
    given = random_point(problem, 1)
    point = problem.point_at(given.w, given.b)
    w, b = split(problem, oracle, given.w, given.b)
    m = oracle.y * (oracle.X @ w + b)
    np.testing.assert_allclose(point.alpha, alpha_at(loss, m, oracle.c), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_ordinary_sums_where_they_tell(
    loss: str, intercept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, _ = make(loss, intercept)
    point = random_point(problem, 3)
    exact = problem.primal_at(point.w, point.b)
    asked = []
    compensated = BinaryProblem._compensated_at
    monkeypatch.setattr(
        BinaryProblem, "_compensated_at", lambda *given: asked.append(1) or compensated(*given)
    )
    for enough in (0.5 * exact, 2.0 * exact):
        found = problem.primal_below(point.w, point.b, enough).upper
        assert exact * (1.0 - 1e-15) <= found <= exact * (1.0 + 1e-12)
    assert not asked
    # They cannot tell two numbers apart that differ by less than they may be off by.
    assert problem.primal_below(point.w, point.b, exact).upper == exact
    assert asked


def test_subproblem_stands_for_the_whole() -> None:
    problem, oracle = make("hinge", True)
    subset = np.array([0, 3, 4, 11, 20], dtype=np.int64)
    part = problem.subproblem(subset)
    assert part.cost.sum() == pytest.approx(problem.cost.sum(), rel=1e-14)
    np.testing.assert_allclose(part.cost / part.cost[0], oracle.c[subset] / oracle.c[0], rtol=1e-14)
    np.testing.assert_array_equal(part.y, oracle.y[subset])
    w = np.arange(4.0)
    np.testing.assert_allclose(part.rows.scores(w), oracle.X[subset] @ w, rtol=1e-13, atol=1e-14)


def test_certificate_arithmetic() -> None:
    certificate = Certificate(primal=10.0, dual=9.5)
    assert certificate.gap == 0.5
    assert certificate.relative_gap == 0.05
    assert str(certificate) == "primal 10, dual 9.5, within 5 % of the optimum"
    assert Certificate(0.0, 0.0).relative_gap == 0.0
    assert Certificate(1.0, -np.inf).relative_gap == np.inf
