"""Rule: a loss and a method can be added from outside, as CONTRIBUTING.md says.

A package in a temporary folder registers a smoothed hinge and a gradient method; estimators train
with both, and their answers are proved like all others.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.optimize import minimize

from widemargin import KernelSVC, LinearSVC, LinearSVCCV, path
from widemargin.auto.registry import METHODS
from widemargin.problems.losses import LOSSES, register

LOSS = '''
import numpy as np

from widemargin.problems.formula_loss import FormulaLoss
from widemargin.problems.losses import register

WIDTH = 0.5


class SmoothedHinge(FormulaLoss):
    """The hinge with its corner rounded over an interval of margins."""

    def value(self, m):
        short = np.maximum(1.0 - m, 0.0)
        return np.where(short < WIDTH, short**2 / (2.0 * WIDTH), short - 0.5 * WIDTH)

    def dual_term(self, alpha, cost):
        return alpha - WIDTH * alpha**2 / (2.0 * cost)

    def alpha_at(self, m, cost):
        return cost * np.clip((1.0 - m) / WIDTH, 0.0, 1.0)

    def curvature_at(self, m, cost):
        return np.where((m < 1.0) & (m > 1.0 - WIDTH), cost / WIDTH, 0.0)


class AbsoluteHinge(FormulaLoss):
    """Two slopes: 1 below the margin 0, and 1/2 from there to 1."""

    def value(self, m):
        return np.maximum(np.maximum(0.5 - m, 0.5 * (1.0 - m)), 0.0)

    def dual_term(self, alpha, cost):
        share = alpha / cost
        return cost * np.where(share <= 0.5, share, 0.5)

    def alpha_at(self, m, cost):
        return cost * np.where(m < 0.0, 1.0, np.where(m < 1.0, 0.5, 0.0))


SMOOTHED = SmoothedHinge(
    "smoothed_hinge",
    bounded=True,
    sparse=True,
    dual_quadratic=WIDTH,
    curvature_level=1.0 / WIDTH,
)
ANGULAR = AbsoluteHinge("angular_hinge", bounded=True, sparse=True)
register(SMOOTHED)
register(ANGULAR)
'''

METHOD = """
from dataclasses import dataclass

import numpy as np

from widemargin.auto.registry import register
from widemargin.methods.base import State
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point


@dataclass(eq=False)
class DescentState(State):
    problem: BinaryProblem
    latest: Point

    @property
    def point(self):
        return self.latest


class GradientDescent:
    name = "gradient_descent"
    serves = BinaryProblem

    def refuses(self, problem):
        if not problem.loss.smooth or problem.free_intercept:
            return f"'{self.name}' needs a smooth loss without intercept; try 'dual_cd'"
        return None

    def start(self, problem, warm, settings):
        return DescentState(problem, warm or problem.cold_point(), active=problem.rows.count)

    def advance(self, state):
        problem, w = state.problem, state.point.w
        scores = problem.rows.scores(w)
        alpha, _ = problem.loss.terms(problem.y, problem.cost, scores, 0.0)
        gradient = w - problem.rows.combine(alpha, problem.y)
        smoothness = 1.0 + 2.0 * float(problem.cost @ problem.rows.norms)
        state.latest = Point(w - gradient / smoothness, 0.0, alpha)
        state.expected_gap = 0.5 * float(gradient @ gradient) / problem.primal(w, 0.0, scores)
        state.passes += 2


register("gradient_descent", GradientDescent)
"""

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 6))
Y = np.where(X @ RANDOM.normal(size=6) + 0.7 * RANDOM.normal(size=300) > 0.3, 1, -1)


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Import the package, and forget it afterwards."""
    package = tmp_path / "toy_margins"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "losses.py").write_text(LOSS, encoding="utf-8")
    (package / "method.py").write_text(METHOD, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    losses, methods = dict(LOSSES), dict(METHODS)
    importlib.import_module("toy_margins.method")
    yield importlib.import_module("toy_margins.losses")
    for name in [name for name in sys.modules if name.startswith("toy_margins")]:
        del sys.modules[name]
    for table, before in ((LOSSES, losses), (METHODS, methods)):
        for name in set(table) - set(before):
            del table[name]


def objective(loss: str, C: float, intercept: bool) -> float:
    """Minimise the primal by a general method, from the formula alone."""

    def value(p: np.ndarray) -> float:
        w, b = (p[:-1], p[-1]) if intercept else (p, 0.0)
        return 0.5 * float(w @ w) + C * float(LOSSES[loss].value(Y * (X @ w + b)).sum())

    start = np.zeros(X.shape[1] + intercept)
    for _ in range(3):
        start = minimize(value, start, method="Powell", options={"xtol": 1e-9, "ftol": 1e-14}).x
    return value(start)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["auto", "newton", "dual_of_dual", "bmrm_qp"])
def test_a_smooth_loss_is_trained(toys: ModuleType, solver: str, intercept: bool) -> None:
    tol = 1e-3 if solver == "bmrm_qp" else 1e-6
    model = LinearSVC("smoothed_hinge", C=0.3, solver=solver, tol=tol, fit_intercept=intercept)
    model.fit(X, Y)
    assert model.certificate_.relative_gap <= tol
    best = objective("smoothed_hinge", 0.3, intercept)
    assert model.dual_ <= best * (1.0 + 1e-9)
    assert model.primal_ <= best * (1.0 + 1.1 * tol)
    assert solver == "auto" or model.solver_ == solver


def test_a_loss_with_corners_is_trained(toys: ModuleType) -> None:
    model = LinearSVC("angular_hinge", C=0.3, tol=1e-3, fit_intercept=False).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-3
    best = objective("angular_hinge", 0.3, False)
    assert model.dual_ <= best * (1.0 + 1e-6)
    assert model.primal_ <= best * (1.0 + 1.1e-3)


def test_three_classes_and_kernels(toys: ModuleType) -> None:
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LinearSVC("smoothed_hinge", tol=1e-5).fit(X, labels)
    assert model.certificate_.relative_gap <= 1e-5
    kernel = KernelSVC("rbf", loss="smoothed_hinge", tol=1e-4).fit(X, Y)
    assert kernel.certificate_.relative_gap <= 1e-4


def test_searches_over_C(toys: ModuleType) -> None:
    search = LinearSVCCV("smoothed_hinge", tol=1e-4).fit(X, Y)
    assert search.certificate_.relative_gap <= 1e-4
    over = path(X, Y, [0.01, 0.1], loss="smoothed_hinge", tol=1e-5)
    assert all(s.certificate.relative_gap <= 1e-5 for row in over.solutions for s in row)


def test_what_needs_a_compiled_loss_says_so(toys: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"needs a compiled loss.*'newton'"):
        LinearSVC("smoothed_hinge", solver="dual_cd").fit(X, Y)
    with pytest.raises(ValueError, match="second derivatives"):
        LinearSVC("angular_hinge", solver="newton").fit(X, Y)
    with pytest.raises(ValueError, match="there is a loss 'smoothed_hinge' already"):
        register(toys.SMOOTHED)
    with pytest.raises(ValueError, match="or 'smoothed_hinge' or"):
        LinearSVC("logistic").fit(X, Y)


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_a_method_is_trained_with(toys: ModuleType, loss: str) -> None:
    model = LinearSVC(
        loss, C=1e-3, solver="gradient_descent", tol=1e-5, fit_intercept=False, max_iter=5000
    ).fit(X, Y)
    assert model.solver_ == "gradient_descent"
    assert model.certificate_.relative_gap <= 1e-5
    with pytest.raises(ValueError, match="needs a smooth loss"):
        LinearSVC("hinge", solver="gradient_descent", fit_intercept=False).fit(X, Y)


def test_nothing_is_left_behind() -> None:
    assert "smoothed_hinge" not in LOSSES
    assert "gradient_descent" not in METHODS
