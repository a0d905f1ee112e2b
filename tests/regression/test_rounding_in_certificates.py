"""Reported: certificates that were false, or raised, where rounding is as large as the gap."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from exact_judge import binary_primal
from widemargin import KernelSVC, LinearSVC, LogisticRegression, RobustSVC, verify_exactly
from widemargin.data.rows import Rows
from widemargin.exact.integers import ExactRows, Scaled
from widemargin.exact.robust import ExactRobust
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.lanes import LanesProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.robust import RobustProblem


def quiet(model: Any, *arguments: Any) -> Any:
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments)


@pytest.mark.parametrize("solver", ["auto", "dual_cd", "interior_point", "proximal_newton"])
def test_a_huge_weight_beside_a_tiny_one(solver: str) -> None:
    """It said converged with a gap of zero; the true gap was 3.8e-4. interior_point stood still."""
    X = np.array([[348.540072734108, 350.1395522843353], [349.96089844520276, 348.9117976490855]])
    weight = np.array([7.89202679533056e-06, 275863.6044626758])
    model = LinearSVC("hinge", C=37042.01629277618, tol=1e-8, solver=solver).fit(
        X, [-5, -2], weight
    )
    cost = 37042.01629277618 * weight
    truth = binary_primal("hinge", X, [-1, 1], cost, model.coef_, model.intercept_[0])
    assert model.certificate_.dual <= truth <= model.certificate_.primal
    # The margin of the heavy example can be off by an ulp, which costs 1e-6 unless it is above 1:
    # the intercept moves by a digit.
    assert model.status_ == ["converged"]


def test_an_interior_point_with_weights_over_twelve_decades() -> None:
    """It stood still in all of forty such problems: its start was far off the central path."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        X = random.normal(size=(60, 4))
        y = X[:, 0] + random.normal(size=60) > 0.0
        model = LinearSVC("hinge", tol=1e-8, solver="interior_point")
        model.fit(X, y, 10.0 ** random.uniform(-6.0, 6.0, 60))
        assert model.status_ == ["converged"]


def test_robust_dual_variables_that_were_put_into_their_range() -> None:
    """They had shrunk by 1e-13, their weights had not: the dual was 1.8e-14 too high."""
    X = np.array(
        [
            [0.0, 0.0],
            [-0.7821560912768994, -0.6890050364367725],
            [-1.1037652925179549, -0.24725644578386477],
            [-1.793636713960335, 0.5300117802454558],
        ]
    )
    weight, y = np.full(4, 0.25), np.array([-1.0, -1.0, 1.0, -1.0])
    problem = RobustProblem(Rows.of(X), y, weight, 0.01, 1.0, 2.0, 1e-3, False)
    keep = [0.2499825192546446, 0.1606289690403056, 0.2499946717083205, 0.09198275360054307]
    flip = [2.739643712361858e-06, 0.0039329477922032605, 1.9166766451019367e-06]
    alpha = np.array([keep, [*flip, 0.00606166204842417]])
    point = Point(np.array([0.73859285, 0.61276444]), 0.0, alpha)
    fair, proof = problem.certify(point)
    exact = ExactRobust(
        ExactRows(X), y.astype(int).astype(object), Scaled.of(weight), 0.01, 1.0, 2.0, 1e-3, False
    )
    assert proof.dual <= exact.dual(*fair.alpha).value.lower


def test_an_intercept_that_no_number_is_near() -> None:
    """It went on to the limit of iterations; 2^39 leaves an intercept with steps of 1e-4."""
    random = np.random.default_rng(0)
    X = np.rint(random.normal(size=(9, 4)) * 1024.0) / 1024.0
    y = X[:, 0] + random.normal(size=9) > 0.0
    model = LinearSVC("hinge", C=65.0, max_iter=5000)
    with pytest.warns(ConvergenceWarning, match="cannot be proved in double precision"):
        model.fit(X + 2.0**39, y)
    assert model.status_ == ["stalled"]


@pytest.mark.parametrize("kind", [LinearSVC, LogisticRegression])
def test_times_in_seconds(kind: Any) -> None:
    """Some raised "inconsistent certificate", most ended at the iteration limit."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        X = 1.7e9 + random.integers(0, 3600, size=(20, 1)).astype(float)
        y = (X[:, 0] + 600 * random.normal(size=20) > 1.7e9 + 1800).astype(int)
        if np.unique(y).size == 2:
            assert kind().fit(X, y).status_ == ["converged"]


@pytest.mark.parametrize("power", [10, 20, 30])
@pytest.mark.parametrize("layout", [np.array, np.asfortranarray, "csr"])
def test_a_shift_of_all_columns_changes_nothing(power: int, layout: Any) -> None:
    import scipy.sparse as sp

    layout = sp.csr_array if layout == "csr" else layout
    random = np.random.default_rng(power)
    X = np.round(random.normal(size=(30, 3)) * 1024.0) / 1024.0
    y = X[:, 0] + 0.3 * random.normal(size=30) > 0.0
    near, far = LinearSVC(tol=1e-6), LinearSVC(tol=1e-6)
    near.fit(X, y)
    far.fit(layout(X + 2.0**power), y)
    assert far.status_ == ["converged"]
    assert far.primal_[0] == pytest.approx(near.primal_[0], rel=3e-6)
    assert np.allclose(far.coef_, near.coef_, rtol=1e-2, atol=1e-3)


def test_robust_problems_at_radius_zero() -> None:
    """The dual was 1.0 above the primal."""
    model = quiet(RobustSVC(radius=0.0), [[1, 1e-13], [1, -1e-13]], [1, -1])
    assert 0.0 <= model.dual_[0] <= model.primal_[0] <= 1e-9


def test_robust_problems_at_radius_zero_are_judged_at_the_point_of_the_proof() -> None:
    """The exact checker looked for a feasible point elsewhere, with a lower dual value."""
    X = [[-0.880314018450907], [-0.9523388679293794], [0.8615209777966851]]
    weight = [0.13848064767995066, 6.28690562146105e-05, 56.39655116410261]
    model = RobustSVC(class_weight="balanced", fit_intercept=False, max_iter=1, radius=0.0)
    quiet(model, X, [-2, -5, 3], weight)
    assert verify_exactly(model, X, [-2, -5, 3], weight)


def test_robust_problems_with_a_row_far_out() -> None:
    """It ended with "zero-size array"; later it warned of products with infinity."""
    X, y = [[400.0], [90.0], [2e6], [0.0], [7e6]], [0, 1, 0, 1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobustSVC(radius=1.0, fit_intercept=False).fit(X, y)
    assert model.status_ == ["converged"]


def test_the_gap_hides_nothing() -> None:
    assert Certificate(1.0, 2.0).gap == -1.0
    with pytest.raises(RuntimeError, match="inconsistent certificate"):
        Certificate.bounds(1.0, 0.0, 2.0, 0.0)


@pytest.mark.parametrize("solver", ["bmrm_ls", "dual_of_dual", "bmrm_qp"])
def test_iris_by_methods_of_the_papers(solver: str) -> None:
    """Two gave numbers that are none, the third looked at no clock."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = quiet(LinearSVC("squared_hinge", solver=solver, time_limit=2.0), X[:100], y[:100])
    assert np.isfinite(model.coef_).all()
    assert model.history_[0]["seconds"][-1] < 4.0


def test_the_best_intercept_where_one_side_is_open() -> None:
    loss = LOSSES["squared_hinge"]
    y, cost = np.array([1.0, -1.0]), np.array([1.0, 1e-30])
    for scores in (np.array([0.0, 1e20]), np.array([1e8, -1e8]), np.array([0.0, -1e300])):
        assert np.isfinite(loss.best_intercept(y, cost, scores, 0.0))


def test_kernels_with_one_huge_feature() -> None:
    """It was 99 % from the optimum after ten seconds."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=(10, 5)), np.full(10, 1e4)])
    model = KernelSVC("linear", C=40, fit_intercept=False, time_limit=10).fit(X, [0, 1] * 5)
    assert model.status_ == ["converged"]


def test_joint_kernel_problems() -> None:
    """The gap was 0.042 after 20,000 iterations."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = KernelSVC(lambda a, b: (a @ b.T + 1) ** 2, multi_class="weston_watkins", C=1.0)
    assert model.fit(X, y).status_ == ["converged"]


def test_certificates_do_not_believe_predicted_products() -> None:
    """Zeros planted among the kept products gave a dual of 89.99 instead of 0.62."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), np.where(random.random(60) < 0.5, -1.0, 1.0)
    signed = np.zeros((60, 4))
    signed[:, 0] = y
    problem = LanesProblem(Rows.of(X), signed, 1.0, LOSSES["squared_hinge"], False)
    alpha = problem.cold_point().alpha + signed
    problem.products.predicted = (alpha, np.zeros((3, 4)))
    point = problem.cold_point()
    _, primals, duals = problem.certify_lanes(type(point)(point.w, point.b, alpha))
    alone = BinaryProblem(Rows.of(X), y, np.ones(60), LOSSES["squared_hinge"], False)
    truth = alone.certify(type(point)(np.zeros(3), 0.0, np.ones(60)))[1]
    assert duals[0] == pytest.approx(truth.dual)
    assert primals[0] >= duals[0]
