"""The matrix of a Newton step: followed, made anew, or made of a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.data.rows import Rows
from widemargin.linalg.cholesky import Factor
from widemargin.linalg.conjugate_gradients import conjugate_gradients
from widemargin.methods.newton import _system
from widemargin.methods.newton._system import CurvedRows, NewtonSystem
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOGISTIC, SQUARED_HINGE


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


@pytest.mark.parametrize("free_intercept", [False, True])
def test_a_sample_makes_a_near_factor(free_intercept: bool) -> None:
    random = np.random.default_rng(4)
    X = random.standard_normal((8000, 20))
    y = np.where(random.random(8000) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.ones(8000), LOGISTIC, free_intercept)
    # A few examples have nearly all the curvature: an even draw would miss them.
    curvature = random.uniform(0.0, 1.0, 8000) ** 20
    if free_intercept:
        X = np.hstack([X, np.ones((8000, 1))])
    whole = X.T @ (curvature[:, None] * X) + np.diag([1.0] * 20 + [0.0] * free_intercept)
    system = NewtonSystem()
    system._factorise_sample(problem, curvature)
    assert system.factor is not None
    inverse = np.linalg.inv(system.factor.root().T)
    values = np.linalg.eigvalsh(inverse.T @ whole @ inverse)
    assert 0.6 < values[0] < values[-1] < 1.7
    assert np.ptp(values) > 0.05  # it is a sample, not the whole


def test_no_sample_of_few_examples() -> None:
    _, problem = problem_of(False, False)
    system = NewtonSystem()
    system._factorise_sample(problem, problem.cost)
    assert system.factor is None


def decreases(system: NewtonSystem, X: Any, cost: float) -> tuple[float, float]:
    """Return what the quadratic model falls by along the direction found, and at its minimum."""
    random = np.random.default_rng(6)
    count, weights = X.shape
    y = np.where(random.random(count) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(count, cost), LOGISTIC, False)
    curvature, gradient = 0.25 * problem.cost, random.standard_normal(weights)
    found, _ = system.direction(problem, curvature, gradient, 0.0, 1e-14)
    matrix = np.eye(weights) + 0.25 * cost * (X.T @ X).toarray()
    best = gradient @ np.linalg.solve(matrix, gradient)
    return -2.0 * (gradient @ found) - found @ matrix @ found, best


def test_cheap_products_spare_the_factor() -> None:
    random = np.random.default_rng(5)
    X = sp.csr_matrix(sp.random(900, 600, density=3 / 600, format="csr", random_state=random))
    system = NewtonSystem()
    found, best = decreases(system, X, 1.0)
    assert 0.95 * best <= found <= best * (1.0 + 1e-12)
    assert system.by_diagonal
    assert system.factor is None


def test_products_that_do_not_suffice_are_not_tried_again() -> None:
    """On a chain news travel one link a product: 600 of them cost more than a factor."""
    X = sp.csr_matrix(sp.eye(599, 600) - sp.eye(599, 600, k=1))
    system = NewtonSystem()
    found, best = decreases(system, X, 1e4)
    assert found < 0.95 * best
    assert not system.by_diagonal
    found, best = decreases(system, X, 1e4)
    assert found == pytest.approx(best, rel=1e-6)
    assert system.factor is not None


def test_dear_products_that_cut_the_gap_are_tried_again() -> None:
    system = NewtonSystem()
    for products, gap, again in (
        (3, 1.0, True),
        (7, 0.2, False),
        (7, 0.05, True),
        (10, 0.0, False),
    ):
        system.took(products, most=10)
        system.led(1.0, gap)
        assert system.by_diagonal == again
    system.took(7, most=10)
    system.led(np.inf, 1.0)  # nothing is known of the step before
    assert not system.by_diagonal


@pytest.mark.parametrize("active", [1576, 363])
def test_products_cost_no_more_than_the_matrix_they_replace(
    active: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fewer examples have curvature, the cheaper their matrix, and the fewer the products."""
    random = np.random.default_rng(7)
    X = random.standard_normal((1576, 424)) * np.logspace(0.0, -3.0, 424)
    y = np.where(random.random(1576) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(1576, 1e3), SQUARED_HINGE, False)
    curvature = np.where(np.arange(1576) < active, 2.0 * problem.cost, 0.0)
    far = np.eye(424, order="F")  # a factor that is of no use
    system = NewtonSystem(factor=Factor(far), by_diagonal=False)
    allowed = system._products_allowed(None, problem, curvature)
    seen: list[int] = []
    monkeypatch.setattr(_system, "conjugate_gradients", counting(seen))
    system._with_factor(problem, curvature, random.standard_normal(424), 1e-20, 2.0)
    size = problem.rows.size
    price = size.gram(active) + work.factor(424)
    assert allowed * size.gradient_step() <= price
    assert sum(seen) == (allowed if allowed >= MACHINE.fewest_products else 0)
    assert (allowed >= MACHINE.fewest_products) == (active == 1576)


def counting(seen: list[int]) -> Any:
    """Return conjugate gradients that note how many products they made."""

    def counted(*args: Any) -> Any:
        found = conjugate_gradients(*args)
        seen.append(found[2])
        return found

    return counted
