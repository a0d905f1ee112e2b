"""The formulas of each loss against brute force, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import LOSSES, alpha_at, curvature_at, dual_term, value
from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES as OURS

SMOOTH = ("squared_hinge", "logistic")
MARGINS = np.concatenate(
    [
        np.linspace(-5.0, 5.0, 201),
        [0.0, 1.0, np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0)],
        [-1e-300, 1e-300, -1e-9, 1e-9],
        [-30.0, 30.0, -100.0, 100.0, -700.0, 700.0, -1e4, 1e4, -1e8, 1e8],
    ]
)
ONE = np.ones(1)


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_names_and_kinds() -> None:
    assert set(OURS) == set(LOSSES)
    assert [OURS[name].bounded for name in LOSSES] == [True, False, True]
    assert [OURS[name].smooth for name in LOSSES] == [False, True, True]


def test_value(loss: str) -> None:
    for m in MARGINS:
        for y in (1.0, -1.0):
            got = OURS[loss].total(np.array([y]), np.array([2.5]), np.array([y * m]), 0.0)
            assert got == pytest.approx(2.5 * value(loss, np.array(m)), rel=4e-16 * 8, abs=1e-300)


def test_total_is_the_sum_with_its_intercept(loss: str) -> None:
    """Lengths around the width of the vector lanes; costs, labels and intercept all take part."""
    random = np.random.default_rng(0)
    for n in (*range(1, 20), 1000):
        y, c = random.choice([-1.0, 1.0], size=n), random.uniform(0, 3, size=n)
        scores, b = 3 * random.normal(size=n), 0.37
        expected = float(np.sum(c * value(loss, y * (scores + b))))
        assert OURS[loss].total(y, c, scores, b) == pytest.approx(expected, rel=1e-14)


def test_dual_total(loss: str) -> None:
    random = np.random.default_rng(1)
    for n in (*range(1, 20), 1000):
        c = random.uniform(0.1, 3.0, size=n)
        alpha = c * random.random(n) * (3.0 if loss == "squared_hinge" else 1.0)
        expected = float(np.sum(dual_term(loss, alpha, c)))
        assert OURS[loss].dual_total(alpha, c) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("c", [1e-6, 0.3, 1.0, 1e6])
def test_dual_term_by_its_definition(loss: str, c: float) -> None:
    """φ(α) = min over m of c ℓ(m) + α m, found by searching, not by the formula."""
    shares = np.array([1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])
    if loss == "squared_hinge":
        shares = np.append(shares, [1.0, 3.0, 10.0])
    m = np.linspace(-20.0, 20.0, 400_001)  # spacing 1e-4, minimum to its square
    for alpha in c * shares:
        searched = float(np.min(c * value(loss, m) + alpha * m))
        got = OURS[loss].dual_total(np.array([alpha]), np.array([c]))
        assert got == pytest.approx(searched, abs=1e-7 * c)
        # The search is from above, so the formula may not lie above it.
        assert got <= searched + 1e-12 * c


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])
def test_dual_term_at_the_ends(loss: str, c: float) -> None:
    cost = np.array([c])
    assert OURS[loss].dual_total(np.zeros(1), cost) == 0.0
    if loss == "hinge":
        assert OURS[loss].dual_total(cost, cost) == c
    elif loss == "logistic":
        assert OURS[loss].dual_total(cost, cost) == 0.0
        assert OURS[loss].dual_total(cost / 2, cost) == pytest.approx(c * np.log(2), rel=1e-15)
    else:
        assert OURS[loss].dual_total(2 * cost, cost) == pytest.approx(c, rel=1e-15)


def test_no_cost_no_term(loss: str) -> None:
    zero = np.zeros(1)
    assert OURS[loss].dual_total(zero, zero) == 0.0
    assert OURS[loss].total(ONE, zero, -3 * ONE, 0.0) == 0.0
    np.testing.assert_array_equal(OURS[loss].upper(np.zeros(2)), [0.0, 0.0])


def test_upper_bounds(loss: str) -> None:
    c = np.array([0.5, 2.0])
    if loss == "squared_hinge":
        assert OURS[loss].upper(c) is None
    else:
        np.testing.assert_array_equal(OURS[loss].upper(c), c)


def test_no_cost_no_dual_variable(loss: str) -> None:
    c, alpha = np.array([0.0, 2.0]), np.array([3.0, 1.0])
    np.testing.assert_array_equal(OURS[loss].upper(c)[0], 0.0)
    np.testing.assert_array_equal(OURS[loss].clip(alpha, c), [0.0, 1.0])


def test_fenchel_young(loss: str) -> None:
    """c ℓ(m) − φ(α) + α m ≥ 0 for all pairs, and 0 where α belongs to m."""
    for c in (1e-3, 1.0, 1e3):
        cost = np.array([c])
        upper = 4 * c if loss == "squared_hinge" else c
        for m in np.linspace(-4, 4, 41):
            primal = OURS[loss].total(ONE, cost, np.array([m]), 0.0)
            for alpha in np.linspace(0.0, upper, 33):
                dual = OURS[loss].dual_total(np.array([alpha]), cost)
                assert primal - dual + alpha * m >= -1e-14 * c * (1 + abs(m))
            own = float(alpha_at(loss, np.array(m), cost)[0])
            dual = OURS[loss].dual_total(np.array([own]), cost)
            assert primal - dual + own * m == pytest.approx(0.0, abs=1e-13 * c * (1 + m * m))


@pytest.mark.parametrize("smooth", SMOOTH)
def test_terms(smooth: str) -> None:
    """α and curvature as −c ℓ' and c ℓ'', for both labels and with an intercept."""
    m = MARGINS[(MARGINS > -600) & (MARGINS < 600)]
    c = np.linspace(0.1, 2.0, m.size)
    for y in (1.0, -1.0):
        labels = np.full(m.size, y)
        alpha, curvature = OURS[smooth].terms(labels, c, y * m - 0.25, 0.25)
        margins = y * ((y * m - 0.25) + 0.25)
        np.testing.assert_allclose(alpha, alpha_at(smooth, margins, c), rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(
            curvature, curvature_at(smooth, margins, c), rtol=1e-12, atol=1e-16
        )


def test_terms_far_out() -> None:
    alpha, curvature = OURS["logistic"].terms(
        np.ones(4), np.full(4, 2.0), np.array([-1e8, -1000.0, 1000.0, 1e8]), 0.0
    )
    np.testing.assert_allclose(alpha, [2.0, 2.0, 0.0, 0.0], atol=1e-300)
    np.testing.assert_allclose(curvature, 0.0, atol=1e-300)


@pytest.mark.parametrize("smooth", SMOOTH)
def test_terms_are_derivatives(smooth: str) -> None:
    """Against central differences of the value."""
    m = np.linspace(-3.0, 3.0, 60)  # none within h of the corner at 1
    h = 1e-5
    c = np.full(m.size, 1.3)
    y = np.ones(m.size)
    alpha, curvature = OURS[smooth].terms(y, c, m, 0.0)
    up, down = 1.3 * value(smooth, m + h), 1.3 * value(smooth, m - h)
    np.testing.assert_allclose(alpha, -(up - down) / (2 * h), atol=1e-8)
    a_up, a_down = (OURS[smooth].terms(y, c, m + s, 0.0)[0] for s in (h, -h))
    np.testing.assert_allclose(curvature, -(a_up - a_down) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("smooth", SMOOTH)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 50])
def test_derivatives_along(smooth: str, n: int) -> None:
    random = np.random.default_rng(n)
    y, c = random.choice([-1.0, 1.0], size=n), random.uniform(0.1, 2, size=n)
    scores, slopes, b, slope_b, t = random.normal(size=n), random.normal(size=n), 0.2, -0.7, 0.6
    m = y * (scores + b + t * (slopes + slope_b))
    speed = y * (slopes + slope_b)
    first, second = core.derivatives_along(smooth, y, c, scores, b, slopes, slope_b, t)
    assert first == pytest.approx(float(np.sum(-alpha_at(smooth, m, c) * speed)), rel=1e-12)
    assert second == pytest.approx(float(np.sum(curvature_at(smooth, m, c) * speed**2)), rel=1e-12)


def searched_minimum(loss: str, y: Any, c: Any, scores: Any) -> float:
    """The least total over b: every breakpoint, and a fine grid refined three times."""
    low, high = -np.abs(scores).max() - 40.0, np.abs(scores).max() + 40.0

    def total(b: Any) -> Any:
        return np.sum(c[:, None] * value(loss, y[:, None] * (scores[:, None] + b)), axis=0)

    best = np.inf
    for _ in range(6):
        grid = np.linspace(low, high, 2001)
        values = total(grid)
        place = int(np.argmin(values))
        best = min(best, float(values[place]))
        width = (high - low) / 2000
        low, high = grid[place] - 2 * width, grid[place] + 2 * width
    return min(best, float(np.min(total(y - scores))))


@pytest.mark.parametrize("seed", range(12))
def test_best_intercept(loss: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 60))
    y = np.append([1.0, -1.0], random.choice([-1.0, 1.0], size=n - 2))
    c = random.choice([0.0, 0.01, 1.0, 2.0], size=n)
    c[:2] = random.uniform(0.001, 10, size=2)
    scores = random.normal(size=n) * 10.0 ** random.integers(-2, 2)
    if seed % 3 == 0:
        scores = np.round(scores)  # ties
    for start in (0.0, 5.0, -300.0):
        b = OURS[loss].best_intercept(y, c, scores, start)
        assert np.isfinite(b)
        total = OURS[loss].total(y, c, scores, b)
        assert total <= searched_minimum(loss, y, c, scores) * (1 + 1e-10) + 1e-12


@pytest.mark.parametrize("kind", ["even", "sorted", "uneven", "ties", "few positive", "one heavy"])
def test_best_hinge_intercept_of_many(kind: str) -> None:
    """A sample brackets the quantile, rightly or not; the answer is that of a sort."""
    random = np.random.default_rng(7)
    n = 50_000
    y = np.where(random.random(n) < (0.001 if kind == "few positive" else 0.4), 1.0, -1.0)
    c, scores = np.ones(n), random.normal(size=n)
    if kind == "sorted":
        order = np.argsort(y - scores)
        y, scores = y[order], scores[order]
    elif kind == "uneven":
        c = random.exponential(size=n) ** 4 * (random.random(n) < 0.7)
    elif kind == "ties":
        scores = np.round(scores)
    elif kind == "one heavy":
        c[random.integers(n)] = 1e6  # between the rows that are sampled
    places = y - scores
    order = np.argsort(places, kind="stable")
    level = c[y > 0].sum()
    expected = places[order][np.searchsorted(np.cumsum(c[order]), level * (1.0 - 1e-12))]
    loss = OURS["hinge"]
    got = loss.best_intercept(y, c, scores, 0.0)
    assert loss.total(y, c, scores, got) == pytest.approx(
        loss.total(y, c, scores, expected), rel=1e-12
    )
    if kind != "ties":
        assert got == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("ratio", [1e-8, 1.0, 1e8])
def test_best_intercept_of_unequal_classes(loss: str, ratio: float) -> None:
    """All scores zero: the answer is known in closed form."""
    y, c = np.array([1.0, -1.0]), np.array([ratio, 1.0])
    b = OURS[loss].best_intercept(y, c, np.zeros(2), 0.0)
    if loss == "logistic":
        assert b == pytest.approx(np.log(ratio), abs=1e-9)
    elif loss == "squared_hinge":
        assert b == pytest.approx((ratio - 1.0) / (ratio + 1.0), abs=1e-12)
    else:
        assert -1.0 <= b <= 1.0
        assert ratio == 1.0 or b == np.sign(ratio - 1.0)


def test_lengths_are_checked() -> None:
    with pytest.raises(ValueError, match="cost has length 2, expected 3"):
        core.loss_sum("hinge", np.ones(3), np.ones(2), np.ones(3), 0.0)
    with pytest.raises(ValueError, match="unknown loss 'huber'"):
        core.loss_sum("huber", np.ones(3), np.ones(3), np.ones(3), 0.0)
    with pytest.raises(ValueError, match="loss 'hinge' has no second derivative"):
        core.derivatives_along("hinge", ONE, ONE, ONE, 0.0, ONE, 0.0, 1.0)


@pytest.mark.parametrize("name", SMOOTH)
def test_linearised_move(name: str) -> None:
    random = np.random.default_rng(6)
    n, b, slope_b, step = 200, 0.3, -0.2, 0.7
    y, cost = np.where(random.random(n) < 0.5, 1.0, -1.0), random.uniform(0.1, 3.0, n)
    before, direction = random.normal(size=n), random.normal(size=n)
    scores, slopes = before.copy(), direction.copy()
    core.linearised_move(name, y, cost, scores, b, slopes, slope_b, step)
    margins = y * (before + b)
    alpha, bend = alpha_at(name, margins, cost), curvature_at(name, margins, cost)
    np.testing.assert_allclose(scores, before + step * direction, rtol=1e-14)
    np.testing.assert_allclose(
        slopes, alpha - bend * y * (direction + slope_b), rtol=1e-12, atol=1e-13
    )


def test_proximal_move() -> None:
    random = np.random.default_rng(7)
    n, h, b, slope_b, step = 200, 1.5, 0.3, -0.2, 0.7
    y, cost = np.where(random.random(n) < 0.5, 1.0, -1.0), random.uniform(0.1, 3.0, n)
    center = cost * random.random(n)
    before, direction = random.normal(size=n), random.normal(size=n)
    scores, slopes = before.copy(), direction.copy()
    problem = BinaryProblem(Rows.of(np.ones((n, 1))), y, cost, OURS["hinge"], True)
    problem.core.proximal_move(center, h, scores, b, slopes, slope_b, step)
    free = center + (1.0 - y * (before + b)) * cost / h
    inside = (free > 0.0) & (free < cost)
    assert inside.any()
    assert not inside.all()
    change = np.where(inside, cost / h * y * (direction + slope_b), 0.0)
    np.testing.assert_allclose(scores, before + step * direction, rtol=1e-14)
    expected = np.clip(np.clip(free, 0.0, cost) - change, 0.0, cost)
    np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-13)


@given(share=st.floats(1e-300, 0.5), c=st.floats(1e-6, 1e6), upper=st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_entropy_loses_no_digits_near_its_ends(share: float, c: float, upper: bool) -> None:
    """Far below c the term is of the order of α: nothing of the order of c may be rounded."""
    low = share * c
    alpha = c - low if upper else low
    low = min(alpha, c - alpha)
    expected = -(low * np.log(low / c) + (c - low) * np.log1p(-low / c)) if low > 0.0 else 0.0
    found = OURS["logistic"].dual_total(np.array([alpha]), np.array([c]))
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-290)


def test_what_a_loss_says_about_itself_is_true(loss: str) -> None:
    traits = OURS[loss]
    m = np.linspace(-3.0, 3.0, 61)
    assert traits.slope_at_zero == alpha_at(loss, np.zeros(1), ONE)[0]
    assert traits.bounded == (alpha_at(loss, np.array([-50.0]), ONE)[0] <= 1.0)
    assert traits.sparse == (alpha_at(loss, np.array([2.0]), ONE)[0] == 0.0)
    assert traits.smooth == (loss in SMOOTH)
    alpha, q = np.linspace(0.0, 0.9, 10), traits.dual_quadratic
    terms = dual_term(loss, alpha, np.ones(10))
    assert (q is not None) == np.allclose(np.diff(terms, 3), 0.0, atol=1e-12)
    if q is not None:
        np.testing.assert_allclose(terms, alpha - 0.5 * q * alpha**2)
    if traits.smooth:
        levels = np.unique(curvature_at(loss, m, np.ones_like(m)))
        assert (traits.curvature_level is not None) == (levels.size == 2)
        assert traits.curvature_level in (None, levels[-1])
        # The most that α can change for a change of the margin.
        assert traits.stiffness == pytest.approx(levels[-1])
    else:
        assert traits.curvature_level is None


def test_unknown_losses_have_no_description() -> None:
    with pytest.raises(ValueError, match="unknown loss 'huber'"):
        core.loss_traits("huber")
