"""Newton steps in one compiled call, by products with the Hessian and by its factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC, LogisticRegression
from widemargin.data.training_set import TrainingSet
from widemargin.data.work import Size
from widemargin.linalg.conjugate_gradients import NewtonAccuracy, conjugate_gradients
from widemargin.methods.newton.newton import Newton
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES


def data(seed: int, rows: int = 60, features: int = 30, density: float = 0.2) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = sp.random_array((rows, features), density=density, rng=random, format="csr")
    return X, np.where(random.random(rows) < 0.5, 1.0, -1.0)


def problem_of(loss: str, free: bool) -> BinaryProblem:
    X, y = data(0)
    return BinaryProblem.of(TrainingSet.of(X, y, C=2.0, fit_intercept=free), 1, LOSSES[loss])


@pytest.mark.parametrize("accuracy", [1e-9, 0.1])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_direction_is_that_of_conjugate_gradients(
    loss: str, free: bool, accuracy: float
) -> None:
    problem = problem_of(loss, free)
    n, d = problem.rows.count, problem.rows.weights
    alpha, curvature = problem.loss.terms(problem.y, problem.cost, np.zeros(n), 0.0)
    X, total = problem.rows.array.toarray(), curvature.sum()
    mean = curvature @ X / total
    right, pull = X.T @ (alpha * problem.y), float(alpha @ problem.y)
    if free:  # eliminated
        right -= pull * mean
        X = X - mean
    hessian = X.T @ (curvature[:, np.newaxis] * X) + np.eye(d)
    direction, _, steps = conjugate_gradients(
        hessian.__matmul__,
        right,
        lambda r: r / hessian.diagonal(),
        NewtonAccuracy(right, accuracy, 500.0),
        50,
    )

    w, scores, alpha = np.zeros(d), np.zeros(n), np.empty(n)
    report = problem.core.newton_step(free, w, 0.0, scores, alpha, 50, accuracy)
    assert report.solved
    assert report.moved
    assert report.products == steps
    length = float(w @ direction) / float(direction @ direction)
    np.testing.assert_allclose(w, length * direction, atol=1e-9)
    shift = pull / total - mean @ direction if free else 0.0
    assert report.b == pytest.approx(length * shift, abs=1e-9)
    if free and loss == "logistic":  # nothing was clipped
        assert alpha @ problem.y == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(scores, problem.rows.scores(w), atol=1e-12)
    # What the equation of the direction was left with is part of the gap, which is true.
    image = problem.rows.combine(alpha, problem.y)
    assert report.gap == pytest.approx(report.primal - problem.dual(alpha, image), rel=1e-9)

    w, scores = np.zeros(d), np.zeros(n)
    refused = problem.core.newton_step(free, w, 0.0, scores, alpha, 1, 1e-9)
    assert not refused.solved
    assert not w.any()
    assert not scores.any()


@pytest.mark.parametrize("model", [LinearSVC, LogisticRegression])
def test_fits_with_short_and_long_steps_agree(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(1, 150, 400, 0.02)
    calls = []
    taken = Newton._short_step
    monkeypatch.setattr(Newton, "_short_step", lambda *given: calls.append(1) or taken(*given))
    short = model(C=100.0, tol=1e-9, solver="newton").fit(X, y)
    before = len(calls)
    assert before >= 3
    monkeypatch.setattr(Size, "short_gradients", False)
    long = model(C=100.0, tol=1e-9, solver="newton").fit(X, y)
    assert len(calls) == before
    assert long.certificate_.relative_gap <= 1e-9
    np.testing.assert_allclose(short.coef_, long.coef_, atol=1e-3 * abs(long.coef_).max())
    assert short.certificate_.relative_gap <= 1e-9


@pytest.mark.parametrize("intercept", [40.0, -740.0])
@pytest.mark.parametrize("short", [False, True])
def test_an_intercept_where_losses_are_flat(
    intercept: float, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curvature there is next to nothing, or nothing."""
    X, y = data(2, 150, 400, 0.02)
    monkeypatch.setattr(Size, "short_gradients", short)
    model = LogisticRegression(solver="newton", warm_start=True, tol=1e-6).fit(X, y)
    steps = np.max(model.n_iter_)
    model.coef_, model.intercept_ = 0.0 * model.coef_, np.array([intercept])
    model.dual_coef_ = 0.0 * model.dual_coef_
    model.fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert np.max(model.n_iter_) <= 4 * steps + 20
