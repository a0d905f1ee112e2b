"""The robust problem against a generic convex solver: every norm, penalty, cost and intercept."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from robust_oracle import RobustOracle, make_robust
from widemargin import LinearSVC, RobustSVC

cp = pytest.importorskip("cvxpy")

NORMS = (1.0, 2.0, np.inf)
CASES = list(
    itertools.product(NORMS, (0.0, 0.3), (1.0, 5.0, np.inf), (False, True), (0.01, 0.1, 1.0, 0.0))
)


def fit(oracle: RobustOracle, **arguments: object) -> RobustSVC:
    model = RobustSVC(
        oracle.radius,
        label_cost=oracle.label_cost,
        norm=oracle.norm,
        l2=oracle.l2,
        fit_intercept=oracle.intercept,
        **arguments,  # type: ignore[arg-type]
    )
    return model.fit(oracle.X, oracle.y, oracle.p)


@pytest.mark.parametrize("shape", [(60, 7), (25, 40)], ids=str)
@pytest.mark.parametrize("norm", NORMS)
def test_optimum(norm: float, shape: tuple[int, int]) -> None:
    for seed, (_, l2, label_cost, intercept, radius) in enumerate(
        case for case in CASES if case[0] == norm
    ):
        oracle = make_robust(
            shape,
            seed,
            weighted=bool(seed % 2),
            radius=radius,
            label_cost=label_cost,
            norm=norm,
            l2=l2,
            intercept=intercept,
        )
        model = fit(oracle, tol=1e-8)
        optimum = oracle.optimum()
        assert abs(model.primal_[0] - optimum) <= 2e-8 * max(optimum, 1e-1), (l2, label_cost)
        oracle.check(model, 1e-8)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("intercept", [False, True])
def test_trusted_labels_are_norm_regularised_hinge(norm: float, intercept: bool) -> None:
    oracle = make_robust(label_cost=np.inf, norm=norm, intercept=intercept, radius=0.2)
    w, b = cp.Variable(oracle.X.shape[1]), cp.Variable()
    m = cp.multiply(oracle.y, oracle.X @ w + (b if intercept else 0.0))
    objective = 0.2 * cp.norm(w, norm) + oracle.p @ cp.pos(1.0 - m)
    expected = cp.Problem(cp.Minimize(objective)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11
    )
    assert fit(oracle, tol=1e-9).primal_[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_radius_zero_is_the_plain_hinge(intercept: bool) -> None:
    oracle = make_robust(radius=0.0, l2=0.5, intercept=intercept)
    n = oracle.y.size
    plain = LinearSVC("hinge", C=1.0 / (n * 0.5), fit_intercept=intercept, tol=1e-10)
    plain.fit(oracle.X, oracle.y)
    model = fit(oracle, tol=1e-10)
    assert model.primal_[0] == pytest.approx(0.5 * plain.primal_[0], rel=1e-9)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_scaled_features(scale: float) -> None:
    """Features and radius in other units are the same problem."""
    oracle = make_robust()
    reference = fit(oracle, tol=1e-9).primal_[0]
    scaled = RobustOracle(oracle.X * scale, oracle.y, oracle.p, 0.1 * scale, scale, 2.0)
    assert fit(scaled, tol=1e-9).primal_[0] == pytest.approx(reference, rel=1e-8)
