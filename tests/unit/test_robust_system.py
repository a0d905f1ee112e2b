"""The linear system of the robust interior point: conjugate gradients against the factor."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from robust_oracle import make_robust
from widemargin import RobustSVC
from widemargin.auto.machine import MACHINE
from widemargin.data.rows import Rows
from widemargin.methods.interior import robust as robust_interior_point
from widemargin.methods.interior._norm_cones import CONES, RoundCone
from widemargin.methods.interior._robust_preconditioner import HeaviestRows
from widemargin.methods.interior._robust_system import FactorisedSystem, IterativeSystem
from widemargin.problems.robust import RobustProblem

NORMS = (1.0, 2.0, np.inf)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("corner", [0.0, 0.7])
def test_products_and_solutions_of_the_constraint(norm: float, corner: float) -> None:
    """Both agree with the block that is added to a matrix."""
    random = np.random.default_rng(2)
    w, x = random.normal(size=6), random.normal(size=7)
    price = 1.3 * float(np.linalg.norm(w, norm))
    cone = CONES[norm](w, price, 0.3)
    cone.prepare(w, price)
    block = np.zeros((7, 7))
    cone.add_to(block, 6)
    product, of_price = cone.product(x[:6], float(x[6]))
    np.testing.assert_allclose(np.append(product, of_price), block @ x, rtol=1e-12)
    diagonal = random.uniform(0.1, 1.0, size=6)
    solution = np.append(*cone.solve_with(diagonal, corner, x[:6], float(x[6])))
    block += np.diag(np.append(diagonal, corner))
    np.testing.assert_allclose(block @ solution, x, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_conjugate_gradients_solve_the_same_system(norm: float) -> None:
    random = np.random.default_rng(4)
    for label_cost, l2, intercept in itertools.product((1.0, np.inf), (0.0, 0.5), (False, True)):
        oracle = make_robust((40, 6), label_cost=label_cost, norm=norm)
        problem = RobustProblem(
            Rows.of(oracle.X), oracle.y, oracle.p, 0.1, label_cost, norm, l2, intercept
        )
        # Coefficients as the path has them: κ² h₂ (h₁ + h₃)/H and so on.
        h = random.uniform(0.1, 1.0, size=(3, 40))
        h[1] = h[1] if problem.flips else 0.0
        total = h.sum(axis=0)
        curvature = (4.0 * h[0] * h[1] + (h[0] + h[1]) * h[2]) / total
        mixed = -h[1] * (2.0 * h[0] + h[2]) / total
        corner = float((h[1] * (h[0] + h[2]) / total).sum())
        w = random.normal(size=6)
        price = 1.5 * float(np.linalg.norm(w, norm))
        cone = CONES[norm](w, price, 0.1)
        cone.prepare(w, price)
        right = random.normal(size=8)
        exact = FactorisedSystem(problem, curvature, mixed, corner, cone).solve(right)
        for hard in (False, True):
            system = IterativeSystem(problem, curvature, mixed, corner, cone, 0.0, hard)
            near = system.solve(right)
            np.testing.assert_allclose(near, exact, rtol=1e-3, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_heaviest_rows_are_solved_exactly(l2: float, intercept: bool) -> None:
    """The preconditioner is the inverse of the constraint's block and the heaviest rows."""
    random = np.random.default_rng(5)
    oracle = make_robust((30, 50), norm=2.0)
    problem = RobustProblem(Rows.of(oracle.X), oracle.y, oracle.p, 0.1, 1.0, 2.0, l2, intercept)
    curvature = np.where(np.arange(30) < 8, random.uniform(10.0, 1000.0, size=30), 1e-9)
    w = random.normal(size=50)
    cone = CONES[2.0](w, 1.2 * float(np.linalg.norm(w)), 0.1)
    cone.prepare(w, 1.2 * float(np.linalg.norm(w)))
    assert isinstance(cone, RoundCone)
    heaviest = HeaviestRows(problem, curvature, 0.3, cone)
    assert heaviest.usable
    assert heaviest.root.size == 8
    matrix = np.zeros((52, 52))
    cone.add_to(matrix, 51)
    matrix[51, 51] += 0.3
    matrix[:50, :50] += l2 * np.eye(50)
    wide = np.hstack([oracle.X[:8], np.full((8, 1), float(intercept)), np.zeros((8, 1))])
    matrix += wide.T @ (curvature[:8, None] * wide)
    matrix[50, 50] += heaviest.diagonal_b if intercept else 1.0
    right = random.normal(size=52)
    right[50] = right[50] if intercept else 0.0
    np.testing.assert_allclose(heaviest.solve(right), np.linalg.solve(matrix, right), rtol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_many_weights(norm: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a matrix that must not be formed, the interior point proves four digits all the same."""
    monkeypatch.setattr(robust_interior_point, "MACHINE", replace(MACHINE, largest_robust=10))
    for label_cost, l2, intercept in itertools.product((1.0, np.inf), (0.0, 0.5), (False, True)):
        oracle = make_robust(
            (60, 90), norm=norm, label_cost=label_cost, l2=l2, intercept=intercept, radius=0.3
        )
        model = RobustSVC(
            0.3, label_cost=label_cost, norm=norm, l2=l2, fit_intercept=intercept, tol=1e-4
        ).fit(oracle.X, oracle.y)
        assert model.status_ == ["converged"]
        oracle.check(model, 1e-4)
