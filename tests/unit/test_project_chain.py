"""Projection onto the marginals of a chain, against Clarabel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from widemargin.projections import project_chain, project_simplex


def judged(cases: int, seed: int) -> float:
    """Return the largest difference from Clarabel's answers."""
    cp = pytest.importorskip("cvxpy")
    random = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(cases):
        edges, k = random.integers(1, 6), random.integers(1, 6)
        m = random.normal(size=(edges, k, k)) * random.choice([0.1, 1.0, 5.0])
        d = random.uniform(0.5, 2.0, edges)
        tables = [cp.Variable((k, k), nonneg=True) for _ in range(edges)]
        rules = [cp.sum(table) == 1 for table in tables]
        rules += [cp.sum(a, axis=0) == cp.sum(b, axis=1) for a, b in itertools.pairwise(tables)]
        distance = sum(d[t] ** 2 * cp.sum_squares(tables[t] - m[t]) for t in range(edges))
        problem = cp.Problem(cp.Minimize(distance), rules)
        for tol in (1e-13, 1e-12, 1e-11, 1e-10):  # the smallest that Clarabel reaches
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            if problem.status == cp.OPTIMAL:
                break
        else:
            raise AssertionError("Clarabel has no answer")
        expected = np.array([table.value for table in tables])
        worst = max(worst, float(np.abs(project_chain(m, d) - expected).max()))
    return worst


def test_against_clarabel() -> None:
    assert judged(20, 1) <= 1e-7


@pytest.mark.slow
def test_a_thousand_cases_against_clarabel() -> None:
    assert judged(1000, 2) <= 1e-7


def test_laws() -> None:
    random = np.random.default_rng(0)
    m = random.normal(size=(12, 4, 4))
    alpha = project_chain(m)
    assert alpha.min() >= 0.0
    assert alpha.sum(axis=(1, 2)) == pytest.approx(np.ones(12), abs=1e-10)
    assert alpha[:-1].sum(axis=1) == pytest.approx(alpha[1:].sum(axis=2), abs=1e-10)
    assert project_chain(alpha) == pytest.approx(alpha, abs=1e-10)
    single = project_simplex(m[0].ravel()).reshape(4, 4)
    assert project_chain(m[:1])[0] == pytest.approx(single, abs=1e-12)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="edges, k, k"):
        project_chain(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="finite"):
        project_chain(np.full((1, 2, 2), np.nan))
    with pytest.raises(ValueError, match="2 positive numbers"):
        project_chain(np.zeros((2, 2, 2)), [1.0, -1.0])


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_optimality_at_any_scale(scale: float) -> None:
    """α is the projection if and only if no labeling is better along m − α than α itself."""
    random = np.random.default_rng(3)
    for edges, k in ((1, 4), (3, 3), (6, 3)):
        m = scale * random.normal(size=(edges, k, k))
        alpha = project_chain(m)
        direction = m - alpha
        assert alpha.sum(axis=(1, 2)) == pytest.approx(np.ones(edges), abs=1e-12 * scale)
        best = max(
            sum(direction[t, a, b] for t, (a, b) in enumerate(itertools.pairwise(path)))
            for path in itertools.product(range(k), repeat=edges + 1)
        )
        assert best - float(np.vdot(direction, alpha)) <= 1e-9 * scale
