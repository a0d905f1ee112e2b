"""The block step by what defines it, against the sort, and against a generic convex solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracle_multiclass import RULES
from widemargin.projections import block_step


def random_case(random: np.random.Generator) -> tuple[np.ndarray, float]:
    """Values with ties, zeros, mixed or single signs; costs from tiny to huge; k from 2 on."""
    sizes, shares = [1, 2, 3, 5, 9, 25, 100, 999], [0.2, 0.15, 0.15, 0.15, 0.15, 0.1, 0.08, 0.02]
    size = int(random.choice(sizes, p=shares))
    scale = 10.0 ** random.integers(-3, 4)
    kind = random.integers(6)
    v = random.normal(size=size)
    if kind == 1:
        v = np.round(2.0 * v) / 2.0  # ties and zeros
    elif kind == 2:
        v = -np.abs(v)
    elif kind == 3:
        v = np.full(size, abs(v[0]))
    elif kind == 4:
        v = np.abs(v) + 10.0
    elif kind == 5:
        v[random.random(size) < 0.5] = 0.0
    return scale * v, float(scale * 10.0 ** random.choice([-8, -2, -1, 0, 1, 8]))


def check_optimal(v: np.ndarray, c: float, rule: str, b: np.ndarray) -> None:
    """Feasible, and no direction inside the range descends (KKT)."""
    scale = max(np.abs(v).max(), 1e-300)
    slack = 1e-12 * scale * v.size
    ascent = v - b - b.sum()
    assert (b >= 0.0).all()
    if rule == "weston_watkins":
        assert (b <= c).all()
        assert (ascent[b < c] <= slack).all()
        assert (ascent[b > 0.0] >= -slack).all()
    else:
        assert b.sum() <= c * (1.0 + 1e-12)
        level = max(ascent.max(), 0.0)
        assert (np.abs(ascent[b > 0.0] - level) <= slack).all()
        if b.sum() < c * (1.0 - 1e-9):
            assert level <= slack


@pytest.mark.parametrize("rule", RULES)
def test_select_is_optimal_and_equals_sort(rule: str) -> None:
    random = np.random.default_rng(7)
    for _ in range(10_000):
        v, c = random_case(random)
        fast = block_step(v, c, rule=rule)
        check_optimal(v, c, rule, fast)
        slow = block_step(v, c, rule=rule, method="sort")
        np.testing.assert_allclose(fast, slow, rtol=0.0, atol=1e-12 * np.abs(v).max() * v.size)


def check_against_a_generic_solver(rule: str, seed: int, cases: int = 500) -> None:
    """Solve many independent blocks as one quadratic program, each scaled to max |v| = 1."""
    cp = pytest.importorskip("cvxpy")
    random = np.random.default_rng(seed)
    blocks = []
    for _ in range(cases):
        v, c = random_case(random)
        size = max(np.abs(v).max(), 1e-300)
        blocks.append((v / size, float(np.clip(c / size, 1e-6, 1e3))))
    lengths = [v.size for v, _ in blocks]
    values, costs = np.concatenate([v for v, _ in blocks]), np.array([c for _, c in blocks])
    owner = np.repeat(np.arange(cases), lengths)
    sums = sp.csr_array((np.ones(values.size), (owner, np.arange(values.size))))
    b = cp.Variable(values.size)
    upper = b <= costs[owner] if rule == "weston_watkins" else sums @ b <= costs
    objective = 0.5 * cp.sum_squares(b) + 0.5 * cp.sum_squares(sums @ b) - values @ b
    cp.Problem(cp.Minimize(objective), [b >= 0, upper]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    ours = np.concatenate([block_step(v, c, rule=rule) for v, c in blocks])
    np.testing.assert_allclose(ours, b.value, rtol=0.0, atol=3e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(2))
def test_against_a_generic_solver(rule: str, seed: int) -> None:
    check_against_a_generic_solver(rule, seed)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(2, 20))
def test_against_a_generic_solver_on_the_rest_of_10_000(rule: str, seed: int) -> None:
    check_against_a_generic_solver(rule, seed)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", ["select", "sort"])
def test_edges(rule: str, method: str) -> None:
    assert block_step([], 1.0, rule=rule, method=method).size == 0
    assert block_step([5.0, 1.0], 0.0, rule=rule, method=method).tolist() == [0.0, 0.0]
    assert block_step([-1.0, 0.0], 1.0, rule=rule, method=method).tolist() == [0.0, 0.0]
    # One rival: half of v, up to c.
    assert block_step([1.0], 9.0, rule=rule, method=method).tolist() == [0.5]
    assert block_step([1.0], 0.1, rule=rule, method=method).tolist() == pytest.approx([0.1])


@pytest.mark.parametrize("method", ["select", "sort"])
@pytest.mark.parametrize("c", 10.0 ** np.arange(-20.0, 1.0, 2.0))
def test_costs_below_the_rounding_of_v(c: float, method: str) -> None:
    # The sum is at its limit; what is within c of the largest value shares it.
    step = block_step([5.0, 3.0], c, rule="crammer_singer", method=method)
    np.testing.assert_allclose(step, [c, 0.0], rtol=1e-12)
    step = block_step([1e6, 1e6, -1.0], c, rule="crammer_singer", method=method)
    np.testing.assert_allclose(step, [0.5 * c, 0.5 * c, 0.0], rtol=1e-12)
    step = block_step([1e6, 1e6, -1.0], c, rule="weston_watkins", method=method)
    np.testing.assert_allclose(step, [c, c, 0.0], rtol=1e-12)
    # Differences of v that are as small as c count.
    near = np.array([1e-7, 1e-7 - 0.5 * c, 1e-7 - 3.0 * c])
    if c < 1e-13:
        below = near - near.max()
        step = block_step(near, c, rule="crammer_singer", method=method)
        assert step.sum() == pytest.approx(c, rel=1e-12)
        taking = step > 0.0
        np.testing.assert_allclose((step - below)[taking], (step - below)[0], rtol=1e-9)
        assert (below[~taking] <= below[0] - step[0]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], 1.0), "one dimension"),
        (([np.nan], 1.0), "v must be finite"),
        (([1.0], -1.0), "c must be finite and not negative"),
        (([1.0], np.inf), "c must be finite and not negative"),
    ],
)
def test_refusals(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        block_step(*arguments)


def test_refuses_unknown_names() -> None:
    with pytest.raises(ValueError, match="rule must be one of"):
        block_step([1.0], 1.0, rule="ovr")
    with pytest.raises(ValueError, match="method must be 'select' or 'sort'"):
        block_step([1.0], 1.0, method="guess")
