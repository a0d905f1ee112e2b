"""Projections of numbers far from the set lost all digits; extreme arguments were misread."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.projections import project_box, project_l1_ball, project_simplex


def test_one_far_number() -> None:
    np.testing.assert_array_equal(project_simplex([1e20, 0.0]), [1.0, 0.0])
    np.testing.assert_array_equal(project_simplex([1e300, -1e300, 0.0], 2.0), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(project_l1_ball([1e20, -1.0]), [1.0, 0.0])
    np.testing.assert_array_equal(project_l1_ball([1.0, -1e20]), [0.0, -1.0])
    np.testing.assert_array_equal(project_box([1e20, 0.0], level=1.0), [1.0, 0.0])
    np.testing.assert_allclose(
        project_box([1e20, 1e20, 0.0], level=1.0, weights=[1.0, 3.0, 1.0])[:2].sum(), 1.0
    )


@pytest.mark.parametrize("far", [1e6, 1e12, -1e12])
@pytest.mark.parametrize("n", [1000, 20_000])
def test_moving_all_numbers_changes_nothing(n: int, far: float) -> None:
    # Differences of these numbers are exact; with radius 1e4 most of them stay positive.
    near = np.round(np.random.default_rng(0).normal(size=n) * 64.0) / 64.0
    x = near + far
    for radius in (1.0, 1e4):
        expected = project_simplex(near, radius)
        np.testing.assert_allclose(project_simplex(x, radius), expected, rtol=1e-11, atol=1e-11)
        assert project_simplex(x, radius).sum() == pytest.approx(radius, rel=1e-12)
        np.testing.assert_allclose(
            project_box(x, level=radius), expected, rtol=1e-9, atol=1e-9 * radius
        )
        np.testing.assert_allclose(
            project_l1_ball(np.copysign(x, near), radius),
            np.copysign(project_simplex(np.abs(x), radius), near),
            rtol=1e-11,
        )


def test_multiples_of_the_equation_and_of_the_weights() -> None:
    x, s, d = [0.9, 0.5, -2.0], np.array([1.0, -1.0, 0.5]), np.array([1.0, 2.0, 3.0])
    expected = project_box(x, upper=1.0, coefficients=s, level=0.2, weights=d)
    for scale in (1e200, 1e-200):
        got = project_box(x, upper=1.0, coefficients=scale * s, level=scale * 0.2, weights=d)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        got = project_box(x, upper=1.0, coefficients=s, level=0.2, weights=scale * d)
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_nothing_to_project() -> None:
    assert project_box([], weights=[], coefficients=[], lower=[], upper=[]).shape == (0,)
    assert project_l1_ball([]).shape == (0,)
    with pytest.raises(ValueError, match="no point of the box"):
        project_box([], level=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": np.inf}, "level must be a finite number"),
        ({"level": np.nan}, "level must be a finite number"),
        ({"lower": [np.inf, 0.0]}, "lower must be below infinity"),
        ({"lower": -np.inf, "upper": [-np.inf, 0.0]}, "upper above minus infinity"),
        ({"coefficients": [1.0, -np.inf]}, "coefficients must be finite"),
        ({"weights": [1.0, np.inf]}, "weights must be positive and finite"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        project_box([0.5, 0.2], **arguments)  # type: ignore[arg-type]


def test_infinite_numbers_that_a_bound_would_hide() -> None:
    for bad in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="x must be finite"):
            project_box([bad, 0.0], upper=1.0, level=0.5)
