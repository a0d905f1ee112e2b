"""Steps on a face of the dual's box: which dual variables they solve for, and when."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVR
from widemargin.data.rows import Rows
from widemargin.data.work import Meter, Size
from widemargin.methods.coordinate._face_steps import FaceSteps, _Face
from widemargin.problems.certificate import Point
from widemargin.problems.regression import RegressionProblem


def _quadratic(random: np.random.Generator, rank: int, cost: float) -> _Face:
    X = random.normal(size=(12, rank))
    beta = random.choice([-1.0, 1.0], 12) * random.uniform(0.1, 0.9, 12)
    wish = random.normal(size=12)
    return _Face(X @ X.T, wish, beta, np.full(12, cost), Meter())


@pytest.mark.parametrize("rank", [4, 30])
@pytest.mark.parametrize("cost", [1.0, 1e3])
def test_a_face_step_keeps_signs_and_bounds_and_raises_the_dual(rank: int, cost: float) -> None:
    random = np.random.default_rng(2)
    for _ in range(40):
        face = _quadratic(random, rank, cost)
        change, reached = face.by_the_way()
        fresh = face.beta + change
        assert (fresh * face.beta >= 0.0).all()
        assert (np.abs(fresh) <= face.cost).all()
        assert face.gain(change) > 0.0
        if reached:
            # What is left of the equations belongs to those that ended at a bound.
            rest = face.wish - face.matrix @ change
            free = (fresh != 0.0) & (np.abs(fresh) < face.cost)
            np.testing.assert_allclose(rest[free], 0.0, atol=1e-6)


def test_a_face_whose_solution_is_inside_is_solved() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(12, 30))
    goal = random.choice([-1.0, 1.0], 12) * random.uniform(1.0, 2.0, 12)
    beta = goal * random.uniform(0.8, 1.2, 12)
    matrix = X @ X.T
    face = _Face(matrix, matrix @ (goal - beta), beta, np.full(12, 5.0), Meter())
    change, reached = face.by_the_way()
    assert reached
    np.testing.assert_allclose(beta + change, goal, atol=1e-8)


def test_only_a_settled_face_is_solved_for() -> None:
    alpha, cost = np.zeros(200), np.ones(200)
    alpha[:100], alpha[100:110] = 0.5, 1.0
    faces = FaceSteps()
    assert not faces.settled(alpha, cost)  # the first look
    assert faces.settled(alpha, cost)
    alpha[0], alpha[100] = 0.0, 0.9
    assert faces.settled(alpha, cost)  # two of a hundred
    alpha[:10] *= -1.0
    assert not faces.settled(alpha, cost)


def test_a_step_waits_for_as_much_work_as_it_costs() -> None:
    size, faces = Size(1000, 50, 50_000), FaceSteps()
    assert not faces.due(size, 40)
    faces.spent = 1e9
    assert faces.due(size, 40)
    assert not faces.due(size, 0)
    assert not faces.due(Size(10**6, 50, 5 * 10**7), 10**6)
    faces.waits = 30
    assert not faces.due(size, 40)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_step_raises_the_dual_of_a_problem(layout: type, free: bool) -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(30, 6))
    problem = RegressionProblem.stated(
        Rows.of(layout(X)), X @ np.ones(6), np.full(30, 3.0), ("epsilon_insensitive", 0.1), free
    )
    alpha = np.where(np.arange(30) < 5, 0.3, 0.0) * np.sign(random.normal(size=30))
    if free:
        alpha[:4] = [0.3, -0.3, 0.2, -0.2]
        alpha[4] = 0.0
    before = problem.dual(alpha, X.T @ alpha)
    faces = FaceSteps()
    assert faces.step(problem, Point(X.T @ alpha, 0.0, alpha), 1.0 if free else 0.0, 0.5)
    assert problem.dual(alpha, X.T @ alpha) > before
    assert np.abs(alpha).max() <= 3.0


def test_targets_without_noise_take_few_sweeps() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(1500, 60))
    y = X @ random.normal(size=60)
    model = LinearSVR(C=300.0, epsilon=0.1, tol=1e-7, solver="dual_cd", max_iter=6000)
    model.fit(X, y)
    assert model.certificate_.relative_gap <= 1e-7
    assert model.n_iter_ < 6000  # 12,750 sweeps alone
