"""Certificates of sparse weights hold in exact arithmetic, on nasty problems too."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nasty_problems import nasty
from widemargin import LinearSVC, LogisticRegression, verify_exactly
from widemargin.data.rows import Rows
from widemargin.problems.certificate import Point
from widemargin.problems.losses import LOSSES
from widemargin.problems.sparse_weights import SparseProblem


@pytest.mark.parametrize("solver", ["auto", "primal_cd", "proximal_newton"])
@pytest.mark.parametrize("ratio", [1.0, 0.9, 0.1])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_true_in_exact_arithmetic(loss, ratio, solver):
    """Of every nasty problem, whether or not the tolerance was reached."""
    if loss == "logistic":
        pytest.importorskip("flint")
    for seed in range(12):
        task = nasty(seed)
        settings = {"penalty": "elasticnet", "l1_ratio": ratio, "solver": solver, "C": task.C}
        settings |= {"fit_intercept": task.fit_intercept, "tol": task.tol, "max_iter": 100}
        model = LogisticRegression(**settings) if loss == "logistic" else LinearSVC(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.X, task.y, task.weight)
        assert verify_exactly(model, task.X, task.y, task.weight), (seed, model)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), ratio=st.sampled_from([1.0, 0.5, 1e-3]), free=st.booleans())
def test_no_point_proves_more_than_another_reaches(seed, ratio, free):
    """The dual value of any point is at most the primal value of any other."""
    random = np.random.default_rng(seed)
    n, d = random.integers(2, 12), random.integers(1, 8)
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-3, 4)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    cost = 10.0 ** random.uniform(-3, 3, size=n)
    loss = LOSSES[str(random.choice(["squared_hinge", "logistic"]))]
    problem = SparseProblem(Rows.of(X), y, cost, loss, free, ratio)
    duals, primals = [], []
    for scale in (0.0, 0.1, 1.0, 100.0):
        w = scale * random.normal(size=d)
        point = Point(w, random.normal(), scale * cost * random.random(n))
        judged, certificate = problem.certify(point)
        duals.append(certificate.dual)
        primals.append(certificate.primal)
        assert (judged.alpha >= 0.0).all()
    assert max(duals) <= min(primals)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_norms_of_the_columns_are_computed_where_they_matter(loss, ratio):
    """A bound for all columns at once proves nearly as much at an ordinary accuracy, never more."""
    random = np.random.default_rng(7)
    X = random.normal(size=(300, 20)) * np.geomspace(1e-3, 10.0, 20)
    y, cost = np.where(X[:, 19] + X[:, 15] > 0.0, 1.0, -1.0), np.full(300, 0.1)
    rows = Rows.of(X)
    problem = SparseProblem(rows, y, cost, LOSSES[loss], False, ratio)
    point = problem.point_at(random.normal(size=20) * 0.01, 0.0)
    rough = problem.certify(point, 1e-4)[1]
    assert "column squares" not in rows._kept
    tight = problem.certify(point, 1e-12)[1]
    assert "column squares" in rows._kept
    assert rough.dual <= tight.dual
    assert tight.dual - rough.dual <= 0.02 * 1e-4 * abs(tight.dual) / ratio
