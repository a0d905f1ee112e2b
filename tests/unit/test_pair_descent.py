"""Descent in pairs for one class: the quantile, the gap and the steps, against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.one_class import OneClassProblem


@pytest.mark.parametrize("count", [1, 7, 500, 20_000])
@pytest.mark.parametrize("ties", [False, True])
def test_weighted_quantile(count, ties):
    random = np.random.default_rng(count)
    values, weights = random.normal(size=count), random.random(count)
    if ties:
        values, weights = np.round(values, 1), np.where(random.random(count) < 0.3, 0.0, weights)
        weights[0] = 1.0
    order = np.argsort(values)
    order = order[weights[order] > 0.0]
    sums = np.cumsum(weights[order])
    for share in (1e-9, 0.01, 0.3, 0.5, 0.999):
        level = share * sums[-1]
        expected = values[order[np.searchsorted(sums, level)]]
        assert core.weighted_quantile(values, weights, level) == expected
    # Sorted data: a sample by stride is as good as any.
    assert (
        core.weighted_quantile(values[order].copy(), weights[order].copy(), sums[-1] / 2)
        == (values[order[np.searchsorted(sums, sums[-1] / 2)]])
    )


def _problem(layout):
    random = np.random.default_rng(5)
    X = random.random((400, 30)) * (random.random((400, 30)) < 0.4)
    X = sp.csr_matrix(X) if layout == "csr" else X
    return OneClassProblem.stated(Rows.of(X), random.uniform(0.5, 2.0, 400), 0.2)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_steps_keep_the_sum_and_lower_the_dual(layout):
    problem = _problem(layout)
    rows, cost = problem.rows, problem.cost
    alpha, w = np.zeros(400), rows.combine(problem.cold_point().alpha)
    pairs = core.PairSweeps(problem.core, alpha, w, problem.mass)
    pairs.place(rows.scores(w))
    assert alpha.sum() == pytest.approx(problem.mass, rel=1e-13)
    w[:] = rows.combine(alpha)
    last, gaps = float(w @ w), []
    for _ in range(12):
        scores = rows.scores(w)
        gap = pairs.judge(scores, 50, 0.1)
        below, above = np.maximum(pairs.rho - scores, 0.0), np.maximum(scores - pairs.rho, 0.0)
        assert gap == pytest.approx(float((cost - alpha) @ below + alpha @ above), rel=1e-9)
        primal = problem.primal(w, 1.0 - pairs.rho, scores)
        assert primal + 0.5 * last == pytest.approx(gap, abs=1e-9 * last)
        pairs.work(100_000)
        assert alpha.min() >= 0.0
        assert (alpha <= cost).all()
        assert alpha.sum() == pytest.approx(problem.mass, rel=1e-12)
        np.testing.assert_allclose(w, rows.combine(alpha), atol=1e-10)
        assert float(w @ w) <= last * (1.0 + 1e-12)
        last = float(w @ w)
        gaps.append(gap)
    assert gaps[-1] <= 1e-9 * last


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_work_on_a_band_moves_only_the_rows_in_it(layout):
    """The rows nearest to the edge at other weights are worked on at scores of their own."""
    problem = _problem(layout)
    rows = problem.rows
    alpha, w = np.zeros(400), rows.combine(problem.cold_point().alpha)
    pairs = core.PairSweeps(problem.core, alpha, w, problem.mass)
    other = rows.scores(w)
    pairs.place(other)
    pairs.choose(other, 60)
    w[:] = rows.combine(alpha)
    pairs.rescore(0.1)
    before, length = alpha.copy(), float(w @ w)
    pairs.work(100_000)
    moved = np.flatnonzero(alpha != before)
    assert 2 <= moved.size <= 61
    edge = np.sort(np.abs(other - pairs.rho))[200]
    assert np.abs(other - pairs.rho)[moved].max() <= edge
    assert float(w @ w) < length
    assert alpha.sum() == pytest.approx(problem.mass, rel=1e-12)
    np.testing.assert_allclose(w, rows.combine(alpha), atol=1e-10)


def test_lengths_are_checked():
    problem = _problem("dense")
    with pytest.raises(ValueError, match="alpha has length"):
        core.PairSweeps(problem.core, np.zeros(3), np.zeros(30), 1.0)
    pairs = core.PairSweeps(problem.core, np.zeros(400), np.zeros(30), problem.mass)
    with pytest.raises(ValueError, match="scores has length"):
        pairs.judge(np.zeros(2), 5, 0.1)


@pytest.mark.parametrize("guess", [0.0, 1e-17, -1.0, 0.3, 5.0, np.inf])
def test_a_guess_does_not_change_the_quantile(guess):
    random = np.random.default_rng(3)
    values, weights = np.round(random.normal(size=5000), 2), random.random(5000)
    weights[random.random(5000) < 0.3] = 0.0
    for level in weights.sum() * np.array([0.2, 0.4999, 0.5, 0.63]):
        expected = core.weighted_quantile(values, weights, level)
        assert core.weighted_quantile(values, weights, level, guess) == expected
        assert core.weighted_quantile(values, weights, level, expected) == expected


def test_box_sum():
    values, upper = np.linspace(0.0, 1.0, 19), np.ones(19)
    assert core.box_sum(values, upper) == (pytest.approx(values.sum(), rel=1e-15), True)
    for place, outside in ((0, -1e-300), (9, 1.0 + 2e-16), (18, np.nan)):
        wrong = values.copy()
        wrong[place] = outside
        assert core.box_sum(wrong, upper)[1] is False


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_the_placed_rows_tell_the_primal_value_of_a_direction(layout):
    """At the best multiple of w it is minus half the square of what α and the scores come to."""
    problem = _problem(layout)
    rows = problem.rows
    alpha, w = np.empty(400), rows.combine(problem.cold_point().alpha)
    pairs = core.PairSweeps(problem.core, alpha, w, problem.mass)
    scores = rows.scores(w)
    pairs.place(scores)
    assert pairs.product == pytest.approx(float(alpha @ scores), rel=1e-12)
    multiple = pairs.product / float(w @ w)
    primal = problem.primal(multiple * w, 1.0 - multiple * pairs.rho, multiple * scores)
    assert primal == pytest.approx(-0.5 * pairs.product**2 / float(w @ w), rel=1e-10)


def test_known_products_are_those_of_what_is_asked_for():
    problem = _problem("csr")
    rows, alpha = problem.rows, problem.cold_point().alpha
    v = rows.combine(alpha)
    rows.remember_combination(alpha, v)
    np.testing.assert_array_equal(rows.known_combination(alpha), v)
    kept = alpha.copy()
    alpha[3] *= 0.5  # in place: what was kept belongs to the old ones
    assert rows.known_combination(alpha) is None
    v[:] = 0.0
    assert rows.known_combination(kept).any()
