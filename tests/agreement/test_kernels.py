"""KernelSVC against scikit-learn's SVC and against a generic solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC

from widemargin import KernelSVC


def moons(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_moons(n, noise=0.3, random_state=seed)
    return X, y


def three(n: int = 45) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(y.size)[:n]
    return X[chosen], y[chosen]


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_hinge_against_svc(kernel: str, C: float) -> None:
    X, y = moons()
    arguments = {"kernel": kernel, "C": C, "degree": 2, "coef0": 1.0}
    model = KernelSVC(tol=1e-8, **arguments).fit(X, y)
    peer = SVC(tol=1e-7, **arguments).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), peer.decision_function(X), atol=2e-3 * (1 + C**0.5)
    )
    # Its objective is never better than ours by more than the gap allows.
    assert model.certificate_.relative_gap <= 1e-8
    K = rbf_kernel(X, gamma=model.gamma_) if kernel == "rbf" else None
    if K is not None:
        u = np.zeros(y.size)
        u[peer.support_] = peer.dual_coef_[0]
        slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * peer.decision_function(X))
        assert model.certificate_.dual <= (0.5 * u @ K @ u + C * slack.sum()) * (1 + 1e-9)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("solver", ["dual_cd", "dual_of_dual"])
def test_squared_hinge_against_cvxpy(solver: str, free: bool) -> None:
    cp = pytest.importorskip("cvxpy")
    X, y = moons(60)
    s = np.where(y == 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.7)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(y.size))
    alpha = cp.Variable(y.size)
    C = 2.0
    objective = (
        cp.sum(alpha)
        - cp.sum_squares(alpha) / (4 * C)
        - 0.5 * cp.sum_squares(root.T @ cp.multiply(s, alpha))
    )
    constraints = [alpha >= 0, *([s @ alpha == 0] if free else [])]
    best = cp.Problem(cp.Maximize(objective), constraints).solve(solver=cp.CLARABEL)
    model = KernelSVC(
        "rbf", "squared_hinge", gamma=0.7, C=C, tol=1e-8, solver=solver, fit_intercept=free
    ).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(best, rel=1e-6)
    expected = np.zeros(y.size)
    expected[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(expected, s * alpha.value, atol=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("rule", ["crammer_singer", "weston_watkins"])
def test_joint_rules_against_cvxpy(rule: str, kernel: str) -> None:
    cp = pytest.importorskip("cvxpy")
    X, y = three()
    n, k, C = y.size, 3, 0.5
    K = rbf_kernel(X, gamma=0.5) if kernel == "rbf" else X @ X.T
    root = np.linalg.cholesky(K + 1e-9 * np.eye(n))
    own = np.eye(k)[y]
    beta = cp.Variable((n, k), nonneg=True)
    sums = cp.sum(beta, axis=1)
    A = cp.multiply(own, cp.reshape(sums, (n, 1), order="C") @ np.ones((1, k))) - beta
    constraints = [cp.multiply(own, beta) == 0]
    constraints.append(sums <= C if rule == "crammer_singer" else beta <= C)
    task = cp.Problem(cp.Maximize(cp.sum(beta) - 0.5 * cp.sum_squares(root.T @ A)), constraints)
    best = task.solve(solver=cp.CLARABEL)
    model = KernelSVC(kernel, multi_class=rule, gamma=0.5, C=C, tol=1e-7).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=2e-6)
    assert model.certificate_.dual == pytest.approx(best, rel=2e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(K @ A.value, axis=1)])


@pytest.mark.parametrize("rule", ["ovr", "crammer_singer", "weston_watkins"])
def test_the_same_kernel_in_four_ways(rule: str) -> None:
    X, y = three(60)
    K = rbf_kernel(X, gamma=0.5)
    models = [
        KernelSVC("rbf", multi_class=rule, gamma=0.5, tol=1e-6).fit(X, y),
        KernelSVC(lambda A, B: rbf_kernel(A, B, gamma=0.5), multi_class=rule, tol=1e-6).fit(X, y),
        KernelSVC("rbf", multi_class=rule, gamma=0.5, tol=1e-6).fit(sp.csr_array(X), y),
        # So little memory that rows are computed again and again.
        KernelSVC("rbf", multi_class=rule, gamma=0.5, tol=1e-6, memory=0.01).fit(X, y),
    ]
    given = KernelSVC("precomputed", multi_class=rule, tol=1e-6).fit(K, y)
    expected = given.decision_function(K)
    for model in models:
        np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-2)
        assert model.certificate_.primal == pytest.approx(given.certificate_.primal, rel=2e-6)


def test_weights_are_repetitions() -> None:
    X, y = moons(80)
    weight = np.random.default_rng(1).integers(1, 4, y.size)
    weighted = KernelSVC(tol=1e-7, gamma=1.0).fit(X, y, weight)
    repeated = KernelSVC(tol=1e-7, gamma=1.0).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )


def test_the_false_of_numpy_is_false() -> None:
    X, y = moons(60)
    assert KernelSVC(fit_intercept=np.False_).fit(X, y).intercept_[0] == 0.0
    assert KernelSVC(fit_intercept=np.True_).fit(X, y).intercept_[0] != 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be a callable or one of"),
        ({"loss": "logistic"}, "loss must be"),
        ({"multi_class": "crammer_singer", "loss": "squared_hinge"}, "needs loss='hinge'"),
        ({"multi_class": "weston_watkins", "fit_intercept": True}, "has no intercepts"),
        ({"multi_class": "one"}, "multi_class must be one of"),
        ({"solver": "frank_wolfe"}, "does not support kernel problems"),
        ({"solver": "dual_of_dual"}, "supports the loss 'squared_hinge'"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": None}, "gamma must be"),
        ({"gamma": np.inf}, "gamma must be"),
        ({"gamma": True}, "gamma must be"),
        ({"coef0": np.nan}, "coef0 must be a finite number"),
        ({"coef0": "a"}, "coef0 must be a finite number"),
        ({"degree": 2.5}, "degree must be a positive integer"),
        ({"degree": -1}, "degree must be a positive integer"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"time_limit": -1}, "time_limit must be a positive finite number"),
        ({"time_limit": "a"}, "time_limit must be a positive finite number"),
        ({"fit_intercept": 0}, "fit_intercept must be True, False or None"),
        ({"fit_intercept": "penalised"}, "fit_intercept must be True, False or None"),
        ({"n_jobs": 0}, "n_jobs must be a non-zero integer"),
        ({"multi_class": "weston_watkins", "n_jobs": 2}, "n_jobs is for multi_class"),
        ({"callback": 1}, "callback must be callable"),
        ({"C": 0.0}, "C must be a positive"),
        ({"memory": -1}, "memory must be a positive"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    X, y = moons(20)
    with pytest.raises(ValueError, match=message):
        KernelSVC(**arguments).fit(X, y)


def test_a_matrix_that_is_no_kernel_is_refused() -> None:
    X, y = moons(30)
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match="is not symmetric"):
        KernelSVC("precomputed").fit(K + np.triu(np.ones_like(K)), y)
    with pytest.raises(ValueError, match="is not positive semidefinite"):
        KernelSVC("precomputed").fit(-laplacian_kernel(X), y)
