"""Decisions that a look at the spectrum of a few rows changes."""

from __future__ import annotations

import numpy as np
import pytest

from policy_shapes import shape
from widemargin.auto import prices
from widemargin.auto.binary import BinaryPolicy
from widemargin.data.training_set import TrainingSet
from widemargin.linalg.spectrum import Spectrum
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES

POLICY = BinaryPolicy()
NOTHING_LEADS = Spectrum(leading=0.0, largest=2.0, second=2.0)
CENTRED = Spectrum(leading=0.8, largest=2.0, second=2.0, spread=0.2)
ALL_ALIKE = Spectrum(leading=0.99, largest=990.0, second=0.1)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("stiffness", [0.01, 0.1])
@pytest.mark.parametrize("spectrum", [NOTHING_LEADS, CENTRED])
def test_a_step_or_two_where_the_largest_eigenvalue_is_small(
    loss: str, stiffness: float, spectrum: Spectrum
) -> None:
    known = shape(1_000, 4_000, loss, stiffness=stiffness, spectrum=spectrum)
    assert POLICY.first(known, "").method == "quasi_newton"
    assert prices.quasi_newton(known).price < 4.0 * known.size.quasi_newton_step()


def test_what_follows_the_leading_direction_of_text_is_a_guess() -> None:
    """20 newsgroups at C = 0.1: two steps are expected, four are made in the time of six sweeps."""
    text = Spectrum(leading=0.05, largest=582.0, second=6.3)
    known = shape(11_293, 73_686, "logistic", per_row=134, stiffness=0.025, spectrum=text)
    assert POLICY.first(known, "").method == "dual_cd"
    assert prices.quasi_newton(known).price < 0.7 * prices.expected(known)
    alike = Spectrum(leading=0.9, largest=10_164.0, second=6.3)
    led = shape(11_293, 73_686, "logistic", per_row=134, stiffness=0.025, spectrum=alike)
    assert POLICY.first(led, "").method == "quasi_newton"
    fewer = shape(11_293, 5_000, "logistic", per_row=134, stiffness=0.025, spectrum=text)
    assert POLICY.first(fewer, "").method == "quasi_newton"


def test_without_a_look_sweeps_show_it() -> None:
    assert POLICY.first(shape(1_000, 4_000, "logistic", stiffness=0.1), "").method == "dual_cd"


def test_rows_that_are_all_alike_take_more_sweeps() -> None:
    plain = shape(1_000, 4_000, "logistic", stiffness=1e4, spectrum=NOTHING_LEADS)
    alike = shape(1_000, 4_000, "logistic", stiffness=1e4, spectrum=ALL_ALIKE)
    unknown = shape(1_000, 4_000, "logistic", stiffness=1e4)
    assert prices.expected(plain) == prices.expected(unknown)
    assert prices.expected(alike) > 3.0 * prices.expected(plain)


def test_pieces_bring_back_what_a_step_took_out() -> None:
    one_leads = Spectrum(leading=0.3, largest=1_200.0, second=0.05)
    fixed = shape(4_000, 2_000, "logistic", stiffness=1.0, spectrum=one_leads)
    pieces = shape(4_000, 2_000, "squared_hinge", stiffness=1.0, spectrum=one_leads)
    assert prices.quasi_newton(fixed).price < 0.5 * prices.quasi_newton(pieces).price


def test_a_fit_that_costs_little_is_not_looked_at() -> None:
    assert not prices.worth_a_look(shape(150, 4, "logistic"))
    assert not prices.worth_a_look(shape(500, 50, "squared_hinge", stiffness=0.1))
    assert not prices.worth_a_look(shape(5_000, 5_000, "hinge"))
    assert prices.worth_a_look(shape(2_000, 3_000, "logistic"))


@pytest.mark.parametrize("free", [True, False])
def test_a_policy_looks_at_the_rows(free: bool) -> None:
    rng = np.random.default_rng(0)
    X = 3.0 + rng.normal(size=(900, 1_200))
    data = TrainingSet.of(X, rng.integers(0, 2, 900), C=1.0, fit_intercept=free)
    found = POLICY.shape_of(BinaryProblem.of(data, 1, LOSSES["logistic"]), 1e-4, False).spectrum
    assert found is not None
    assert found.leading > 0.85
    assert (found.spread < 0.2) == free
