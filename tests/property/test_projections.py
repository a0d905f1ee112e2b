"""The public projections: against a sort, by optimality conditions, at any size and scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.projections import project_box, project_l1_ball, project_simplex

Array = np.ndarray


def sorted_simplex(x: Array, radius: float) -> Array:
    """The textbook way, by sorting."""
    falling = np.sort(x)[::-1]
    sums = np.cumsum(falling) - radius
    place = np.flatnonzero(falling - sums / np.arange(1, x.size + 1) > 0)[-1]
    return np.maximum(x - sums[place] / (place + 1), 0.0)


def sorted_box(x: Array, d: Array, s: Array, lower: Array, upper: Array, level: float) -> Array:
    """The paper's way: f at every kink in sorted order, then linear between two of them."""

    def at(theta: float) -> Array:
        return np.clip(x + theta * s / d, lower, upper)

    moving = s != 0.0
    kinks = np.concatenate(
        [((b - x) * d / np.where(moving, s, 1.0))[moving] for b in (lower, upper)]
    )
    kinks = np.sort(kinks[np.isfinite(kinks)])
    kinks = np.concatenate([[kinks[0] - 1e6], kinks, [kinks[-1] + 1e6]])
    values = np.array([s @ at(theta) - level for theta in kinks])
    place = min(max(int(np.searchsorted(values, 0.0)), 1), kinks.size - 1)
    left, right = values[place - 1], values[place]
    share = 0.5 if right == left else -left / (right - left)
    return at(kinks[place - 1] + share * (kinks[place] - kinks[place - 1]))


@given(st.integers(0, 10**6), st.integers(1, 400), st.floats(-3, 3), st.floats(-3, 3))
def test_simplex_and_ball_against_a_sort(seed: int, n: int, spread: float, size: float) -> None:
    random = np.random.default_rng(seed)
    x = 10.0**spread * random.normal(size=n) + random.normal()
    radius = 10.0**size
    tolerance = {"rtol": 1e-9, "atol": 1e-12 * (np.abs(x).max() + radius)}
    np.testing.assert_allclose(project_simplex(x, radius), sorted_simplex(x, radius), **tolerance)
    ball = project_l1_ball(x, radius)
    if np.abs(x).sum() <= radius:
        np.testing.assert_array_equal(ball, x)
    else:
        expected = np.copysign(sorted_simplex(np.abs(x), radius), x)
        np.testing.assert_allclose(ball, expected, **tolerance)


@given(st.integers(0, 10**6), st.integers(2, 300), st.floats(0.0, 1.0))
def test_box_against_a_sort(seed: int, n: int, share: float) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=n) * 10.0 ** random.integers(-2, 3)
    s = random.choice([-2.0, -1.0, 0.0, 0.3, 1.0], size=n)
    s[:2] = [1.0, -1.0]
    d = 10.0 ** random.uniform(-2, 2, size=n)
    lower, width = random.normal(size=n), random.choice([0.0, 0.5, 2.0, 50.0], size=n)
    width[:2] = 2.0
    upper = lower + width
    ends = np.minimum(s * lower, s * upper).sum(), np.maximum(s * lower, s * upper).sum()
    level = ends[0] + (0.02 + 0.96 * share) * (ends[1] - ends[0])
    got = project_box(x, lower=lower, upper=upper, coefficients=s, level=level, weights=d)
    assert (got >= lower).all()
    assert (got <= upper).all()
    scale = np.abs(s * got).sum() + abs(level)
    assert abs(s @ got - level) <= 1e-13 * scale
    expected = sorted_box(x, d, s, lower, upper, level)

    def cost(a: Array) -> float:
        return float(d @ (a - x) ** 2)

    # As near as the sorted answer, which keeps the equation less exactly.
    assert cost(got) <= cost(expected) * (1 + 1e-7) + 1e-7
    np.testing.assert_allclose(got, expected, atol=1e-6 * (1 + np.abs(x).max()), rtol=1e-6)


@pytest.mark.parametrize("n", [16_385, 100_003, 1_000_000])
@pytest.mark.parametrize("kind", ["normal", "equal", "heavy tail", "periodic", "two values"])
def test_large_boxes_by_their_optimality_conditions(n: int, kind: str) -> None:
    random = np.random.default_rng(n)
    x = {
        "normal": lambda: random.normal(size=n),
        "equal": lambda: np.full(n, 0.3),
        "heavy tail": lambda: random.standard_cauchy(size=n),
        "periodic": lambda: np.where(np.arange(n) % 64 == 0, 40.0, -0.1),
        "two values": lambda: random.choice([0.0, 1.0], size=n),
    }[kind]()
    y = np.where(random.random(n) < 0.3, 1.0, -1.0)
    a = project_box(x, upper=1.0, coefficients=y)
    assert a.min() >= 0.0
    assert a.max() <= 1.0
    assert abs(a @ y) <= 1e-11 * a.sum()
    # x − a = −θ y inside the bounds; outside, the bound is the nearest point to x + θ y
    pull = (a - x) * y
    free = (a > 0.0) & (a < 1.0)
    theta = float(np.median(pull[free])) if free.any() else 0.0
    np.testing.assert_allclose(a, np.clip(x + theta * y, 0.0, 1.0), atol=1e-11 * (1 + abs(theta)))


@pytest.mark.parametrize("radius", [1.0, 1e3, 1e7])
def test_large_simplices(radius: float) -> None:
    x = np.random.default_rng(5).normal(size=300_000)
    np.testing.assert_allclose(project_simplex(x, radius), sorted_simplex(x, radius), atol=1e-9)
    expected = np.copysign(sorted_simplex(np.abs(x), radius), x)
    if np.abs(x).sum() > radius:
        np.testing.assert_allclose(project_l1_ball(x, radius), expected, atol=1e-9)


def test_against_a_generic_solver() -> None:
    cp = pytest.importorskip("cvxpy")
    random = np.random.default_rng(2)
    for _ in range(5):
        x, s, d = random.normal(size=30), random.normal(size=30), random.uniform(0.5, 2, size=30)
        a = cp.Variable(30)
        task = cp.Problem(
            cp.Minimize(cp.sum(cp.multiply(d, (a - x) ** 2))), [a >= -1, a <= 1, s @ a == 0.7]
        )
        task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
        got = project_box(x, lower=-1.0, upper=1.0, coefficients=s, level=0.7, weights=d)
        np.testing.assert_allclose(got, a.value, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 5.0, "upper": 1.0}, "no point of the box"),
        ({"lower": 2.0, "upper": 1.0}, "lower must nowhere exceed upper"),
        ({"weights": 0.0}, "weights must be positive"),
        ({"weights": [1.0]}, r"weights must be a number or have shape \(2,\)"),
        ({"coefficients": [1.0, np.nan]}, "coefficients must not contain nan"),
        ({"coefficients": np.inf}, "coefficients must be finite"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        project_box([0.5, 0.2], **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("project", [project_box, project_simplex, project_l1_ball])
def test_numbers_that_are_none(project: object) -> None:
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="x must be finite"):
            project(np.array([0.1, bad, 0.2]))  # type: ignore[operator]
    with pytest.raises(ValueError, match="one-dimensional"):
        project(np.ones((2, 2)))  # type: ignore[operator]
