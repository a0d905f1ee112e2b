"""Decisions of searches over C, without a fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from widemargin.auto.machine import MACHINE
from widemargin.auto.search import SearchShape, accuracy, engine, reads_weights
from widemargin.data.work import Size

TABLE = SearchShape(Size(600, 30, 18_000), 5, 3, lanes=True, free_intercept=False)
TEXT = SearchShape(Size(1_684, 20_000, 250_000), 5, 5, lanes=True, free_intercept=False)


@pytest.mark.parametrize(
    ("shape", "solver", "expected"),
    [
        (TABLE, "auto", "fold_lanes"),
        (replace(TABLE, free_intercept=True), "auto", "fold_lanes"),
        (replace(TABLE, certified=True), "auto", "fold_lanes"),
        (TABLE, "newton", "fold_lanes"),
        (TABLE, "dual_cd", "class_lanes"),
        (replace(TABLE, lanes=False), "auto", "separate"),
        (replace(TABLE, lanes=False, joint=True), "auto", "separate"),
        (replace(TABLE, joint=True), "auto", "separate"),
        (TABLE, "bmrm_qp", "separate"),
        (TEXT, "auto", "class_lanes"),
        (TEXT, "newton", "fold_lanes"),
        (replace(TEXT, free_intercept=True), "auto", "separate"),
        (replace(TEXT, lanes=False), "dual_cd", "separate"),
        (replace(TEXT, certified=True), "auto", "separate"),
        (replace(TEXT, lines=1), "auto", "separate"),
        (replace(TEXT, lines=2), "auto", "separate"),
        (replace(TEXT, lines=3), "auto", "class_lanes"),
    ],
)
def test_engine(shape: SearchShape, solver: str, expected: str) -> None:
    assert engine(shape, solver).method == expected


def test_lanes_have_to_fit_into_memory() -> None:
    weights = MACHINE.most_matrices // 25
    largest = replace(TEXT, size=Size(2_000, weights, 250_000))
    assert engine(largest, "auto").method == "class_lanes"
    assert engine(replace(largest, lines=6), "auto").method == "separate"


def test_an_engine_has_a_cause() -> None:
    assert str(engine(TABLE, "auto")) == "fold_lanes (5 folds share one Newton step)"
    assert "classes" in engine(TEXT, "auto").cause
    assert "one by one" in engine(TEXT, "bmrm_qp").cause


def test_small_problems_are_solved_exactly() -> None:
    assert accuracy(TABLE, 1e-2).tol == 1e-7
    assert accuracy(TABLE, 1e-2).coarse_tol is None
    assert accuracy(TABLE, 1e-8).tol == pytest.approx(1e-9)
    assert accuracy(replace(TABLE, joint=True), 1e-2).tol == pytest.approx(1e-3)


def test_a_C_out_of_the_question_is_solved_coarsely() -> None:
    found = accuracy(TEXT, 1e-2)
    assert found.tol == pytest.approx(1e-3)
    assert found.coarse_tol == pytest.approx(0.1)
    assert found.slack == pytest.approx(0.002 + 5 / 1_684)
    assert accuracy(TEXT, 0.2).coarse_tol == 0.5


@pytest.mark.parametrize("shape", [replace(TEXT, counted=False), replace(TEXT, certified=True)])
def test_every_C_counts_where_scores_do_not_count_errors(shape: SearchShape) -> None:
    assert accuracy(shape, 1e-2).coarse_tol is None
    assert accuracy(shape, 1e-2).tol == pytest.approx(1e-3)


def test_sweeps_start_from_dual_variables() -> None:
    assert not reads_weights("dual_cd")
    assert reads_weights("newton")
    assert reads_weights("proximal_newton")
