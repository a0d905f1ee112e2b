"""Every method of the robust problem proves what it returns."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from oracle import LAYOUTS, layout
from robust_oracle import RobustOracle, make_robust
from widemargin import RobustSVC, RobustSVCCV
from widemargin.auto.registry import Named
from widemargin.data.rows import Rows
from widemargin.methods.interior.reduced_robust import ReducedInteriorPoint
from widemargin.methods.published._step_sizes import step_sizes
from widemargin.methods.published.ippa import IPPA
from widemargin.methods.published.isg import ISG
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem
from widemargin.run import Status, run

NORMS = (1.0, 2.0, np.inf)


def problem_of(oracle: RobustOracle) -> RobustProblem:
    return RobustProblem(
        Rows.of(oracle.X),
        oracle.y,
        oracle.p,
        oracle.radius,
        oracle.label_cost,
        oracle.norm,
        oracle.l2,
        oracle.intercept,
    )


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    oracle = make_robust((80, 6), intercept=True)
    X = layout(oracle.X.astype(np.float32).astype(np.float64), name)
    exact = RobustOracle(
        oracle.X.astype(np.float32).astype(np.float64), oracle.y, oracle.p, 0.1, 1.0, 2.0, 0.0, True
    )
    model = RobustSVC(0.1, label_cost=1.0, tol=1e-8).fit(X, oracle.y)
    exact.check(model, 1e-8)


@pytest.mark.parametrize("solver", ["isg", "ippa", "hybrid", "gs_admm"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_first_order_methods(solver: str, norm: float, l2: float) -> None:
    """Their certificates are right whatever they reach, and they reach three per cent soon."""
    for label_cost, intercept in itertools.product((1.0, np.inf), (False, True)):
        oracle = make_robust(
            (200, 5), weighted=True, norm=norm, l2=l2, label_cost=label_cost, intercept=intercept
        )
        model = RobustSVC(
            0.1,
            label_cost=label_cost,
            norm=norm,
            l2=l2,
            fit_intercept=intercept,
            solver=solver,
            tol=3e-2,
            max_iter=400,
        ).fit(oracle.X, oracle.y, oracle.p)
        assert model.status_ == ["converged"], (label_cost, intercept, model.certificate_)
        oracle.check(model, 3e-2)


@pytest.mark.parametrize("norm", NORMS)
def test_certificate_from_any_point(norm: float) -> None:
    """Random weights and multipliers, feasible or not, give valid bounds."""
    random = np.random.default_rng(0)
    for l2, label_cost, intercept in itertools.product((0.0, 0.5), (1.0, np.inf), (False, True)):
        oracle = make_robust(
            (50, 6), weighted=True, norm=norm, l2=l2, label_cost=label_cost, intercept=intercept
        )
        problem = problem_of(oracle)
        optimum = oracle.optimum()
        for _ in range(20):
            w, b = random.normal(size=6), float(random.normal())
            alpha = random.normal(size=(2, 50)) / 50.0
            point, certificate = problem.certify(Point(w, b, alpha))
            assert certificate.dual <= optimum + 1e-8 <= certificate.primal + 2e-8
            assert certificate.primal == pytest.approx(oracle.primal(w, float(point.b)), rel=1e-12)
            assert certificate.dual == pytest.approx(oracle.dual(*point.alpha), abs=1e-9)
            again = problem.certify(problem.point_at(w, b))[1]
            assert again.dual <= optimum + 1e-8


@pytest.mark.parametrize("intercept", [False, True])
def test_best_price_and_intercept(intercept: bool) -> None:
    """No λ, and no b for that λ, is better than the one that is computed."""
    random = np.random.default_rng(1)
    for label_cost in (0.4, 1.0, 4.0, np.inf):
        oracle = make_robust((40, 3), label_cost=label_cost, weighted=True)
        problem = problem_of(oracle)
        for _ in range(10):
            w = random.normal(size=3)
            scores = oracle.X @ w
            loss, price = problem.worst_loss(w, 0.3, scores)
            assert loss == pytest.approx(oracle.value(w, 0.3, price), rel=1e-12)
            for other in price + random.normal(size=50):
                if other >= np.linalg.norm(w):
                    assert oracle.value(w, 0.3, other) >= loss - 1e-12
            b = problem.best_intercept(scores, price)
            for other in b + random.normal(size=50):
                assert oracle.value(w, other, price) >= oracle.value(w, b, price) - 1e-12


@pytest.mark.parametrize("solver", ["ippa", "hybrid"])
@pytest.mark.parametrize("norm", NORMS)
def test_sequences_reach_the_last_digits(solver: str, norm: float) -> None:
    """Sweeps alone stall at three or four digits."""
    for l2, label_cost in itertools.product((0.0, 0.5), (1.0, np.inf)):
        oracle = make_robust((600, 5), norm=norm, l2=l2, label_cost=label_cost)
        model = RobustSVC(
            0.1,
            label_cost=label_cost,
            norm=norm,
            l2=l2,
            fit_intercept=False,
            solver=solver,
            tol=1e-8,
        ).fit(oracle.X, oracle.y)
        assert model.status_ == ["converged"]
        assert "reduced_interior_point" in model.solver_
        oracle.check(model, 1e-8)
        assert abs(model.primal_[0] - oracle.optimum()) <= 2e-8


@pytest.mark.parametrize("norm", NORMS)
def test_wrong_decisions_are_taken_back(norm: float) -> None:
    """Started anywhere, the rounds end at the optimum, and every bound on the way holds."""
    random = np.random.default_rng(3)
    fewest = 1.0
    for l2, label_cost, intercept in itertools.product((0.0, 0.5), (1.0, np.inf), (False, True)):
        oracle = make_robust(
            (900, 6), weighted=True, norm=norm, l2=l2, label_cost=label_cost, intercept=intercept
        )
        problem, optimum = problem_of(oracle), oracle.optimum()
        warm = problem.point_at(random.normal(size=6), float(random.normal()))
        solution = run(problem, Named(ReducedInteriorPoint()), tol=1e-8, warm=warm)
        assert solution.status is Status.CONVERGED
        assert abs(solution.certificate.primal - optimum) <= 2e-8 * max(1.0, optimum)
        assert all(r.dual <= optimum + 1e-8 <= r.primal + 2e-8 for r in solution.trace)
        fewest = min(fewest, min(r.active for r in solution.trace) / 900.0)
    assert fewest < 0.5


@pytest.mark.parametrize("scheme", ["geometric", "1/k", "1/sqrt(k)"])
@pytest.mark.parametrize("method", [ISG, IPPA])
def test_step_size_schemes(scheme: str, method: type) -> None:
    """Each scheme of DRSVM's Table 1 makes progress."""
    oracle = make_robust((300, 5))
    solution = run(problem_of(oracle), Named(method(scheme=scheme)), tol=0.05, max_iter=300)
    assert solution.certificate.relative_gap <= 0.05
    with pytest.raises(ValueError, match="scheme must be"):
        step_sizes("constant", 1.0)


def test_warm_start_is_never_worse() -> None:
    oracle = make_robust((100, 6))
    model = RobustSVC(0.1, label_cost=1.0, fit_intercept=False, warm_start=True, tol=1e-8)
    first = model.fit(oracle.X, oracle.y).primal_[0]
    again = model.fit(oracle.X, oracle.y)
    assert again.n_iter_[0] == 0
    assert again.primal_[0] <= first * (1.0 + 1e-12)


def test_one_vs_rest_and_string_labels() -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(3, 4)) * 3.0
    codes = random.integers(0, 3, size=150)
    X = centres[codes] + random.normal(size=(150, 4))
    y = np.array(["pear", "plum", "fig"])[codes]
    model = RobustSVC(0.05, tol=1e-7).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.9
    for row, label in enumerate(model.classes_):
        signs = np.where(y == label, 1.0, -1.0)
        RobustOracle(X, signs, np.full(150, 1 / 150), 0.05, np.inf, 2.0, 0.0, True).check(
            model, 1e-7, row
        )


def test_cross_validation_chooses_the_best_radius() -> None:
    oracle = make_robust((200, 5))
    model = RobustSVCCV(radii=[0.01, 0.1, 1.0, 5.0], label_cost=1.0, cv=4)
    model.fit(oracle.X, oracle.y)
    np.testing.assert_array_equal(model.radii_, [5.0, 1.0, 0.1, 0.01])
    means = model.scores_.mean(axis=1)
    assert model.radius_ == model.radii_[np.argmax(means)]
    assert model.best_score_ == means.max()
    assert model.stopped_ == "all radii were tried"
    direct = RobustSVC(model.radius_, label_cost=1.0).fit(oracle.X, oracle.y)
    np.testing.assert_array_equal(model.coef_, direct.coef_)
    threads = RobustSVCCV(radii=[0.01, 0.1, 1.0, 5.0], label_cost=1.0, cv=4, n_jobs=2)
    np.testing.assert_array_equal(threads.fit(oracle.X, oracle.y).scores_, model.scores_)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("class_weight", [None, {-1.0: 1.0, 1.0: 9.0}])
def test_largest_radius_of_the_grid_leaves_nothing(
    norm: float, intercept: bool, class_weight: dict[float, float] | None
) -> None:
    oracle = make_robust((60, 4))
    settings = {"norm": norm, "fit_intercept": intercept, "class_weight": class_weight}
    grid = RobustSVCCV(radii=2, cv=2, **settings).fit(oracle.X, oracle.y)
    largest = float(grid.radii_[0])
    above = RobustSVC(1.001 * largest, tol=1e-9, **settings).fit(oracle.X, oracle.y)
    assert np.abs(above.coef_).max() < 1e-6
    if not intercept:
        # Without an intercept the bound is sharp.
        below = RobustSVC(0.99 * largest, tol=1e-9, **settings).fit(oracle.X, oracle.y)
        assert np.abs(below.coef_).max() > 1e-4


def test_refusals() -> None:
    oracle = make_robust((30, 3))
    for arguments, message in (
        ({"radius": -1.0}, "radius must be a finite number"),
        ({"label_cost": 0.0}, "label_cost must be a positive number"),
        ({"norm": 3}, "norm must be 1, 2 or infinity"),
        ({"l2": np.inf}, "l2 must be a finite number"),
        ({"solver": "newton"}, "does not support robust problems"),
        ({"solver": "nothing"}, "solver must be one of"),
        ({"radius": 0.0, "solver": "ippa"}, "needs a positive radius or l2"),
        ({"fit_intercept": "penalised"}, "fit_intercept must be True or False"),
    ):
        with pytest.raises(ValueError, match=message):
            RobustSVC(**arguments).fit(oracle.X, oracle.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustSVC(0.0, l2=1.0).fit(oracle.X, oracle.y)


def test_steps_and_batches_of_the_estimator() -> None:
    """The schemes of Table 1 and mini-batches are arguments; `isg` takes the paper's by default."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    arguments = {"radius": 0.1, "label_cost": 1.0, "norm": 1, "l2": 1.0, "fit_intercept": False}
    exact = RobustSVC(**arguments, tol=1e-8).fit(X, y)
    found = {}
    for more in ({}, {"step": "geometric"}, {"step": "1/sqrt(k)"}, {"batch_size": 16}):
        model = RobustSVC(**arguments, solver="isg", tol=1e-3, **more).fit(X, y)
        assert model.solver_ == "isg"
        assert exact.dual_[0] * (1 - 1e-9) <= model.primal_[0] <= 1.02 * exact.primal_[0]
        found[str(more)] = model.primal_[0]
    assert len(set(found.values())) >= 3
    model = RobustSVC(**arguments, solver="ippa", batch_size=8, tol=1e-3).fit(X, y)
    assert model.solver_ == "ippa"
    assert exact.dual_[0] * (1 - 1e-9) <= model.primal_[0] <= 1.02 * exact.primal_[0]
    for wrong, message in (
        ({"step": "1/k"}, "step is for solver 'isg' or 'ippa'"),
        ({"step": "k", "solver": "isg"}, "step must be one of"),
        ({"batch_size": 4, "solver": "hybrid"}, "batch_size is for solver 'isg' or 'ippa'"),
        ({"batch_size": 0, "solver": "isg"}, "batch_size must be"),
    ):
        with pytest.raises(ValueError, match=message):
            RobustSVC(**wrong).fit(X, y)
