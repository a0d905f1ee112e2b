"""Extrapolation of a rate, and when it is reason enough to hand over."""

from __future__ import annotations

import math

import pytest

from widemargin.auto import prediction
from widemargin.auto.prediction import (
    ahead,
    gives_way,
    steps_to_go,
    sweeps_to_go,
    while_sorting,
    work_ahead,
)


def test_nothing_is_known_from_three_steps() -> None:
    assert steps_to_go([1.0, 0.5, 0.25], 1e-4) == 0.0
    assert ahead([], 1e-4) == 0.0
    assert ahead([math.inf] * 5, 1e-4) == 0.0


def test_a_steady_rate_is_extrapolated() -> None:
    gaps = [0.5**k for k in range(10)]
    assert steps_to_go(gaps, 0.5**20) == pytest.approx(11.0)
    assert ahead(gaps, 0.5**20) == pytest.approx(1.1, rel=0.05)


def test_rates_begin_with_the_first_finite_gap() -> None:
    gaps = [math.inf] * 6 + [5e3, 2e2, 4e1, 1.5, 1e-2]
    assert steps_to_go(gaps, 1e-4) < 3.0
    assert ahead(gaps, 1e-4) < 0.5
    assert steps_to_go([math.inf] * 6 + [5e3], 1e-4) == 0.0


def test_steps_cost_what_the_latest_did() -> None:
    """Steps from conjugate gradients get dearer on the way."""
    gaps = [0.5**k for k in range(10)]
    even = work_ahead([float(k) for k in range(1, 11)], gaps, 0.5**20)
    assert even == pytest.approx(11.0, rel=0.05)
    dearer = work_ahead([1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 13.0, 17.0, 21.0, 25.0], gaps, 0.5**20)
    assert dearer == pytest.approx(4.0 * even)
    assert work_ahead([1.0, 2.0], [1.0, 0.5], 1e-4) == 0.0


def test_the_later_half_counts() -> None:
    """The first steps fall faster than what follows."""
    gaps = [1.0, 1e-2, 1e-3, 9e-4, 8e-4, 7e-4]
    assert steps_to_go(gaps, 1e-4) > 15


def test_slow_rates_are_seen_as_roots() -> None:
    gaps = [0.1 * (1.0 - 1e-9 * k) for k in range(8)]
    assert ahead(gaps, 1e-6) == pytest.approx(3.0 + 2.0 * math.sqrt(1000.0))
    assert steps_to_go([1.0] * 6, 1e-6) == math.inf


def test_a_dual_value_that_rises_fast_is_progress() -> None:
    """From a thousandth of the primal value to a third of it: a step or two are left."""
    gaps = [1.0, 1.0, 1.0, 0.9999, 0.999, 0.99, 0.9, 0.6]
    assert ahead(gaps, 1e-3) < 1.0
    assert ahead([5.0, 3.0, 2.0, 1.5, 1.2, 1.1, 1.05, 1.0], 1e-3) > 10.0


def test_a_dual_value_that_comes_above_zero_shows_no_rate() -> None:
    """What follows shows it: here next to nothing."""
    gaps = [math.inf] * 4 + [2e5, 1e5, 4e4, 2.0, 0.9, 0.88, 0.87, 0.86]
    assert ahead(gaps, 1e-3) > 3.0  # times the steps so far
    assert ahead([*gaps[:8], 0.9], 1e-3) == 0.0  # one gap has no rate yet
    assert ahead([*gaps[:8], 0.9, 0.2, 0.02, 2e-3], 1e-3) < 0.5


def test_a_standstill_is_no_reason_to_despair() -> None:
    """An estimate that was too low for once; nine tenths of the way are behind."""
    works = [float(k) for k in range(1, 9)]
    gaps = [0.09, 1.2e-3, 2.3e-4, 2.3e-4, 2.3e-4, 2.3e-4, 2.3e-4, 2.3e-4]
    assert steps_to_go(gaps, 1e-4) == math.inf
    assert sweeps_to_go(works, gaps, 1e-4, expected=10.0) < 30.0


def test_cheap_late_sweeps_count_for_what_they_cost() -> None:
    gaps = [0.5**k for k in range(10)]
    even = sweeps_to_go([float(k) for k in range(1, 11)], gaps, 1e-6, 20.0)
    late = sweeps_to_go([10.0 - 8.0 * 0.5**k for k in range(10)], gaps, 1e-6, 20.0)
    assert late < even
    assert sweeps_to_go([1.0, 2.0, 3.0], gaps[:3], 1e-6, 20.0) == 0.0
    assert sweeps_to_go([1.0] * 5, [math.inf] * 5, 1e-6, 20.0) == 0.0


@pytest.mark.parametrize("more", ["gap", "expected"])
def test_more_to_go_is_predicted_to_cost_more(more: str) -> None:
    works = [float(k) for k in range(1, 9)]
    gaps = [0.5**k for k in range(8)]
    slow = [0.8**k for k in range(8)] if more == "gap" else gaps
    less = sweeps_to_go(works, gaps, 1e-6, 20.0)
    assert sweeps_to_go(works, slow, 1e-6, 200.0 if more == "expected" else 20.0) > less


@pytest.mark.parametrize(
    ("spent", "to_go", "rival", "due"),
    [
        (1.0, 5.0, 10.0, False),  # predicted to win
        (0.1, 50.0, 10.0, False),  # predicted to lose, but on little evidence
        (1.0, 50.0, 10.0, True),
        (5.0, 11.0, 10.0, True),
        (1.0, 11.0, 10.0, False),
        (50.0, 9.0, 10.0, False),  # what was spent is gone, whoever goes on
    ],
)
def test_evidence_has_to_back_the_prediction(
    spent: float, to_go: float, rival: float, due: bool
) -> None:
    assert gives_way(spent, to_go, rival) is due


@pytest.mark.parametrize(
    ("misplaced", "expected"),
    [
        ([], 100.0),
        ([math.nan] * 4, 100.0),  # not known
        ([0.0] * 4, 100.0),  # nothing to put right
        ([0.3, 0.29, 0.31, 0.3], 100.0),  # half of it is noise
        ([0.3, 0.2, 0.12, 0.15], 100.0),
        ([0.3, 0.2, 0.09, 0.15], 20.0),  # once seen it counts
        ([0.3, 0.0], 20.0),
    ],
)
def test_what_was_expected_ends_where_examples_are_put_right(
    misplaced: list[float], expected: float
) -> None:
    """Twice what was spent then, unless less was expected."""
    assert while_sorting(100.0, 10.0, misplaced) == expected
    assert while_sorting(15.0, 10.0, misplaced) == 15.0


def test_gaps_that_were_refuted_again_are_raised_at_the_end_alone(monkeypatch) -> None:
    """828 x 17506: after 5,000 sweeps, all of their gaps were computed anew 188 times."""
    gaps = [0.9, 0.5, 0.5, 0.2, 0.02, 0.001]
    for proved in (0.6, 0.1, 0.01):
        expected = [max(gap, proved) for gap in gaps]
        with monkeypatch.context() as patched:
            patched.setattr(prediction, "over_dual", None)  # nothing is computed
            assert prediction.raised(gaps, proved, True) == expected
    assert prediction.raised(gaps, 0.1, False)[-1] == pytest.approx(0.1)
