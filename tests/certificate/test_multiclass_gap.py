"""gap ≤ tol for all classes at once, recomputed from coef_, intercept_, dual_coef_ and the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracle import INTERCEPTS, LAYOUTS, layout
from oracle_multiclass import RULES, MulticlassOracle, make_classes
from widemargin import LinearSVC
from widemargin.auto.registry import solvers_for
from widemargin.data.rows import Rows
from widemargin.problems.certificate import Point
from widemargin.problems.compressed_duals import CompressedDuals, residual_of, without_residual
from widemargin.problems.multiclass import MulticlassProblem

SOLVERS = [
    ("proximal_newton", "weston_watkins"),
    ("proximal_newton", "crammer_singer"),
    ("block_dual_cd", "weston_watkins"),
    ("block_dual_cd", "crammer_singer"),
    ("walrus", "weston_watkins"),
    ("walrus", "crammer_singer"),
    ("shark", "weston_watkins"),
]


def test_every_solver_is_tested() -> None:
    """The Frank-Wolfe methods and Pragam have tests of their own in `test_frank_wolfe.py`."""
    names = {name for name in solvers_for(MulticlassProblem) if not name.endswith("frank_wolfe")}
    assert names - {"auto", "pragam"} == {solver for solver, _ in SOLVERS}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(rule: str, intercept: bool | str, name: str) -> None:
    X, y = make_classes(density=0.6)
    model = LinearSVC(
        "hinge", C=0.5, multi_class=rule, fit_intercept=intercept, tol=1e-4, max_iter=20_000
    ).fit(layout(X, name), y)
    MulticlassOracle(X, y, np.full(y.size, 0.5), rule, intercept).check(model, 1e-4)


@pytest.mark.parametrize(("solver", "rule"), SOLVERS)
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_solvers(solver: str, rule: str, C: float, intercept: bool | str) -> None:
    X, y = make_classes(80, 10, 5, seed=2)
    model = LinearSVC(
        "hinge",
        C=C,
        multi_class=rule,
        solver=solver,
        fit_intercept=intercept,
        tol=1e-3,
        max_iter=50_000,
    ).fit(X, y)
    assert model.solver_ == solver
    assert model.status_ == ["converged"]
    MulticlassOracle(X, y, np.full(y.size, C), rule, intercept).check(model, 1e-3)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [2, 3, 31, 33, 70, 130])
def test_numbers_of_classes(rule: str, k: int) -> None:
    """Below and above the widths at which the loops over classes change."""
    X, y = make_classes(6 * k, 8, k, seed=k)
    model = LinearSVC("hinge", multi_class=rule, tol=1e-3, max_iter=20_000).fit(X, y)
    MulticlassOracle(X, y, np.ones(y.size), rule).check(model, 1e-3)


def problem(rule: str, free_intercept: bool) -> MulticlassProblem:
    X, y = make_classes(60, 5, 4, seed=9)
    return MulticlassProblem(Rows.of(X), y.astype(np.int32), np.ones(60), 4, rule, free_intercept)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("free_intercept", [False, True])
def test_any_point_gets_a_valid_certificate(rule: str, free_intercept: bool) -> None:
    """D of any point, made feasible, stays below P of every other."""
    random = np.random.default_rng(4)
    this = problem(rule, free_intercept)
    primals, duals = [], []
    for _ in range(30):
        w = random.normal(size=(4, 5)) * 10.0 ** random.integers(-2, 2)
        beta = sp.csr_array(random.exponential(size=(60, 4)) * (random.random((60, 4)) < 0.5))
        b = random.normal(size=4) if free_intercept else np.zeros(4)
        point, certificate = this.certify(Point(w, b, beta))
        again = this.certify(point)[1]
        assert again.primal == pytest.approx(certificate.primal, rel=1e-12)
        assert again.dual == pytest.approx(certificate.dual, rel=1e-9, abs=1e-9)
        primals.append(certificate.primal)
        duals.append(certificate.dual)
    assert max(duals) <= min(primals)


def test_residual_is_carried_away() -> None:
    random = np.random.default_rng(8)
    label = random.integers(5, size=300).astype(np.int32)
    dense = random.exponential(size=(300, 5)) * (random.random((300, 5)) < 0.6)
    dense[np.arange(300), label] = 0.0
    beta = CompressedDuals.of(dense)
    before = beta.values.copy()
    assert np.abs(residual_of(beta, label, 5)).sum() > 1.0
    left = without_residual(beta, label, 5)
    assert np.abs(left).sum() <= 1e-12 * beta.values.sum()
    assert (beta.values <= before).all()
    assert (beta.values >= 0.0).all()
