"""Newton steps of all classes at once: what they hand out, where they start, how exact they are."""

from __future__ import annotations

import numpy as np
import pytest

from oracle_multiclass import RULES, make_classes
from widemargin.auto.machine import MACHINE
from widemargin.data.rows import Rows
from widemargin.data.work import Size
from widemargin.linalg import conjugate_gradients as gradients
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.block_dual_cd import BlockDualCD
from widemargin.methods.newton import _multiclass_system as systems
from widemargin.methods.newton.multiclass import MulticlassNewton
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

SETTINGS = Settings(tol=1e-6, seed=0)


def problem(
    n: int = 6000, d: int = 4, k: int = 3, rule: str = RULES[0], cost: float = 1.0
) -> MulticlassProblem:
    X, y = make_classes(n, d, k, seed=2)
    label, costs = y.astype(np.int32), np.full(n, cost)
    return MulticlassProblem(Rows.of(X), label, costs, k, rule, False)


@pytest.mark.parametrize("rule", RULES)
def test_the_point_has_the_gap_that_was_expected(rule: str) -> None:
    """Also right after the interval was narrowed: the dual point of the next step is far worse."""
    case, newton = problem(rule=rule, cost=5.0), MulticlassNewton()
    state = newton.start(case, None, SETTINGS)
    narrowed = 0
    for _ in range(40):
        width = state.width
        newton.advance(state)
        proved = case.certify(state.point)[1].relative_gap
        # The certificate counts what rounding may have cost as well.
        assert proved <= 1.001 * state.expected_gap
        narrowed += state.width < width
        if state.expected_gap <= SETTINGS.tol:
            break
    assert state.expected_gap <= SETTINGS.tol
    assert narrowed >= 3


def sweeps(case: MulticlassProblem, count: int) -> Point:
    state = BlockDualCD().start(case, None, SETTINGS)
    for _ in range(count):
        BlockDualCD().advance(state)
    return state.point


def steps_from(case: MulticlassProblem, warm: Point | None, tol: float, most: int) -> int:
    newton = MulticlassNewton()
    state = newton.start(case, warm, Settings(tol=tol, seed=0))
    for step in range(1, most + 1):
        newton.advance(state)
        if state.expected_gap <= tol:
            return step
    return most + 1


def test_a_poor_warm_point_costs_hardly_more_steps_than_none() -> None:
    """Costs so large that a few sweeps leave a gap of one: a narrow interval takes 155 steps."""
    random = np.random.default_rng(3)
    X = random.uniform(size=(400, 120)) * np.geomspace(1.0, 100.0, 120)
    y = np.argmax(X @ random.normal(size=(120, 3)), axis=1)
    case = MulticlassProblem(
        Rows.of(X), y.astype(np.int32), np.full(400, 100.0), 3, "weston_watkins", True
    )
    warm = sweeps(case, 3)
    assert case.certify(warm)[1].relative_gap > 0.99
    cold = steps_from(case, None, 1e-3, 200)
    assert cold <= 200
    assert steps_from(case, warm, 1e-3, 200) <= 1.5 * cold


def test_a_good_warm_point_keeps_a_narrow_interval() -> None:
    case = problem(cost=0.1)
    warm = sweeps(case, 30)
    assert case.certify(warm)[1].relative_gap < 1e-4
    newton = MulticlassNewton()
    state = newton.start(case, warm, SETTINGS)
    assert state.gap - state.mismatch <= state.mismatch
    assert state.width == 4.0


def test_directions_are_as_exact_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conjugate gradients leave a tenth of the gradient, or what the tolerance leaves."""
    case = problem(n=300, d=40, k=8, cost=2.0)
    left: list[tuple[float, float]] = []

    def watched(product, right, precondition, enough, most):  # type: ignore[no-untyped-def]
        found = gradients.conjugate_gradients(product, right, precondition, enough, most)
        left.append((float(found[1] @ found[1]), float(right @ right)))
        return found

    monkeypatch.setattr(systems, "conjugate_gradients", watched)
    newton = MulticlassNewton()
    state = newton.start(case, None, Settings(tol=1e-6, seed=0))
    for _ in range(5):
        gradient = np.where(np.arange(state.weights.shape[0])[:, None] < 40, state.weights, 0.0)
        gradient = gradient - state.combination
        found, solved = systems._conjugate_gradients(case, state.ties, gradient, 1e-30)
        assert solved
        residual, size = left[-1]
        assert residual <= 0.01 * size
        assert residual >= 1e-8 * size or residual < 1e-20
        assert float(np.vdot(found, gradient)) < 0.0
        newton.advance(state)
    # What the tolerance leaves ends it at once.
    gradient = state.weights - state.combination
    systems._conjugate_gradients(case, state.ties, gradient, float(np.vdot(gradient, gradient)))
    assert left[-1][0] <= 2.0 * left[-1][1]


def test_a_product_is_priced_with_the_blocks_that_follow_it() -> None:
    """Where classes are many and rows are few, solving with the blocks takes most of the time."""
    size = Size(1200, 97, 6500)
    blocks = systems.tied_product(size, 20, 20, 1200) - systems.tied_product(size, 0, 20, 1200)
    assert blocks > 2.0 * size.block_product(20, 2.0)
    assert systems.iterative_work(size, 20, 20, 1200, 5000) > MACHINE.joint_products * blocks


def test_small_problems_show_how_far_they_are_while_they_go_on_to_the_last_digits() -> None:
    """Whoever decides between methods sees progress; no certificate is asked for before the end."""
    case, newton = problem(n=60, cost=5.0), MulticlassNewton()
    settings = Settings(tol=1e-3, seed=0)
    state = newton.start(case, None, settings)
    seen = []
    for _ in range(60):
        newton.advance(state)
        seen.append(state.expected_gap)
        if seen[-1] <= settings.tol:
            break
    assert np.isfinite(seen).all()
    assert min(seen[:-1]) == 2.0 * settings.tol
    assert case.certify(state.point)[1].relative_gap <= 1e-10
