"""Decisions about regression that differ from those about two classes, without a fit."""

from __future__ import annotations

import pytest

from policy_shapes import leg, shape
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.decision import Leg
from widemargin.auto.regression import RegressionPolicy

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
