"""Extrapolation of a rate, and when it is reason enough to hand over."""

from __future__ import annotations

import math

import pytest

from widemargin.auto.prediction import ahead, is_due, steps_to_go


def test_nothing_is_known_from_three_steps() -> None:
    assert steps_to_go([1.0, 0.5, 0.25], 1e-4) == 0.0
    assert ahead([], 1e-4) == 0.0
    assert ahead([math.inf] * 5, 1e-4) == 0.0


def test_a_steady_rate_is_extrapolated() -> None:
    gaps = [0.5**k for k in range(10)]
    assert steps_to_go(gaps, 0.5**20) == pytest.approx(11.0)
    assert ahead(gaps, 0.5**20) == pytest.approx(1.1)


def test_the_later_half_counts() -> None:
    """The first steps fall faster than what follows."""
    gaps = [1.0, 1e-2, 1e-3, 9e-4, 8e-4, 7e-4]
    assert steps_to_go(gaps, 1e-4) > 15


def test_slow_rates_are_seen_as_roots() -> None:
    gaps = [1.0 - 1e-9 * k for k in range(8)]
    assert ahead(gaps, 1e-6) == pytest.approx(3.0 + 2.0 * math.sqrt(1000.0))
    assert steps_to_go([1.0] * 6, 1e-6) == math.inf


@pytest.mark.parametrize(
    ("spent", "to_go", "rival", "due"),
    [
        (1.0, 5.0, 10.0, False),  # predicted to win
        (1.0, 50.0, 10.0, False),  # predicted to lose, but on little evidence
        (1.0, 100.0, 10.0, True),  # as far off as the rival is from what was spent
        (5.0, 21.0, 10.0, True),  # twice as much, on half as much
        (4.0, 21.0, 10.0, False),
        (50.0, 19.0, 10.0, False),  # a change has its price, too
    ],
)
def test_evidence_has_to_back_the_prediction(
    spent: float, to_go: float, rival: float, due: bool
) -> None:
    assert is_due(spent, to_go, rival) is due
