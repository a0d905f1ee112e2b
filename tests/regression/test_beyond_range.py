"""Numbers far from one: solvers left the range of floating point, or a proof missed a rounding."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.fuzz.certificates import case

from widemargin import LinearSVC, RobustSVC, verify_exactly
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet
from widemargin.exact.rest import solved_in_integers
from widemargin.methods.base import Settings
from widemargin.methods.interior._norm_cones import RoundCone
from widemargin.methods.interior.robust import RobustInteriorPoint
from widemargin.problems.losses import LOSSES
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.problems.robust import RobustProblem
from widemargin.problems.robust_bounds import within


def test_best_intercept_far_from_zero() -> None:
    """The first step was below rounding and the bracket open, so the search went to infinity."""
    y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    cost = np.array([6.1, 9.6, 3.2e-4, 9.0e-6, 8.2e3])
    scores = np.array([2.9e26, 9.4e13, -1.3e20, -2.4e16, 4.1e19])
    b = LOSSES["squared_hinge"].best_intercept(y, cost, scores, -7.637e18)
    slack = np.maximum(1.0 - y * (scores + b), 0.0)
    pulls = cost * slack
    assert np.isfinite(b)
    assert abs(pulls @ y) <= 1e-9 * pulls.sum()


@pytest.mark.parametrize("solver", ["bmrm_ls", "bmrm_qp"])
def test_bundles_beyond_the_range_hand_back_their_best(solver: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(12, 3)) * 10.0 ** random.uniform(0.0, 14.0, size=(12, 1))
    y = np.arange(12) % 2
    model = LinearSVC("squared_hinge", C=1e6, solver=solver, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.dual_).all()
    assert verify_exactly(model, X, y)


def test_multinomial_weights_in_single_precision() -> None:
    """Float32 intercepts far from zero were certified as if rounded in double precision."""
    pytest.importorskip("flint")
    assert case(1000, 2027).failure == ""


def test_joint_dual_variables_that_are_no_numbers() -> None:
    """The best multiple of them was looked for, among none."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(6, 2)), np.arange(6) % 3
    data = TrainingSet.of(X, y, C=1.0)
    problem = MulticlassProblem.of(data, "crammer_singer")
    point = problem.cold_point()
    nothing = sp.csr_array(np.where(np.arange(3) == y[:, np.newaxis], 0.0, np.nan))
    certificate = problem.certify(replace(point, alpha=nothing))[1]
    assert not certificate.dual > 0.0


def test_kept_and_flipped_are_exact() -> None:
    random = np.random.default_rng(1)
    weight = 10.0 ** random.uniform(-9.0, 0.0, size=500)
    alpha = random.uniform(0.0, 0.7, size=(2, 500)) * weight
    keep, flip = within(alpha, weight)
    assert np.all(keep + flip <= weight)
    np.testing.assert_array_equal((keep - flip) + flip, keep)
    np.testing.assert_allclose(keep + flip, np.minimum(alpha.sum(axis=0), weight), rtol=1e-12)


@pytest.mark.parametrize("diagonal", [0.0, 1e-30, 1.0])
def test_the_round_cone_solves_its_system(diagonal: float) -> None:
    """Its determinant was a difference, and zero where that cancelled."""
    w = np.array([0.6, -0.3])
    cone = RoundCone(w, 1.0, 0.7)
    cone.prepare(w, 1.0)
    right, right_price = np.array([0.2, 0.5]), -0.4
    dw, price = cone.solve_with(np.full(2, diagonal), diagonal, right, right_price)
    image, image_price = cone.product(dw, price)
    np.testing.assert_allclose(image + diagonal * dw, right, rtol=1e-12)
    np.testing.assert_allclose(image_price + diagonal * price, right_price, rtol=1e-12)


def test_the_round_cone_far_out() -> None:
    w = np.array([1.0 - 1e-15, 0.0])
    cone = RoundCone(w, 1.0, 1e-9)
    cone.prepare(w, 1.0)
    dw, price = cone.solve_with(np.zeros(2), 0.0, np.ones(2), 1.0)
    assert np.isfinite(dw).all()
    assert np.isfinite(price)


@pytest.mark.parametrize("share", [0.7, 1e200, np.inf])
def test_the_round_cone_beyond_the_range(share: float) -> None:
    """Multipliers that overflowed ended in a division by zero."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(6, 2)), np.array([-1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    problem = RobustProblem(Rows.of(X), y, np.full(6, 1 / 6), 0.1, 1.0, 2.0, 0.0, True)
    method = RobustInteriorPoint()
    state = method.start(problem, None, Settings(1e-12, 0))
    state.cone.z[0] = share
    method.advance(state)
    assert state.finished == (share > 1.0)
    assert np.isfinite(state.point.w).all()


def test_dual_variables_at_rest() -> None:
    """At radius zero the judge scaled dual variables down to nothing, and proved nothing."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(9, 2)), np.array([0, 1, 0, 1, 1, 0, 1, 0, 1])
    model = RobustSVC(radius=0.0, solver="interior_point", tol=1e-6).fit(X, y)
    report = verify_exactly(model, X, y)
    assert report
    assert 0.0 < report.problems[0].relative_gap <= 1e-6


def test_dual_variables_at_rest_where_a_feature_is_constant() -> None:
    """A column that repeats the intercept's made the judge's system singular."""
    X, y = np.full((4, 1), 2.0**20), [0, 2, 1, 3]
    model = RobustSVC(radius=0.0, norm=np.inf, solver="interior_point").fit(X, y)
    report = verify_exactly(model, X, y)
    assert report, str(report)
    assert all(problem.relative_gap <= 1e-4 for problem in report.problems)


def test_systems_in_whole_numbers() -> None:
    matrix = np.array([[0, 2, 1], [3, -1, 4], [2, 2, 2**80]], dtype=object)
    x = np.array([5, -7, 11], dtype=object)
    found = solved_in_integers(matrix, matrix @ x)
    assert found is not None
    numerators, determinant = found
    assert determinant > 0
    assert (numerators == determinant * x).all()
    assert solved_in_integers(np.array([[1, 2], [2, 4]], dtype=object), x[:2]) is None
