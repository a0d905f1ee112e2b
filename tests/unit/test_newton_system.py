"""The matrix of a Newton step that follows the examples is the one made anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.data.rows import Rows
from widemargin.methods.newton_system import CurvedRows
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import SQUARED_HINGE


def problem_of(sparse: bool, free_intercept: bool) -> tuple[Any, BinaryProblem]:
    random = np.random.default_rng(3)
    X = random.standard_normal((40, 6)) * (random.random((40, 6)) < 0.6)
    rows = Rows.of(sp.csr_matrix(X) if sparse else X)
    cost = random.uniform(0.1, 3.0, 40)
    y = np.where(random.random(40) < 0.5, 1.0, -1.0)
    return X, BinaryProblem(rows, y, cost, SQUARED_HINGE, free_intercept)


@pytest.mark.parametrize("free_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@given(steps=st.lists(st.lists(st.booleans(), min_size=40, max_size=40), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_the_sum_follows_the_examples(
    sparse: bool, free_intercept: bool, steps: list[list[bool]]
) -> None:
    X, problem = problem_of(sparse, free_intercept)
    if free_intercept:
        X = np.hstack([X, np.ones((40, 1))])
    sums = None
    for step in steps:
        members = np.array(step)
        curvature = 2.0 * problem.cost * members
        sums = CurvedRows.following(sums, problem, curvature)
        chosen = X[members]
        expected = chosen.T @ (problem.cost[members, None] * chosen)
        np.testing.assert_allclose(sums.matrix(curvature, 2.0), expected, atol=1e-10)


def test_other_examples_start_anew() -> None:
    X, problem = problem_of(False, False)
    sums = CurvedRows.following(None, problem, problem.cost)
    sums.matrix(problem.cost, 1.0)
    part = problem.subproblem(np.arange(0, 40, 2))
    other = CurvedRows.following(sums, part, part.cost)
    chosen = X[::2]
    expected = chosen.T @ (part.cost[:, None] * chosen)
    np.testing.assert_allclose(other.matrix(part.cost, 1.0), expected, atol=1e-10)
