"""LinearOneClassSVM against cvxpy, scikit-learn and LIBLINEAR."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import OneClassSVM

from widemargin import LinearOneClassSVM

SOLVERS = ("auto", "dual_cd", "proximal_newton", "interior_point")


def data(n: int = 80, d: int = 5, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = (random.normal(size=(n, d)) + 1.5) * (random.random((n, d)) < 0.8)
    return X, random.uniform(0.1, 2.0, size=n) * (random.random(n) < 0.9)


def optimum(X: Any, weight: Any, nu: float) -> tuple[float, Any, float]:
    """P*, w and ρ by a generic solver."""
    w, rho = cp.Variable(X.shape[1]), cp.Variable()
    losses = weight @ cp.pos(rho - X @ w) - nu * weight.sum() * rho
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + losses))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value), w.value, float(rho.value)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("nu", [0.02, 0.3, 1.0])
def test_value_and_weights_are_those_of_a_generic_solver(solver: str, nu: float) -> None:
    X, weight = data()
    for exact in (X, X.astype(np.float32)):
        best, w, _ = optimum(exact.astype(float), weight, nu)
        for layout in (exact, sp.csr_array(exact)):
            model = LinearOneClassSVM(nu, solver=solver, tol=1e-8, max_iter=20_000)
            model.fit(layout, sample_weight=weight)
            assert model.status_ == ["converged"]
            assert model.primal_[0] == pytest.approx(best, rel=1e-6)
            assert model.dual_[0] == pytest.approx(best, rel=1e-6)
            np.testing.assert_allclose(model.coef_[0], w, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("nu", [0.05, 0.5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_scores_are_those_of_scikit_learn(nu: float, scale: float) -> None:
    X, _ = data(seed=1)
    ours = LinearOneClassSVM(nu, tol=1e-10).fit(scale * X)
    theirs = OneClassSVM(kernel="linear", nu=nu, tol=1e-10 * scale**2).fit(scale * X)
    size = float(np.abs(theirs.score_samples(scale * X)).max())
    np.testing.assert_allclose(
        ours.score_samples(scale * X), theirs.score_samples(scale * X), atol=1e-5 * size
    )
    np.testing.assert_allclose(ours.offset_, theirs.offset_, atol=1e-5 * size)
    clear = np.abs(theirs.decision_function(scale * X)) > 1e-4 * size
    assert clear.mean() > 0.8
    np.testing.assert_array_equal(ours.predict(scale * X)[clear], theirs.predict(scale * X)[clear])


def test_more_weights_than_rows() -> None:
    X = np.random.default_rng(2).random((40, 300))
    best = optimum(X, np.ones(40), 0.2)[0]
    for solver in SOLVERS:
        model = LinearOneClassSVM(0.2, solver=solver, tol=1e-7).fit(X)
        assert model.primal_[0] == pytest.approx(best, rel=1e-6)


def test_liblinear_finds_the_same_and_reads_our_models(tmp_path: Any) -> None:
    theirs = pytest.importorskip("liblinear.liblinearutil")
    from widemargin import load_liblinear, save_liblinear

    X, _ = data(seed=3)
    trained = theirs.train(np.ones(80), sp.csr_matrix(X), "-s 21 -n 0.21 -e 1e-8 -q")
    theirs.save_model(str(tmp_path / "their.model"), trained)
    found = load_liblinear(tmp_path / "their.model")
    model = LinearOneClassSVM(0.21, tol=1e-10).fit(X)
    np.testing.assert_allclose(found.coef, model.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(found.intercept, model.intercept_[0], rtol=1e-5)
    save_liblinear(model, tmp_path / "our.model")
    ours = theirs.load_model(str(tmp_path / "our.model"))
    labels, _, values = theirs.predict([], sp.csr_matrix(X), ours, "-q")
    np.testing.assert_allclose(np.ravel(values), model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(labels, model.predict(X))
