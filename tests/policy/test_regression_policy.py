"""Decisions about regression that differ from those about two classes, without a fit."""

from __future__ import annotations

import pytest

from policy_shapes import shape
from widemargin.auto.binary import BinaryPolicy
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
    assert RegressionPolicy().expected(hinge) > 2.0 * BinaryPolicy().expected(hinge)
    assert RegressionPolicy().expected(squared) == BinaryPolicy().expected(squared)
