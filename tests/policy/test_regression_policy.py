"""Decisions about regression that differ from those about two classes, without a fit."""

from __future__ import annotations

import numpy as np
import pytest

from policy_shapes import leg, shape
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.decision import Leg
from widemargin.auto.regression import RegressionPolicy
from widemargin.data.target_set import TargetSet
from widemargin.problems.regression import RegressionProblem

# loss of two classes that has the prices of the tube, rows, weights, stiffness, who begins
BEGINNINGS = [
    ("hinge", 442, 10, 1.0, "proximal_newton"),
    ("hinge", 90, 17, 0.1, "dual_cd"),
    ("hinge", 119, 28, 100.0, "dual_cd"),
    ("hinge", 1_000, 2_000, 1.0, "dual_cd"),
    ("squared_hinge", 442, 10, 1.0, "newton"),
    ("squared_hinge", 286, 168, 65.0, "dual_cd"),
    ("squared_hinge", 60, 5_000, 10.0, "dual_cd"),
    ("squared_hinge", 50_000, 90, 10.0, "newton"),
]


@pytest.mark.parametrize(("loss", "rows", "weights", "stiffness", "begins"), BEGINNINGS)
def test_who_begins(loss: str, rows: int, weights: int, stiffness: float, begins: str) -> None:
    found = RegressionPolicy().first(shape(rows, weights, loss, stiffness=stiffness), "")
    assert found.method == begins


def test_plain_tubes_take_more_sweeps_than_hinges() -> None:
    hinge, squared = (shape(442, 10, loss) for loss in ("hinge", "squared_hinge"))
    assert RegressionPolicy().cheap(hinge) > 2.0 * BinaryPolicy().cheap(hinge)
    assert RegressionPolicy().cheap(squared) == BinaryPolicy().cheap(squared)


def test_what_a_prediction_missed_counts_for_the_plain_loss() -> None:
    """20373 x 1535: what sweeps were predicted to need stayed the same for 1900 of them."""
    for loss, raised in (("hinge", True), ("squared_hinge", False)):
        found = shape(20_000, 1_500, loss, per_row=35.0, tol=1e-6)
        slowing = Leg("dual_cd", [1e9 * (k + 1) for k in range(200)])
        slowing.gaps.extend((k + 1.0) ** -1.5 for k in range(200))
        own, others = RegressionPolicy()._to_go(found, slowing), BinaryPolicy()._to_go
        expected = others(found, slowing)
        assert (own > 1.1 * expected) == raised
        steady = leg("dual_cd", 2e8, 200, 1.0, 1e-4)
        assert RegressionPolicy()._to_go(found, steady) < 3.0 * others(found, steady)


def slow(method: str, outside: float, work: float, steps: int = 12) -> Leg:
    """Return what a method has done whose gap stays at one half, with rows outside of the tube."""
    found = Leg(method, [work * (k + 1) / steps for k in range(steps)])
    found.gaps, found.misplaced = [0.5] * steps, [outside] * steps
    return found


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_few_rows_outside_of_the_tube_let_sweeps_go_on(loss: str) -> None:
    """8715 x 24: sweeps gave way after four, and would have been the fastest by far."""
    policy, found = RegressionPolicy(), shape(8_000, 24, loss, stiffness=400.0, tol=1e-6)
    price = min(offer.price for offer in policy.offers(found))
    for outside, share, stays in ((0.02, 0.9, True), (0.5, 0.9, False), (0.02, 1.1, False)):
        decision = policy.next(found, [slow("dual_cd", outside, share * price)], "")
        assert (decision is None) == stays


def test_steps_that_end_before_they_prove_a_digit_are_followed_by_sweeps() -> None:
    """79621 x 76: interior points took six times as long as sweeps would have."""
    policy, found = RegressionPolicy(), shape(80_000, 76, "hinge", per_row=5.0, stiffness=130.0)
    for gap, method in ((0.4, "dual_cd"), (0.01, "interior_point")):
        ended = slow("proximal_newton", 0.01, 1e8)
        ended.gaps, ended.finished = [gap] * 12, True
        decision = policy.next(found, [ended], "")
        assert decision is not None
        assert decision.method == method


def test_nothing_is_to_be_sorted_where_nearly_all_rows_are_outside() -> None:
    """3813 x 1784: Newton's method took 5 steps, and sweeps were made for 1152 before it."""
    found = shape(3_800, 1_800, "squared_hinge", per_row=127.0, stiffness=6500.0, tol=1e-3)
    policy = RegressionPolicy()
    assert policy.first(found, "").method == "dual_cd"
    spent = 4.0 * policy.sweep(found)
    for outside, hands_over in ((0.97, True), (0.6, False)):
        leg = slow("dual_cd", outside, spent, 4)
        leg.gaps = [0.9992] * 4
        decision = policy.next(found, [leg], "")
        assert (decision is not None) == hands_over
        if decision is not None:
            assert decision.method == "newton"
    assert policy.least_price(found) <= min(o.price for o in policy.offers(found, leg))


def test_equal_shapes_are_one_object() -> None:
    """What is kept by shape is found by identity: comparing fields took longer than a price."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    first, second = (
        RegressionProblem.of(TargetSet.of(X, X[:, 0].copy()), "epsilon_insensitive", 0.1)
        for _ in range(2)
    )
    policy = RegressionPolicy()
    assert policy.shape_of(first, 1e-3, False) is policy.shape_of(second, 1e-3, False)
    assert policy.shape_of(first, 1e-4, False) is not policy.shape_of(second, 1e-3, False)
