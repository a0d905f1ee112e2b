"""How Newton's method begins: with sweeps where labels are clean, else on samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.atlas.data import generate
from benchmarks.atlas.design import cell_at

from oracle import Oracle
from widemargin.auto.machine import MACHINE
from widemargin.auto.registry import Named, choice_of, method_named
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet
from widemargin.methods.base import Settings
from widemargin.methods.coordinate.dual_cd import DualCD
from widemargin.methods.newton._opening import sweeps_go_on
from widemargin.methods.newton.newton import Newton, NewtonState
from widemargin.methods.newton.proximal_newton import ProximalNewton
from widemargin.methods.newton.row_space import RowSpace
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.multiclass import RULES, MulticlassProblem
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.run import Status, run

SMOOTH = ("squared_hinge", "logistic")


def sparse_data(
    flipped: float, count: int = 5000, weights: int = 80
) -> tuple[np.ndarray, np.ndarray]:
    """Categories, one in each group of eight columns; the label follows from the first group."""
    random = np.random.default_rng(0)
    X = np.zeros((count, weights))
    for group in range(weights // 8):
        X[np.arange(count), 8 * group + random.integers(0, 8, count)] = 1.0
    y = np.where(X[:, :4].any(axis=1), 1.0, -1.0)
    y[random.random(count) < flipped] *= -1.0
    return X, y


def problem_of(flipped: float, loss: str, free: bool = False, **shape: int) -> BinaryProblem:
    X, y = sparse_data(flipped, **shape)
    return BinaryProblem(Rows.of(sp.csr_matrix(X)), y, np.full(y.size, 1.0), LOSSES[loss], free)


@pytest.mark.parametrize("loss", SMOOTH)
def test_clean_labels_are_swept_over(loss: str) -> None:
    state = Newton().start(problem_of(0.0, loss), None, Settings(1e-6, 0))
    assert state.opening is not None
    while state.opening is not None:
        Newton().advance(state)
    assert 2.0 <= state.passes <= 5.0
    assert state.problem is state.whole
    assert not state.stages


def swept_out(costs: float, tol: float) -> NewtonState:
    """Advance until the sweeps before the first step have ended, or claim the tolerance."""
    problem = problem_of(0.0, "logistic").rescaled(costs)
    state = Newton().start(problem, None, Settings(tol, 0))
    while state.opening is not None and state.expected_gap > tol:
        Newton().advance(state)
    return state


def gap_of(state: NewtonState) -> float:
    return state.whole.certify(state.point)[1].relative_gap


def test_sweeps_that_meet_the_tolerance_end_a_fit() -> None:
    state = swept_out(0.3, 1e-2)
    assert state.opening is not None
    assert gap_of(state) <= 1e-2


def test_a_claim_of_sweeps_that_was_not_true_is_followed_by_a_step() -> None:
    state = swept_out(0.1, 3e-3)
    assert state.expected_gap <= 3e-3 < gap_of(state)
    Newton().advance(state)
    assert state.opening is None
    assert gap_of(state) <= 1e-4


@pytest.mark.parametrize(("tol", "goes_on"), [(7e-3, True), (1e-9, False)])
def test_sweeps_go_on_where_they_cost_less_than_a_step(tol: float, goes_on: bool) -> None:
    """A sweep that has cut the gap to a seventh is likely to do so again."""
    problem = problem_of(0.0, "squared_hinge")
    opening = DualCD().start(problem, None, Settings(tol, 0))
    opening.passes, opening.expected_gap = 3.0, 8e-3
    assert sweeps_go_on(problem, opening, 6e-2) == goes_on


@pytest.mark.parametrize("loss", SMOOTH)
def test_noisy_labels_are_sampled(loss: str) -> None:
    state = Newton().start(problem_of(0.25, loss), None, Settings(1e-6, 0))
    assert state.opening is None
    assert state.problem.rows.count < state.whole.rows.count


@pytest.mark.parametrize("loss", SMOOTH)
def test_many_rows_a_weight_are_sampled(loss: str) -> None:
    """However clean: their samples are large enough."""
    problem = problem_of(0.0, loss, count=8 * 250, weights=8)
    state = Newton().start(problem, None, Settings(1e-6, 0))
    assert state.opening is None


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", SMOOTH)
def test_every_step_of_the_opening_is_an_answer(loss: str, free: bool) -> None:
    """A run may end between the sweeps; what it returns is certified and goes on from there."""
    problem = problem_of(0.0, loss, free)
    judge = Oracle(sparse_data(0.0)[0], problem.y, problem.cost, loss, free)
    nothing = judge.primal(np.zeros(problem.rows.weights), 0.0)
    for steps in (1, 2, 3):
        solution = run(problem, choice_of("newton", BinaryProblem), tol=1e-9, max_iter=steps)
        assert solution.status is Status.ITERATION_LIMIT
        P, D = judge.primal(solution.w, float(solution.b)), judge.dual(solution.alpha)
        assert solution.certificate.primal == pytest.approx(P, rel=1e-9)
        assert solution.certificate.dual == pytest.approx(D, rel=1e-9, abs=1e-9 * P)
        assert nothing > 10.0 * P
    whole = run(problem, choice_of("newton", BinaryProblem), tol=1e-9, warm=solution.point)
    assert whole.status is Status.CONVERGED


@pytest.mark.parametrize("loss", SMOOTH)
def test_both_beginnings_end_at_the_optimum(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(0.0, loss, True)
    swept = run(problem, choice_of("newton", BinaryProblem), tol=1e-8)
    sampling = replace(MACHINE, many_rows=0)
    monkeypatch.setattr("widemargin.methods.newton.newton.MACHINE", sampling)
    sampled = run(problem, choice_of("newton", BinaryProblem), tol=1e-8)
    rounding = 1e-12 * sampled.certificate.primal
    assert swept.certificate.dual <= sampled.certificate.primal + rounding
    assert sampled.certificate.dual <= swept.certificate.primal + rounding


def test_work_before_a_handover_is_counted() -> None:
    """Passes go on counting when another method takes over."""
    random = np.random.default_rng(2)
    X = random.standard_normal((900, 300))
    y = np.where(X[:, 0] + random.standard_normal(900) > 0.0, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(900, 10.0), LOSSES["hinge"], False)
    solution = run(problem, choice_of("auto", BinaryProblem), tol=1e-6)
    assert {record.method for record in solution.trace} == {"dual_cd", "interior_point"}
    passes = [record.passes for record in solution.trace]
    assert passes[0] > 3.0
    assert passes == sorted(passes)
    assert solution.passes == passes[-1] > passes[0]


def one_step_at_a_time(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Let small steps cost so much that none follows another in one call."""
    path = f"widemargin.methods.newton.{module}.small_step_work"
    monkeypatch.setattr(path, lambda _: 2.0 * MACHINE.small_steps * MACHINE.step)


def test_passes_grow_with_every_step_on_the_factor_of_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An inner pass reads n² values, one over the data n·d; forming X Xᵀ takes n/2 passes."""
    one_step_at_a_time(monkeypatch, "proximal_newton")
    n, d = 40, 100
    random = np.random.default_rng(0)
    X, y = random.normal(size=(n, d)), np.where(np.arange(n) % 2, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(n, 1.0), LOSSES["hinge"], False)
    method = RowSpace(ProximalNewton())
    state = method.start(problem, None, Settings(1e-6, 0))
    for steps in range(3):
        assert state.passes == pytest.approx(0.5 * n + steps * 2.0 * n / d)
        method.advance(state)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("count", "weights"), [(120, 60), (200, 100)])
def test_large_costs_are_approached_from_below(count: int, weights: int, free: bool) -> None:
    """At once, these took 20 to 80 steps: which examples are inside the margin was not sorted."""
    random = np.random.default_rng(3)
    X = random.normal(size=(count, weights))
    y = np.where(random.random(count) < 0.5, 1.0, -1.0)
    loss = LOSSES["squared_hinge"]
    problem = BinaryProblem(Rows.of(X), y, np.full(count, 1000.0), loss, free)
    solution = run(problem, choice_of("newton", BinaryProblem), tol=1e-8)
    assert solution.status is Status.CONVERGED
    assert solution.iterations <= 30


def test_lowered_costs_begin_with_a_system_of_their_own() -> None:
    """With a factor of the matrix at full costs, steps at lowered ones were short: 210, not 21."""
    random = np.random.default_rng(0)
    X = (random.random((1200, 400)) < random.uniform(0.1, 0.6, 400)).astype(float)
    score = X[:, :20].sum(1)
    y = np.where(score - score.mean() - 2.0 + random.normal(size=1200) > 0.0, 1.0, -1.0)
    loss = LOSSES["squared_hinge"]
    problem = BinaryProblem(Rows.of(X), y, np.full(1200, 100.0), loss, False)
    sweeps = run(problem, choice_of("dual_cd", BinaryProblem), tol=1e-6, max_iter=4)
    newton = choice_of("newton", BinaryProblem)
    solution = run(problem, newton, tol=1e-6, warm=sweeps.point)
    assert solution.status is Status.CONVERGED
    assert solution.iterations <= 40


def test_costs_are_full_where_steps_get_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    one_step_at_a_time(monkeypatch, "newton")
    random = np.random.default_rng(3)
    X = random.normal(size=(600, 30))
    y = np.where(X[:, 0] + random.normal(size=600) > 0.0, 1.0, -1.0)
    loss = LOSSES["squared_hinge"]
    problem = BinaryProblem(Rows.of(X), y, np.full(600, 1000.0), loss, True)
    solution = run(problem, choice_of("newton", BinaryProblem), tol=1e-8)
    assert solution.iterations <= 7


@pytest.mark.parametrize("loss", ["hinge", *SMOOTH])
@pytest.mark.parametrize("free", [False, True])
def test_a_small_step_in_one_call_is_the_same_step(
    loss: str, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(0.1, loss, free, count=200, weights=16)
    method = ProximalNewton() if loss == "hinge" else Newton()
    module = f"widemargin.methods.newton.{method.name}"
    one_step_at_a_time(monkeypatch, method.name)
    points = []
    for small in (True, False):
        monkeypatch.setattr(f"{module}.is_small", lambda _, small=small: small)
        state = method.start(problem, None, Settings(1e-6, 0))
        gaps = []
        for _ in range(6):
            method.advance(state)
            gaps.append(state.expected_gap)
        points.append((state.point, gaps))
    (one, one_gaps), (other, other_gaps) = points
    np.testing.assert_allclose(one.w, other.w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(one.alpha, other.alpha, rtol=1e-7, atol=1e-9)
    assert one.b == pytest.approx(other.b, rel=1e-8, abs=1e-9)
    np.testing.assert_allclose(one_gaps, other_gaps, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("free", [False, True])
def test_a_small_multinomial_step_in_one_call_finds_the_same_point(
    free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not step by step: conjugate gradients leave more of each equation than a factor does."""
    random = np.random.default_rng(0)
    X, label = random.normal(size=(90, 4)), random.integers(0, 3, 90).astype(np.int32)
    problem = MultinomialProblem(Rows.of(X), label, random.uniform(0.0, 2.0, 90), 3, free)
    found = []
    for small in (True, False):
        monkeypatch.setattr(
            "widemargin.methods.newton.multinomial._in_one_call", lambda _, small=small: small
        )
        found.append(run(problem, choice_of("newton", MultinomialProblem), tol=1e-10))
    one, other = found
    assert one.status is other.status is Status.CONVERGED
    assert one.iterations <= other.iterations
    np.testing.assert_allclose(one.w, other.w, atol=1e-6)
    np.testing.assert_allclose(one.b, other.b, atol=1e-6)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-10)


def test_weights_in_row_space_have_the_scores_of_the_inner_point() -> None:
    """The jitter of the factor must not cost digits: at C = 1000 the gap stood still at 3e-8."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 120))
    y = np.where(random.random(60) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(60, 1e3), LOSSES["hinge"], False)
    method = RowSpace(ProximalNewton())
    state = method.start(problem, None, Settings(1e-9, 0))
    for _ in range(3):
        method.advance(state)
    wanted = np.asarray(state.factor.stored.T @ state.inner.point.w)
    off = np.abs(X @ state.point.w - wanted).max()
    assert off <= 1e-14 * np.abs(wanted).max()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("free", [False, True])
def test_joint_problems_in_row_space_have_the_same_solution(rule: str, free: bool) -> None:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(40, 150)), random.integers(0, 3, size=40)
    problem = MulticlassProblem.of(TrainingSet.of(X, y, C=2.0, fit_intercept=free), rule)
    method = method_named("proximal_newton", MulticlassProblem)
    wanted = run(problem, Named(method), tol=1e-8)
    found = run(problem, Named(RowSpace(method)), tol=1e-8, warm=None)
    assert found.status is Status.CONVERGED
    assert found.w.shape == wanted.w.shape
    assert found.certificate.primal == pytest.approx(wanted.certificate.primal, rel=1e-7)
    again = run(problem.rescaled(2.0), Named(RowSpace(method)), tol=1e-6, warm=found.point)
    assert again.status is Status.CONVERGED


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("length", [-1.0, 1e-3, 1e3])
def test_the_start_is_the_best_multiple_of_warm_weights(loss: str, length: float) -> None:
    """Weights that sweeps leave early are often too long, and worse than none."""
    problem = problem_of(0.1, loss, True)
    optimum = run(problem, choice_of("newton", BinaryProblem), tol=1e-6)
    warm = replace(optimum.point, w=length * optimum.w, b=length * optimum.b)
    state = Newton().start(problem, warm, Settings(1e-6, 0))
    primal = problem.primal(state.w, state.b, problem.rows.scores(state.w))
    if length < 0.0:
        assert not state.w.any()
    else:
        # The line search ends where the slope is a tenth of that at zero.
        at_zero = problem.primal(0.0 * state.w, 0.0, np.zeros(problem.rows.count))
        assert primal - optimum.certificate.primal <= 0.1 * (at_zero - optimum.certificate.dual)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_weights_that_prove_nothing_are_no_start(loss: str) -> None:
    """A few sweeps over a stiff problem lead nowhere; a step from zero leads further."""
    random = np.random.default_rng(3)
    X = random.normal(size=(120, 400)) * np.logspace(0.0, 3.0, 400)
    y = np.where(random.random(120) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(120, 1e-2), LOSSES[loss], False)
    early = run(problem, choice_of("dual_cd", BinaryProblem), tol=1e-6, max_iter=2)
    assert early.certificate.relative_gap > 0.5
    assert not Newton().start(problem, early.point, Settings(1e-6, 0)).w.any()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_solution_that_is_hardly_lower_than_zero_is_a_start(loss: str) -> None:
    """Random labels: the least objective is most of that at zero."""
    random = np.random.default_rng(4)
    X = random.normal(size=(300, 5))
    y = np.where(random.random(300) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(300, 1.0), LOSSES[loss], False)
    optimum = run(problem, choice_of("newton", BinaryProblem), tol=1e-9)
    at_zero = problem.primal(np.zeros(5), 0.0, np.zeros(300))
    assert optimum.certificate.primal > 0.9 * at_zero
    state = Newton().start(problem, optimum.point, Settings(1e-6, 0))
    np.testing.assert_allclose(state.w, optimum.w, rtol=0.2)


@pytest.mark.parametrize("loss", ["hinge", *SMOOTH])
def test_several_small_steps_in_one_call_are_the_same_steps(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(0.1, loss, True, count=200, weights=16)
    name = "proximal_newton" if loss == "hinge" else "newton"
    together = run(problem, choice_of(name, BinaryProblem), tol=1e-6)
    one_step_at_a_time(monkeypatch, name)
    alone = run(problem, choice_of(name, BinaryProblem), tol=1e-6)
    np.testing.assert_array_equal(together.w, alone.w)
    assert together.passes == alone.passes
    assert together.iterations == alone.iterations
    stopped = run(problem, choice_of(name, BinaryProblem), tol=1e-12, max_iter=2)
    assert stopped.iterations == 2


def test_intervals_are_not_narrowed_while_the_gap_is_in_the_weights() -> None:
    """From where sweeps had got to, 69 steps halved the interval to nothing and stalled."""
    cell = cell_at(2525, 1)
    X, y = generate(cell)
    data = TrainingSet.of(X, y, C=cell.C, fit_intercept=cell.intercept)
    problem = BinaryProblem.of(data, 1, LOSSES["hinge"])
    swept = run(problem, choice_of("dual_cd", BinaryProblem), tol=1e-6, max_iter=448)
    assert swept.certificate.relative_gap > 0.01
    steps = choice_of("proximal_newton", BinaryProblem)
    assert run(problem, steps, tol=1e-6, warm=swept.point, max_iter=40).status is Status.CONVERGED


@pytest.mark.parametrize(
    ("steps", "lowered"),
    [
        # Mushrooms at C = 100: the objective and the relative gap that each step left.
        ([(991.5, 1.02), (93.87, 1.27), (8.18, 4.67), (7.80, 0.69), (7.68, 1.12)], False),
        ([(991.5, 1.02), (600.0, 1.27), (300.0, 4.67)], True),
        ([(9.3, 1.02), (9.2, 0.89), (9.1, 0.95)], False),
    ],
)
def test_steps_that_lower_the_objective_by_far_are_ahead(
    steps: list[tuple[float, float]], lowered: bool
) -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(600, 30))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    loss = LOSSES["squared_hinge"]
    problem = BinaryProblem(Rows.of(X), y, np.full(600, 1000.0), loss, False)
    method, state = Newton(), Newton().start(problem, None, Settings(tol=1e-4, seed=0))
    for state.primal, gap in steps:
        assert state.share == 1.0
        method._judge(state, problem.loss.clip(y, problem.cost), None, gap * state.primal)
    assert (state.share < 1.0) == lowered
