"""Certificates take products that steps on sparse weights have made, and none that were guessed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import path
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.columns import SparsePrimalCD
from widemargin.methods.newton.sparse_weights import SparseProximalNewton
from widemargin.problems.losses import LOSSES
from widemargin.problems.sparse_weights import SparseProblem


def _data(dtype: type, sparse: bool, wide: bool) -> tuple:
    random = np.random.default_rng(5)
    n, d = (60, 400) if wide else (300, 90)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < (0.2 if sparse else 1.0))
    X = X.astype(dtype)
    y = np.where(X[:, :5].sum(axis=1) + 0.3 * random.normal(size=n) > 0.0, 1.0, -1.0)
    return (sp.csr_array(X) if sparse else X), y, random.uniform(0.2, 2.0, size=n)


def _fresh(problem: SparseProblem, X: object) -> SparseProblem:
    """Return the problem without anything that was computed before."""
    terms = problem.cost, problem.loss, problem.free_intercept, problem.l1_ratio
    return SparseProblem(Rows.of(X), problem.y.copy(), *terms)


def _same(one: object, other: object, rtol: float = 1e-11) -> None:
    np.testing.assert_allclose(one.primal, other.primal, rtol=rtol)
    np.testing.assert_allclose(one.dual, other.dual, rtol=rtol)


@pytest.mark.parametrize("method", [SparseProximalNewton, SparsePrimalCD])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("dtype", "sparse"), [(np.float32, False), (np.float64, True)])
@pytest.mark.parametrize(("loss", "ratio"), [("logistic", 1.0), ("squared_hinge", 0.4)])
def test_certificates_with_known_products_are_those_with_new_ones(
    loss, ratio, dtype, sparse, intercept, method
):
    X, y, weight = _data(dtype, sparse, wide=True)
    data = TrainingSet.of(X, y, C=0.5, fit_intercept=intercept, sample_weight=weight)
    problem = SparseProblem.of(data, 1, LOSSES[loss], ratio)
    state = method().start(problem, None, Settings(1e-6, 0))
    for _ in range(4):
        _same(problem.certify(state.point)[1], _fresh(problem, X).certify(state.point)[1])
        method().advance(state)
        total = problem.loss.total(problem.y, problem.cost, state.scores, state.b)
        assert state.total == pytest.approx(total, rel=1e-12)
    assert np.count_nonzero(state.w)


@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_estimated_dual_is_that_of_the_scaled_variables(loss, ratio):
    X, y, _ = _data(np.float64, sparse=False, wide=True)
    problem = SparseProblem(Rows.of(X), y, np.full(60, 0.3), LOSSES[loss], False, ratio)
    for size in (1e-3, 0.05, 0.2):
        alpha = size * np.random.default_rng(1).random(60)
        v = (alpha * y) @ X
        scale = problem._scale(np.abs(v), alpha.sum(), problem.loss.dual_total(alpha, problem.cost))
        over = np.maximum(scale * np.abs(v) - ratio, 0.0) if ratio < 1.0 else np.zeros(1)
        wanted = problem.loss.dual_total(scale * alpha, problem.cost)
        wanted -= float(over @ over) / (2.0 * (1.0 - ratio)) if ratio < 1.0 else 0.0
        assert problem.estimated_dual(alpha, v) == pytest.approx(wanted, rel=1e-12)


def test_the_combination_of_the_last_look_is_not_made_again():
    X, y, _ = _data(np.float64, sparse=True, wide=False)
    data = TrainingSet.of(X, y, C=0.5, fit_intercept=False)
    problem = SparseProblem.of(data, 1, LOSSES["logistic"], 1.0)
    state = SparseProximalNewton().start(problem, None, Settings(1e-6, 0))
    SparseProximalNewton().advance(state)
    state.better = None
    spent = []
    for which in (problem, _fresh(problem, X)):
        before = which.meter.nanoseconds
        which.certify(state.point, np.inf)
        spent.append(which.meter.nanoseconds - before)
    assert spent[0] <= spent[1] - 0.9 * problem.rows.size.product()


@pytest.mark.parametrize("intercept", [True, False])
def test_known_products_serve_no_other_rows_and_labels(intercept):
    X, y, _ = _data(np.float64, sparse=True, wide=True)
    data = TrainingSet.of(X, y, C=0.5, fit_intercept=intercept)
    problem = SparseProblem.of(data, 1, LOSSES["squared_hinge"], 1.0)
    state = SparseProximalNewton().start(problem, None, Settings(1e-6, 0))
    for _ in range(3):
        SparseProximalNewton().advance(state)
    state.columns.rows  # noqa: B018 - copied
    assert problem.last_columns.known_scores(problem.rows, state.w) is not None
    assert problem.rows.known_combination(state.alpha, problem.y) is not None
    assert problem.slopes_at_zero.any()
    opposite = replace(problem, y=-problem.y)
    doubled = problem.over(Rows.of(2.0 * X))
    for other, given in ((opposite, X), (doubled, 2.0 * X)):
        fresh = _fresh(other, given)
        _same(other.certify(state.point)[1], fresh.certify(state.point)[1])
        np.testing.assert_allclose(other.slopes_at_zero, fresh.slopes_at_zero, atol=1e-12)
        again = SparseProximalNewton().start(other, state.point, Settings(1e-6, 0))
        SparseProximalNewton().advance(again)
        _same(other.certify(again.point)[1], fresh.certify(again.point)[1])


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("dtype", "sparse"), [(np.float32, True), (np.float64, False)])
@pytest.mark.parametrize(("loss", "ratio"), [("logistic", 1.0), ("squared_hinge", 0.7)])
def test_certificates_on_a_path_have_nothing_of_its_guesses(
    loss, ratio, dtype, sparse, intercept, wide
):
    X, y, weight = _data(dtype, sparse, wide)
    settings = {"loss": loss, "l1_ratio": ratio, "fit_intercept": intercept}
    over = path(X, y, 20, tol=1e-4, sample_weight=weight, **settings)
    assert over.converged
    for C, (solution,) in zip(over.Cs, over.solutions, strict=True):
        data = TrainingSet.of(X, y, C=C, fit_intercept=intercept, sample_weight=weight)
        problem = SparseProblem.of(data, 1, LOSSES[loss], ratio)
        certificate = _fresh(problem, X).certify(solution.point)[1]
        # The dual variables of the solution are feasible: scaling them again may cost a little.
        _same(solution.certificate, certificate, 1e-9)
