"""Projection onto { 0 ≤ a ≤ upper, Σ sign a = 0 }, by what defines it and by a generic solver."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.instruction_sets import core


def project(a: np.ndarray, sign: np.ndarray, upper: np.ndarray) -> np.ndarray:
    out = a.copy()
    core.project_box_equality(out, sign, upper)
    return out


def problem(seed: int, n: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 200)) if n is None else n
    sign = np.append([1.0, -1.0], random.choice([-1.0, 1.0], p=[0.3, 0.7], size=n - 2))
    upper = random.choice([0.0, 0.5, 1.0, 3.0, np.inf], size=n)
    upper[:2] = 1.0
    scale = 10.0 ** random.integers(-3, 4)
    return scale * random.normal(size=n), sign, scale * upper


def check_optimal(a: np.ndarray, sign: np.ndarray, upper: np.ndarray, p: np.ndarray) -> None:
    """Feasible, and a − p = θ sign on what is free, beyond it on what is clipped (KKT)."""
    assert (p >= 0.0).all()
    assert (p <= upper).all()
    assert abs(float(p @ sign)) <= 1e-13 * max(float(p.sum()), 1e-300)
    size = np.abs(a).max() + 1.0
    pull = (a - p) * sign  # θ on free coordinates
    free = (p > 0.0) & (p < upper)
    at_zero, at_upper = (p == 0.0) & (upper > 0.0), (p == upper) & (upper > 0.0)
    # at 0: a − θ sign ≤ 0; at the upper bound: a − θ sign ≥ upper
    above = np.concatenate([pull[at_zero & (sign > 0)], pull[at_upper & (sign < 0)]])
    below = np.concatenate([pull[at_zero & (sign < 0)], pull[at_upper & (sign > 0)]])
    low = max(np.max(above, initial=-np.inf), np.max(pull[free], initial=-np.inf))
    high = min(np.min(below, initial=np.inf), np.min(pull[free], initial=np.inf))
    if not free.any():
        # θ ≥ every `above` and ≤ every `below`: some θ must exist.
        assert low <= high + 1e-12 * size
        return
    theta = float(np.median(pull[free]))
    assert np.ptp(pull[free]) <= 1e-12 * size
    assert (above <= theta + 1e-12 * size).all()
    assert (below >= theta - 1e-12 * size).all()


@pytest.mark.parametrize("seed", range(200))
def test_optimality_conditions(seed: int) -> None:
    a, sign, upper = problem(seed)
    check_optimal(a, sign, upper, project(a, sign, upper))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bounded", [True, False])
def test_many_coordinates_do_not_depend_on_the_threads(seed: int, bounded: bool) -> None:
    a, sign, upper = problem(seed, 100_000)  # some chunks, the last one shorter
    most = upper if bounded else np.full_like(upper, np.inf)
    one = project(a, sign, most)
    check_optimal(a, sign, most, one)
    for threads in (2, 3, 8):
        out = a.copy()
        core.project_box_equality(out, sign, upper if bounded else None, threads)
        np.testing.assert_array_equal(out, one)


@pytest.mark.parametrize("seed", range(12))
def test_against_cvxpy(seed: int) -> None:
    cp = pytest.importorskip("cvxpy")
    a, sign, upper = problem(seed, 25)
    a, upper = a / np.abs(a).max(), upper / np.abs(a).max()
    p = cp.Variable(a.size)
    finite = np.isfinite(upper)
    constraints = [p >= 0, p[finite] <= upper[finite], p @ sign == 0]
    task = cp.Problem(cp.Minimize(cp.sum_squares(p - a)), constraints)
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    np.testing.assert_allclose(project(a, sign, upper), p.value, atol=1e-6)


@pytest.mark.parametrize("seed", range(50))
def test_feasible_points_stay(seed: int) -> None:
    a, sign, upper = problem(seed)
    once = project(a, sign, upper)
    np.testing.assert_allclose(project(once, sign, upper), once, atol=1e-15 * (1 + np.abs(a).max()))


@pytest.mark.parametrize("seed", range(50))
def test_nonexpansive(seed: int) -> None:
    a, sign, upper = problem(seed)
    other = a + np.random.default_rng(seed + 1000).normal(size=a.size)
    moved = np.linalg.norm(project(a, sign, upper) - project(other, sign, upper))
    assert moved <= np.linalg.norm(a - other) * (1 + 1e-12)


def test_known_answers() -> None:
    plus = np.array([1.0, -1.0])
    ones = np.ones(2)
    np.testing.assert_allclose(project(np.array([1.0, 0.0]), plus, ones), [0.5, 0.5], rtol=1e-15)
    np.testing.assert_allclose(project(np.array([9.0, 0.2]), plus, ones), [1.0, 1.0], rtol=1e-15)
    np.testing.assert_allclose(project(np.array([-1.0, 0.5]), plus, ones), [0.0, 0.0], atol=1e-16)
    np.testing.assert_array_equal(project(np.array([3.0, 2.0]), plus, np.zeros(2)), [0.0, 0.0])
    # One sign only: zero is the only feasible point.
    np.testing.assert_allclose(project(np.array([3.0, 2.0]), ones, ones), [0.0, 0.0], atol=1e-12)
    # Three against one, with the one at its bound.
    got = project(np.array([2.0, 2.0, 2.0, 9.0]), np.array([1.0, 1, 1, -1]), np.full(4, 1.5))
    np.testing.assert_allclose(got, [0.5, 0.5, 0.5, 1.5], rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12, 1e100])
def test_scale_does_not_matter(scale: float) -> None:
    a, sign, upper = problem(3)
    expected = project(a, sign, upper) * scale
    got = project(a * scale, sign, upper * scale)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-13 * np.abs(a).max() * scale)


@pytest.mark.parametrize("height", [1e-200, 1e-6, 1.0, 16385.0, 1e9, 1e200])
def test_all_at_the_upper_bound(height: float) -> None:
    """Breakpoints that coincide: every α at its cost, as the hinge has them; costs of any size."""
    n = 1001
    sign = np.where(np.arange(n) < 300, 1.0, -1.0)
    top = np.full(n, height)
    got = project(top, sign, top)
    np.testing.assert_allclose(got[:300], height, rtol=1e-15)
    np.testing.assert_allclose(got[300:], height * 300 / 701, rtol=1e-13)
