"""Problems side by side against the binary problems that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import Oracle, alpha_at, layout, make_data
from widemargin.auto.registry import choice_of
from widemargin.data.rows import Rows
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import run

SMOOTH = ("squared_hinge", "logistic")


def side_by_side(loss: str, free: bool, C: float = 0.7, kind: str = "dense-float64") -> Any:
    X, y = make_data((90, 7), density=0.6)
    random = np.random.default_rng(0)
    signed = np.zeros((90, 8))
    signed[:, :5] = y[:, None] * random.uniform(0.5, 2.0, (90, 5)) * (random.random((90, 5)) < 0.8)
    rows = Rows.of(layout(X, kind))
    return X, LanesProblem(rows, signed, C, LOSSES[loss], free)


@pytest.mark.parametrize("kind", ["dense-float64", "csr-float32-int32", "csr-float64-int64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_products(kind: str, threads: int) -> None:
    X, problem = side_by_side("logistic", False, kind=kind)
    X = X.astype(kind.split("-")[1]).astype(float)
    random = np.random.default_rng(1)
    W, A, H = random.normal(size=(7, 8)), random.normal(size=(90, 8)), random.random((90, 8))
    view, shift = problem.rows.view, random.normal(size=8)
    out, total, product = np.empty((90, 8)), np.zeros((7, 8)), np.zeros((8, 8))
    view.lane_scores(W, out, 0, 90, threads)
    view.lane_accumulate(A, total, 0, 90, threads)
    view.lane_curvature_product(H, W, shift, product, 0, 90, threads)
    np.testing.assert_allclose(out, X @ W, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total, X.T @ A, rtol=1e-12, atol=1e-12)
    scaled = H * (X @ W + shift)
    np.testing.assert_allclose(product[:7], X.T @ scaled, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(product[7], scaled.sum(axis=0), rtol=1e-12)


def test_lanes_of_wrong_shape_are_refused() -> None:
    _, problem = side_by_side("logistic", False)
    view = problem.rows.view
    with pytest.raises(ValueError, match="multiple of four"):
        view.lane_scores(np.zeros((7, 3)), np.zeros((90, 3)), 0, 90, 1)
    with pytest.raises(ValueError, match="out has 8 columns, expected 4"):
        view.lane_scores(np.zeros((7, 4)), np.zeros((90, 8)), 0, 90, 1)
    with pytest.raises(ValueError, match="expected 7"):
        view.lane_scores(np.zeros((6, 4)), np.zeros((90, 4)), 0, 90, 1)


@pytest.mark.parametrize("loss", SMOOTH)
def test_terms_and_their_derivatives(loss: str) -> None:
    _, problem = side_by_side(loss, True)
    random = np.random.default_rng(2)
    scores, slopes = 3.0 * random.normal(size=(90, 8)), random.normal(size=(90, 8))
    b, slope_b, t = random.normal(size=(3, 8))
    alpha, curvature = np.empty((90, 8)), np.empty((90, 8))
    value, first, second = problem.terms_along(scores, b, slopes, slope_b, t, (alpha, curvature))
    y, c = np.sign(problem.signed_cost), problem.C * np.abs(problem.signed_cost)
    m = np.where(y < 0, -1.0, 1.0) * (scores + b + t * (slopes + slope_b))
    np.testing.assert_allclose(alpha, y * alpha_at(loss, m, c), rtol=1e-12, atol=1e-14)
    step = 1e-5
    low, _, _ = problem.terms_along(scores, b, slopes, slope_b, t - step)
    high, _, _ = problem.terms_along(scores, b, slopes, slope_b, t + step)
    np.testing.assert_allclose(first, (high - low) / (2 * step), rtol=1e-6, atol=1e-6)
    if loss == "logistic":
        np.testing.assert_allclose(second, (high - 2 * value + low) / step**2, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("free", [False, True])
def test_certificate_of_each_lane(loss: str, free: bool) -> None:
    """P and D by the independent formulas, at a point that is far from feasible."""
    X, problem = side_by_side(loss, free)
    random = np.random.default_rng(3)
    w, b = 0.3 * random.normal(size=(7, 8)), np.where(free, random.normal(size=8), 0.0)
    point = Point(w, b, random.normal(size=(90, 8)))
    feasible, primals, duals = problem.certify_lanes(point)
    for lane in range(5):
        signed = problem.signed_cost[:, lane]
        y, c = np.where(signed < 0, -1.0, 1.0), problem.C * np.abs(signed)
        oracle = Oracle(X, y, c, loss, free)
        alpha = feasible.alpha[:, lane] * y
        assert (alpha >= 0.0).all()
        assert (alpha[c == 0.0] == 0.0).all()
        if free:
            assert abs(alpha @ y) <= 1e-12 * alpha.sum()
        np.testing.assert_allclose(primals[lane], oracle.primal(w[:, lane], b[lane]), rtol=1e-12)
        np.testing.assert_allclose(duals[lane], oracle.dual(alpha), rtol=1e-10)
    assert primals[5:] == pytest.approx(0.5 * (w[:, 5:] ** 2).sum(axis=0))


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_solutions_are_those_of_the_binary_problems(loss: str, free: bool, C: float) -> None:
    X, problem = side_by_side(loss, free, C)
    solution = run(problem, choice_of("newton", LanesProblem), tol=1e-10)
    assert solution.certificate.relative_gap <= 1e-10
    _, primals, duals = problem.certify_lanes(solution.point)
    for lane in range(5):
        signed = problem.signed_cost[:, lane]
        y = np.where(signed < 0, -1.0, 1.0)
        alone = BinaryProblem(Rows.of(X), y, C * np.abs(signed), LOSSES[loss], free)
        best = run(alone, choice_of("auto", BinaryProblem), tol=1e-11)
        assert duals[lane] <= best.certificate.primal * (1 + 1e-12)
        assert primals[lane] >= best.certificate.dual * (1 - 1e-12)
        np.testing.assert_allclose(solution.w[:, lane], best.w, rtol=1e-3, atol=1e-4)


def test_remembered_products_are_used_only_for_the_same_point() -> None:
    X, problem = side_by_side("logistic", False)
    first = run(problem, choice_of("newton", LanesProblem), tol=1e-8)
    scaled = problem.rescaled(2.0, first.point)
    assert scaled.products.scores is not None
    other = first.w + 1.0
    np.testing.assert_allclose(scaled.scores(other), X @ other, rtol=1e-12)
    alpha = 3.0 * first.alpha
    np.testing.assert_allclose(scaled.combine(alpha), X.T @ alpha, rtol=1e-9, atol=1e-12)
    kept = scaled.certify_lanes(Point(first.w, first.b, 2.0 * first.alpha))
    anew = LanesProblem(problem.rows, problem.signed_cost, 1.4, problem.loss, False)
    fresh = anew.certify_lanes(Point(first.w, first.b, 2.0 * first.alpha))
    np.testing.assert_allclose(kept[1], fresh[1], rtol=1e-13)
    np.testing.assert_allclose(kept[2], fresh[2], rtol=1e-12)


def test_log_is_accurate() -> None:
    """The dual terms of one example each, against numpy's logarithms."""
    p = np.concatenate([np.logspace(-290, 0, 2000), 1.0 - np.logspace(-15, -0.3, 500)])
    p = p[: p.size // 4 * 4]
    n = p.size
    signed, alpha, totals = np.zeros((n, 4)), np.zeros((n, 4)), np.empty((4, 4))
    worst, row = 0.0, Rows.of(np.ones((1, 1)))
    for i in range(0, n, 7):
        signed[:], alpha[:] = 0.0, 0.0
        signed[i, 0], alpha[i, 0] = 1.0, p[i]
        one = LanesProblem(row, signed[i : i + 1], 1.0, LOSSES["logistic"], False)
        one.core.dual_sums(None, alpha[i : i + 1], totals)
        rest = 1.0 - p[i]
        exact = -p[i] * np.log(p[i]) - (rest * np.log(rest) if rest > 0 else 0.0)
        worst = max(worst, abs(totals[2, 0] - exact) / max(exact, 1e-300))
    assert worst < 1e-14


def test_the_hessians_are_solved_where_few_examples_have_curvature() -> None:
    """At large C, a step is a gradient and the matrices; the answer is that of other steps."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 20))
    y = np.sign(X[:, 0] + 0.05 * random.normal(size=3000))
    signed = np.zeros((3000, 4))
    signed[:, :3] = y[:, None] * (random.random((3000, 3)) < 0.7)
    problem = LanesProblem(Rows.of(X), signed, 100.0, LOSSES["squared_hinge"], False)
    solution = run(problem, choice_of("newton", LanesProblem), tol=1e-10)
    preconditioner = problem.products.preconditioner
    assert preconditioner.exact
    assert 0.0 < preconditioner.passes < 1.5
    for lane in range(3):
        single = BinaryProblem(
            Rows.of(X), np.sign(signed[:, lane] + 0.1 * y), 100.0 * np.abs(signed[:, lane]),
            LOSSES["squared_hinge"], False,
        )  # fmt: skip
        alone = run(single, choice_of("newton", BinaryProblem), tol=1e-10)
        np.testing.assert_allclose(solution.w[:, lane], alone.w, rtol=1e-4, atol=1e-5)
