"""Decisions of ``auto`` for sparse weights, without a fit."""

from __future__ import annotations

import numpy as np
import pytest

from policy_shapes import leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.sparse_weights import MATRIX, SWEEPS, SparsePolicy, SparseShape, price
from widemargin.data.rows import Rows
from widemargin.data.work import Size
from widemargin.problems.losses import LOSSES
from widemargin.problems.sparse_weights import SparseProblem


@pytest.mark.parametrize(
    ("size", "first", "method"),
    [
        (Size(2000, 500, 1_000_000), 179, SWEEPS),  # madelon at ten times the smallest C
        (Size(1131, 84, 1131 * 84), 84, MATRIX),
        (Size(49749, 300, 579_586), 112, MATRIX),  # w8a
        (Size(60_000, 50_000, 5_000_000), 5000, SWEEPS),
        (Size(66, 1628, 30_000), 1600, SWEEPS),
    ],
)
def test_the_cheaper_method_begins(size: Size, first: int, method: str) -> None:
    assert SparsePolicy().first(SparseShape(size, first, 1e-4), "").method == method


def test_columns_in_work_are_no_more_than_the_rows_allow_with_the_1_norm_alone() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 600)), np.where(random.random(40) < 0.5, 1.0, -1.0)
    found = []
    for ratio in (1.0, 0.5):
        cost = np.full(40, 100.0)
        problem = SparseProblem(Rows.of(X), y, cost, LOSSES["logistic"], False, ratio)
        found.append(SparsePolicy().shape_of(problem, 1e-4, False).first)
    assert found[0] == 80
    assert found[1] > 500


def test_sweeps_have_no_price_by_row() -> None:
    few, many = Size(1000, 100, 10_000), Size(1_000_000, 100, 10_000)
    assert few.column_product() == many.column_product() < few.product()
    assert few.column_sweep(1.0, 0.0) < few.column_sweep(1.0, 1.0)
    assert few.column_sweep(0.0, 0.0) == MACHINE.sweep_call


def test_a_method_that_spent_much_without_an_end_is_expected_to_take_more() -> None:
    shape = SparseShape(Size(2000, 500, 1_000_000), 450, 1e-6)
    asked = price(SWEEPS, shape.size, 450, shape.tol)
    now = leg(MATRIX, 2.7 * asked, 3, 0.5, 0.4)
    now.active = 450
    policy = SparsePolicy()
    for spent, follows in ((0.1 * asked, SWEEPS), (4.0 * asked, None)):
        before = leg(SWEEPS, spent, 2, 0.9, 0.8)
        found = policy.next(shape, [before, now], "")
        assert (found.method if found else None) == follows


def test_sweeps_take_more_at_tighter_tolerances_and_matrices_do_not() -> None:
    size = Size(2000, 500, 1_000_000)
    assert price(SWEEPS, size, 200, 1e-6) > 1.3 * price(SWEEPS, size, 200, 1e-4)
    assert price(MATRIX, size, 200, 1e-6) == price(MATRIX, size, 200, 1e-4)
