"""worst_case against the inner supremum by cvxpy, and against the training objective."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC as Theirs

from robust_oracle import make_robust
from widemargin import RobustSVC, worst_case

cp = pytest.importorskip("cvxpy")

NORMS = (1.0, 2.0, np.inf)
DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}


class Fixed:
    """A linear model of somebody else."""

    def __init__(self, w: np.ndarray, b: float) -> None:
        self.coef_, self.intercept_, self.classes_ = w[None], np.array([b]), np.array([-1.0, 1.0])


def supremum(X, y, p, w, b, radius, label_cost, norm):
    """The conic dual of sup E[hinge] over plans, kept in the variables of the plan.

    Mass q of example i goes to a copy with label s and displacement D/q. For given masses the loss
    pieces are linear in (q, D), so the supremum is a conic programme: each (example, label, piece)
    takes mass q and displacement D at cost ‖D‖ + κ [s ≠ y] q, and gains piece(q, D).
    """
    n, d = X.shape
    constraints, gain, cost = [], 0.0, 0.0
    total = [0.0] * n
    for sign in (1.0, -1.0):
        if sign < 0.0 and not np.isfinite(label_cost):
            continue
        q, D = cp.Variable(n, nonneg=True), cp.Variable((n, d))
        rest = cp.Variable(n, nonneg=True)
        s = sign * y
        gain += cp.sum(q - cp.multiply(s, cp.multiply(q, X @ w + b) + D @ w))
        cost += cp.sum(cp.norm(D, DUAL[norm], axis=1))
        if sign < 0.0:
            cost += label_cost * cp.sum(q + rest)
        total = [total[i] + q[i] + rest[i] for i in range(n)]
    constraints += [cp.hstack(total) == p, cost <= radius]
    problem = cp.Problem(cp.Maximize(gain), constraints)
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("label_cost", [0.3, 1.0, np.inf])
@pytest.mark.parametrize("radius", [0.0, 0.05, 1.0])
def test_equals_the_supremum(norm: float, label_cost: float, radius: float) -> None:
    for seed in range(3):
        oracle = make_robust((12, 3), seed)
        w = np.random.default_rng(seed).normal(size=3)
        case = worst_case(
            Fixed(w, 0.2), oracle.X, oracle.y, radius, label_cost=label_cost, norm=norm
        )
        expected = supremum(oracle.X, oracle.y, oracle.p, w, 0.2, radius, label_cost, norm)
        assert case.loss == pytest.approx(expected, rel=1e-6, abs=1e-7)
        # The distribution keeps to the radius and causes the loss.
        signs = np.where(case.label > 0, 1.0, -1.0)
        atoms = case.examples(oracle.X)
        caused = case.mass @ np.maximum(1.0 - signs * (atoms @ w + 0.2), 0.0)
        assert caused == pytest.approx(case.loss, rel=1e-5)
        flipped = case.label != oracle.y[case.index]
        moved = np.linalg.norm(atoms - oracle.X[case.index], DUAL[norm], axis=1)
        paid = float(case.mass @ moved)
        if flipped.any():
            paid += label_cost * float(case.mass[flipped].sum())
        assert paid <= radius + 1e-9
        assert case.mass.sum() == pytest.approx(1.0)
        back = np.bincount(case.index, case.mass, minlength=12)
        np.testing.assert_allclose(back, oracle.p, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_equals_the_training_objective(norm: float, l2: float) -> None:
    oracle = make_robust((80, 5), norm=norm, l2=l2, intercept=True)
    model = RobustSVC(0.1, label_cost=1.0, norm=norm, l2=l2, tol=1e-9).fit(oracle.X, oracle.y)
    case = worst_case(model, oracle.X, oracle.y, 0.1, label_cost=1.0, norm=norm)
    penalty = 0.5 * l2 * float(model.coef_[0] @ model.coef_[0])
    assert case.loss + penalty == pytest.approx(model.primal_[0], rel=1e-12)
    assert case.price == pytest.approx(model.price_[0])


@pytest.mark.parametrize("label_cost", [0.2, np.inf])
def test_error_rate_by_brute_force(label_cost: float) -> None:
    """The knapsack of the error rate as a linear programme."""
    oracle = make_robust((40, 4), seed=3)
    model = Theirs().fit(oracle.X, oracle.y)
    w, b = model.coef_[0], float(model.intercept_[0])
    m = oracle.y * (oracle.X @ w + b)
    costs = np.minimum(np.maximum(m, 0.0) / np.linalg.norm(w), label_cost)
    for radius in (0.0, 0.02, 0.1, 10.0):
        share = cp.Variable(40)
        best = cp.Problem(
            cp.Maximize(oracle.p @ share),
            [share >= 0, share <= 1, (oracle.p * costs) @ share <= radius],
        ).solve(solver=cp.CLARABEL)
        case = worst_case(model, oracle.X, oracle.y, radius, label_cost=label_cost)
        assert case.error == pytest.approx(best, abs=1e-6)
        assert case.clean_error == pytest.approx(float(np.mean(m <= 0.0)))


def test_refuses_what_it_cannot_judge() -> None:
    oracle = make_robust((30, 3))
    model = Fixed(np.ones(3), 0.0)
    with pytest.raises(ValueError, match="radius must be a finite number"):
        worst_case(model, oracle.X, oracle.y, -1.0)
    with pytest.raises(ValueError, match="norm must be 1, 2 or infinity; got True"):
        worst_case(model, oracle.X, oracle.y, 0.1, norm=True)
    with pytest.raises(ValueError, match="label 7, which the model does not know"):
        worst_case(model, oracle.X, np.full(30, 7), 0.1)
    with pytest.raises(ValueError, match="features"):
        worst_case(model, oracle.X[:, :2], oracle.y, 0.1)
    with pytest.raises(ValueError, match="it has no coef_"):
        worst_case(object(), oracle.X, oracle.y, 0.1)


def test_takes_what_a_user_has() -> None:
    """Frames and lists as X, and weights that scikit-learn's `sparsify` made sparse."""
    pd = pytest.importorskip("pandas")
    oracle = make_robust((30, 3))
    model = Theirs().fit(oracle.X, oracle.y)
    expected = worst_case(model, oracle.X, oracle.y, 0.1)
    atoms = expected.examples(oracle.X)
    model.sparsify()
    for X in (pd.DataFrame(oracle.X), oracle.X.tolist()):
        case = worst_case(model, X, oracle.y, 0.1)
        assert case.loss == expected.loss
        np.testing.assert_array_equal(case.examples(X), atoms)
