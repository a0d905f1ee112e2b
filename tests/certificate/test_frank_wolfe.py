"""Frank-Wolfe on the multiclass duals: every variant reaches its gap, at its known rate."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from oracle import MULTICLASS, layout
from widemargin import LinearSVC
from widemargin.auto.registry import choice_of
from widemargin.data.gram import Gram
from widemargin.methods.base import Settings
from widemargin.methods.published.frank_wolfe import KernelFrankWolfe
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.multiclass import RULES
from widemargin.run import run

LINEAR_RATE = {"away_frank_wolfe", "pairwise_frank_wolfe", "block_dual_cd"}


def problem(rule: str, n: int = 90, k: int = 4, C: float = 0.3) -> KernelMulticlassProblem:
    random = np.random.default_rng(0)
    centres = random.normal(size=(k, 3))
    labels = random.integers(0, k, n)
    labels[:k] = np.arange(k)
    X = centres[labels] + 0.8 * random.normal(size=(n, 3))
    cost = C * random.uniform(0.5, 2.0, n)
    cost[7] = 0.0
    return KernelMulticlassProblem(
        Gram.precomputed(rbf_kernel(X, gamma=0.5)), labels.astype(np.int64), cost, k, rule
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [*sorted(MULTICLASS), "block_dual_cd"])
def test_reaches_the_optimum(name: str, rule: str) -> None:
    task = problem(rule)
    tol = 1e-6 if name in LINEAR_RATE else 1e-2
    solution = run(task, choice_of(name, type(task)), tol=tol, max_iter=50_000)
    assert solution.status.name == "CONVERGED", solution.message
    best = run(task, choice_of("auto", type(task)), tol=1e-10, max_iter=50_000)
    assert solution.certificate.dual <= best.certificate.primal * (1 + 1e-9)
    assert solution.certificate.primal <= best.certificate.primal * (1 + tol) * (1 + 1e-9)
    beta = np.asarray(solution.alpha)
    assert (beta >= 0.0).all()
    assert (beta[np.arange(task.labels.size), task.labels] == 0.0).all()
    limit = task.cost * (1 + 1e-12)
    total = beta.sum(axis=1) if rule == "crammer_singer" else beta.max(axis=1)
    assert (total <= limit).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [*sorted(MULTICLASS), "pragam"])
@pytest.mark.parametrize("form", ["dense-float64", "csr-float32-int32"])
def test_linear_problems(name: str, rule: str, form: str) -> None:
    """The same answer as the exact block steps, from rows of data and without K."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 3, 80)
    X = random.normal(size=(80, 6)).astype(np.float32).astype(float) + np.eye(3, 6)[labels]
    X = X.astype(np.float32).astype(float)
    model = LinearSVC("hinge", multi_class=rule, C=0.05, fit_intercept="penalised")
    tol = 1e-6 if name in LINEAR_RATE else 1e-2
    model.set_params(solver=name, tol=tol, max_iter=100_000)
    best = LinearSVC("hinge", multi_class=rule, C=0.05, fit_intercept="penalised", tol=1e-9)
    data = layout(X, form)
    model.fit(data, labels)
    best.fit(data, labels)
    assert model.status_ == ["converged"]
    assert model.solver_ == name
    assert model.certificate_.primal <= best.certificate_.primal * (1 + tol) * (1 + 1e-9)
    assert model.certificate_.dual <= best.certificate_.primal * (1 + 1e-9)
    with pytest.raises(ValueError, match="has no free intercepts"):
        model.set_params(fit_intercept=True).fit(data, labels)


@pytest.mark.parametrize("rule", RULES)
def test_the_method_knows_its_gap(rule: str) -> None:
    """⟨A − corner, ∇f⟩ is the duality gap at the same point."""
    task = problem(rule)
    method = KernelFrankWolfe()
    state = method.start(task, None, Settings(1e-9, 0))
    for _ in range(30):
        before = state.point
        method.advance(state)
        certificate = task.certify(before)[1]
        if np.isfinite(state.expected_gap):
            assert state.expected_gap == pytest.approx(certificate.relative_gap, rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_stays_under_its_bound(rule: str) -> None:
    """f(α_t) − f* ≤ 4nC²σ₁/t (CS) or 2nk(k−1)C²σ₁/t (WW) (FW, theorem 1)."""
    task = problem(rule)
    best = run(task, choice_of("auto", type(task)), tol=1e-9, max_iter=50_000).certificate.dual
    n, k, C = task.labels.size, task.classes, float(task.cost.max())
    sigma = float(np.linalg.eigvalsh(task.gram.whole)[-1])  # type: ignore[arg-type]
    scale = 4.0 if rule == "crammer_singer" else 2.0 * k * (k - 1)
    method = KernelFrankWolfe()
    state = method.start(task, None, Settings(1e-9, 0))
    for t in range(1, 200):
        method.advance(state)
        beta = task.beta_of(state.coefficients)
        dual = float(beta.sum()) - 0.5 * float(np.vdot(state.coefficients, state.scores))
        assert best - dual <= scale * n * C * C * sigma / t
        assert best - dual >= -1e-8 * best


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", sorted(LINEAR_RATE))
def test_linear_rate_of_the_variants(name: str, rule: str) -> None:
    """Each further digit costs about as many sweeps as the one before."""
    task = problem(rule)
    sweeps = [
        run(task, choice_of(name, type(task)), tol=tol, max_iter=50_000).iterations
        for tol in (1e-3, 1e-6, 1e-9)
    ]
    assert sweeps[2] - sweeps[1] <= 3 * max(sweeps[1], 10)


@pytest.mark.parametrize("name", sorted(MULTICLASS))
def test_rows_of_the_kernel_may_be_computed_piecewise(name: str) -> None:
    task = problem("weston_watkins")
    from widemargin.data.gram import Kernel

    random = np.random.default_rng(3)
    X = random.normal(size=(task.labels.size, 3))
    small = KernelMulticlassProblem(
        Gram.of(X, Kernel("rbf", 0.5), 8.0 * 20 * X.shape[0]), task.labels, task.cost, 4, task.rule
    )
    large = KernelMulticlassProblem(
        Gram.of(X, Kernel("rbf", 0.5), 1e9), task.labels, task.cost, 4, task.rule
    )
    runs = [
        run(each, choice_of(name, type(each)), tol=1e-2, max_iter=20_000) for each in (small, large)
    ]
    assert runs[0].certificate.primal == pytest.approx(runs[1].certificate.primal, rel=1e-6)
