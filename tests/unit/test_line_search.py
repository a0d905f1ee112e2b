"""The line search of the second-order methods."""

from __future__ import annotations

import pytest

from widemargin.methods.newton._line_search import line_search


@pytest.mark.parametrize("kink", [0.3, 0.02, 1e-4, 1e-6])
def test_a_steep_slope_next_to_zero_is_found_soon(kink: float) -> None:
    """The slope jumps from -1 to 20 at a short step and is flat behind it."""
    seen: list[float] = []

    def derivatives(t: float) -> tuple[float, float]:
        seen.append(t)
        if t < kink:
            return 21.0 * t / kink - 1.0, 21.0 / kink
        return 20.0, 0.0

    step = line_search(derivatives, (0.0, 0.0), -1.0)
    assert step == pytest.approx(kink / 21.0, rel=0.15)
    assert len(seen) <= 9  # halving takes up to 25


@pytest.mark.parametrize("jump", [20.0, 1000.0])
@pytest.mark.parametrize("kink", [0.9, 0.5, 0.3, 0.01])
def test_a_slope_that_jumps_behind_a_flat_one(kink: float, jump: float) -> None:
    """A secant alone creeps along the flat side: 40 evaluations, and a slope still near -1."""
    seen: list[float] = []

    def derivatives(t: float) -> tuple[float, float]:
        seen.append(t)
        share = min(max((t - kink) / 1e-3, 0.0), 1.0)
        return -1.0 + (jump + 1.0) * share, (jump + 1.0) / 1e-3 if 0.0 < share < 1.0 else 0.0

    step = line_search(derivatives, (0.0, 1e-6), -1.0)
    assert abs(derivatives(step)[0]) <= 0.2
    assert len(seen) <= 25


def test_a_slope_that_is_no_number_leaves_a_finite_step() -> None:
    step = line_search(lambda t: (5.0 if t == 1.0 else float("nan"), 0.0), (0.0, 0.0), -1.0)
    assert 0.0 <= step <= 1.0


def test_a_slope_that_never_rises_takes_longer_steps() -> None:
    step = line_search(lambda t: (t - 50.0, 0.0), (0.0, 0.0), -50.0)
    assert abs(step - 50.0) <= 5.0
