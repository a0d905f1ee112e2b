"""Projections and proximal steps of the robust problem, against optimality conditions and cvxpy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.projections import project_ball_hyperplane, project_epigraph, robust_prox
from widemargin.projections.robust_prox import CASES

NORMS = (1.0, 2.0, np.inf)
numbers = st.floats(-10.0, 10.0).map(lambda v: round(v, 3))
vectors = st.lists(numbers, min_size=1, max_size=12)


@given(vectors, numbers, st.sampled_from(NORMS), st.sampled_from([0.5, 1.0, 2.0]))
def test_epigraph_is_the_nearest_point(x: list[float], s: float, norm: float, aperture: float):
    """Inside, orthogonal to what was taken off, and what was taken off is in the polar cone."""
    start = np.array(x)
    y, t = project_epigraph(start, s, norm, aperture=aperture)
    size = 1.0 + np.abs(start).max() + abs(s)
    assert np.linalg.norm(y, norm) <= aperture * t + 1e-12 * size
    off, off_t = start - y, s - t
    assert abs(off @ y + off_t * t) <= 1e-10 * size**2
    dual = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[norm]
    assert np.linalg.norm(off, dual) * aperture <= -off_t + 1e-10 * size
    again, t_again = project_epigraph(y, t, norm, aperture=aperture)
    np.testing.assert_allclose(again, y, atol=1e-10 * size)
    assert t_again == pytest.approx(t, abs=1e-10 * size)


@given(vectors, numbers)
def test_moreau_links_one_and_infinity(x: list[float], s: float) -> None:
    """proj_∞(x, s) = (x, s) + proj_1(−x, −s)."""
    start = np.array(x)
    y, t = project_epigraph(start, s, np.inf)
    z, r = project_epigraph(-start, -s, 1)
    np.testing.assert_allclose(y, start + z, atol=1e-10)
    assert t == pytest.approx(s + r, abs=1e-10)


def test_epigraph_of_many_entries() -> None:
    """Ties, zeros and sorted input are no worst case."""
    for x in (np.zeros(50_000), np.ones(50_000), np.arange(50_000.0), -np.arange(50_000.0)):
        y, t = project_epigraph(x, 1.0, 1)
        assert np.abs(y).sum() <= t * (1.0 + 1e-12)


def objective(w, price, w0, price0, z, step, label_cost, l2):
    score = float(z @ w)
    loss = max(1.0 - score, 0.0)
    if np.isfinite(label_cost):
        loss = max(loss, 1.0 + score - label_cost * price)
    distance = float((w - w0) @ (w - w0)) + (price - price0) ** 2
    return loss + 0.5 * l2 * float(w @ w) + distance / (2.0 * step)


def random_step(random: np.random.Generator):
    d = int(random.integers(1, 8))
    w0 = random.normal(size=d) * 10.0 ** random.uniform(-1.0, 1.0)
    z = random.normal(size=d) * 10.0 ** random.uniform(-1.0, 0.7)
    label_cost = float(random.choice([0.5, 1.0, 3.0, np.inf], p=[0.3, 0.3, 0.3, 0.1]))
    step = 10.0 ** random.uniform(-2.0, 1.5)
    return w0, 1.0 + 2.0 * random.normal(), z, step, label_cost, float(random.choice([0.0, 0.7]))


@pytest.mark.parametrize("norm", NORMS)
def test_prox_is_optimal(norm: float) -> None:
    """2,000 random steps a norm: no point of a cloud around the answer is better, all cases occur.

    The multipliers prove it: they are feasible, and the answer is the projection they imply.
    """
    random = np.random.default_rng(7)
    seen: Counter[str] = Counter()
    for _ in range(2000):
        w0, price0, z, step, label_cost, l2 = random_step(random)
        answer = robust_prox(w0, price0, z, step, label_cost, norm, l2=l2)
        seen[answer.case] += 1
        root = np.sqrt(1.0 + step * l2)
        shift = step * (answer.keep - answer.flip) * z
        raised = label_cost * answer.flip * step if answer.flip else 0.0
        w, s = project_epigraph(
            (w0 + shift) / root**2, (price0 + raised) / root, norm, aperture=float(root)
        )
        size = 1.0 + np.abs(w0).max() + abs(price0)
        np.testing.assert_allclose(answer.w, w, atol=1e-8 * size)
        assert answer.price == pytest.approx(root * s, abs=1e-8 * size)
        # Complementarity: multipliers only on the largest piece, and on one of them in full.
        score = float(z @ answer.w)
        kept = 1.0 - score
        flipped = 1.0 + score - label_cost * answer.price if np.isfinite(label_cost) else -np.inf
        largest = max(kept, flipped, 0.0)
        assert min(answer.keep, answer.flip) >= 0.0
        assert answer.keep + answer.flip <= 1.0 + 1e-12
        matched = answer.keep * kept + (answer.flip * flipped if answer.flip else 0.0)
        assert matched == pytest.approx(largest, abs=1e-8 * (1.0 + abs(largest)))
    assert set(seen) == set(CASES), seen


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
def test_prox_against_cvxpy(norm: float) -> None:
    """2,000 random steps in all; every case of DRSVM's Table 6 at least once for each norm."""
    cp = pytest.importorskip("cvxpy")
    random = np.random.default_rng(11)
    seen: Counter[str] = Counter()
    for _ in range(667):
        w0, price0, z, step, label_cost, l2 = random_step(random)
        answer = robust_prox(w0, price0, z, step, label_cost, norm, l2=l2)
        seen[answer.case] += 1
        w, price = cp.Variable(w0.size), cp.Variable()
        loss = cp.pos(1.0 - z @ w)
        if np.isfinite(label_cost):
            loss = cp.maximum(loss, 1.0 + z @ w - label_cost * price)
        distance = 0.5 * cp.sum_squares(w - w0) + 0.5 * cp.square(price - price0)
        cost = step * loss + 0.5 * step * l2 * cp.sum_squares(w) + distance
        best = cp.Problem(cp.Minimize(cost), [cp.norm(w, norm) <= price]).solve(solver=cp.CLARABEL)
        ours = step * objective(answer.w, answer.price, w0, price0, z, step, label_cost, l2)
        assert abs(ours - best) <= 1e-6 * (1.0 + abs(best))
        assert np.linalg.norm(answer.w, norm) <= answer.price + 1e-9
    assert set(seen) == set(CASES), seen


@pytest.mark.parametrize("norm", NORMS)
def test_ball_and_hyperplane(norm: float) -> None:
    cp = pytest.importorskip("cvxpy")
    random = np.random.default_rng(5)
    for _ in range(20):
        x, z = random.normal(size=5), random.normal(size=5)
        inside = random.normal(size=5)
        inside /= np.linalg.norm(inside, norm) * random.uniform(1.0, 3.0)
        level = float(inside @ z)
        ours = project_ball_hyperplane(x, z, level, 1.0, norm)
        y = cp.Variable(5)
        cp.Problem(
            cp.Minimize(cp.sum_squares(y - x)), [z @ y == level, cp.norm(y, norm) <= 1.0]
        ).solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(ours, y.value, atol=1e-5)
    with pytest.raises(ValueError, match="does not meet"):
        project_ball_hyperplane([0.0], [1.0], 2.0, 1.0, norm)
