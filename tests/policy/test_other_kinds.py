"""Decisions about joint multiclass, robust and kernel problems, without a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from policy_shapes import leg
from widemargin.auto.decision import Auto, Leg
from widemargin.auto.kernel import KernelMulticlassPolicy, KernelPolicy, KernelShape
from widemargin.auto.multiclass import MulticlassPolicy, MulticlassShape
from widemargin.auto.prediction import steps_to_go
from widemargin.auto.registry import choice_of
from widemargin.auto.robust import RobustPolicy, RobustShape
from widemargin.auto.robust_stages import HybridStages, ProximalStages
from widemargin.data.rows import Rows
from widemargin.data.work import Size
from widemargin.methods.base import Progress
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import LOSSES
from widemargin.run import run

JOINT = MulticlassPolicy()
ROBUST_METHODS = frozenset({"interior_point", "reduced_interior_point", "ippa", "isg"})


def joint(rows: int, weights: int, classes: int, served: bool = True) -> MulticlassShape:
    size = Size(rows, weights, rows * weights)
    return MulticlassShape(size, classes, -(-classes // 4) * 4, served, 1e-4)


def test_joint_problems_begin_with_sweeps() -> None:
    assert JOINT.first(joint(6_000, 60, 20), "").method == "block_dual_cd"
    assert JOINT.first(joint(1_800, 4_000, 30, served=False), "").method == "block_dual_cd"


def test_joint_problems_begin_with_newton_steps_where_sweeps_are_hardly_an_option() -> None:
    """17064 x 13 at C = 9: sweeps that only told took a fifth of the time."""
    hard = replace(joint(17_000, 13, 3), stiffness=190.0, tol=1e-6)
    assert JOINT.first(hard, "").method == "proximal_newton"
    # Easier: 9984 x 4 at C = 21 took sweeps a quarter of the steps' time.
    assert JOINT.first(replace(hard, stiffness=15.0), "").method == "block_dual_cd"
    # From a point near the solution a few sweeps may do.
    assert JOINT.first(replace(hard, warm=True), "").method == "block_dual_cd"
    # The same doubt, but sweeps tell for a hundredth of what the steps cost.
    dear = replace(joint(20_000, 790, 3), stiffness=1e5, tol=1e-3)
    assert JOINT.expected(dear) > 10.0 * dear.steps(20_000)
    assert JOINT.first(dear, "").method == "block_dual_cd"
    # So few examples that all may be put right: 200 x 68, 20 classes, took sweeps a 25th.
    few = replace(joint(200, 68, 20), stiffness=4e3)
    assert JOINT.first(few, "").method == "block_dual_cd"
    # Steps that begin and do not get ahead give way to sweeps.
    spent = leg("proximal_newton", 2.1 * hard.steps(17_000), 80, 1.0, 0.999)
    decision = JOINT.next(hard, [spent], "")
    assert decision is not None
    assert decision.method == "block_dual_cd"


def test_joint_sweeps_with_few_examples_among_all_weights_are_not_given_up() -> None:
    """200 x 68 with 20 classes: the gap stands near one for some sweeps, and then falls."""
    few = replace(joint(200, 68, 20), stiffness=4e3)
    assert JOINT.expected(few) < 0.5 * few.steps(200)
    saturated = leg("block_dual_cd", 20.0 * few.sweep, 5, 1.0, 0.999)
    saturated.active = 200
    assert JOINT.next(few, [saturated], "") is None
    # As many sweeps on more examples than weights show that Newton steps are cheaper.
    many = replace(joint(20_000, 68, 3), stiffness=4e3)
    saturated = leg("block_dual_cd", 20.0 * many.sweep, 5, 1.0, 0.999)
    saturated.active = 20_000
    assert JOINT.next(many, [saturated], "") is not None


@pytest.mark.parametrize("rows", [10, 300, 50_000])
@pytest.mark.parametrize("weights", [2, 600])
def test_no_joint_offer_costs_less_than_the_least_price(rows: int, weights: int) -> None:
    """Sweeps that end for less are not weighed against offers: none may be cheaper than that."""
    shape = joint(rows, weights, 3)
    assert all(offer.price > JOINT.least_price(shape) > 0.0 for offer in JOINT.offers(shape))


def test_joint_problems_with_few_rows_have_newton_steps_in_row_space() -> None:
    """497 x 5370 with three classes at a large C: sweeps made no progress, and nothing followed."""
    shape = joint(500, 5_000, 3, served=False)
    (offer,) = JOINT.offers(shape)
    assert (offer.method, offer.in_row_space) == ("proximal_newton", True)
    hopeless = leg("block_dual_cd", 2.0 * offer.price, 20, 1.0, 0.99)
    decision = JOINT.next(shape, [hopeless], "")
    assert decision is not None
    assert decision.in_row_space
    assert JOINT.offers(joint(5_000, 500, 3, served=False)) == []


def test_joint_sweeps_give_way_when_newton_is_cheaper() -> None:
    shape = joint(6_000, 60, 20)
    price = shape.steps(500)
    hopeless = leg("block_dual_cd", 0.5 * price, 20, 1.0, 0.85)
    hopeless.active = 500
    decision = JOINT.next(shape, [hopeless], "")
    assert decision is not None
    assert decision.method == "proximal_newton"
    assert JOINT.next(joint(6_000, 60, 20, served=False), [hopeless], "") is None
    early = leg("block_dual_cd", 0.01 * price, 20, 1.0, 0.9)
    assert JOINT.next(shape, [early], "") is None
    ending = leg("block_dual_cd", price, 20, 1.0, 2e-4)
    ending.active = 500
    assert JOINT.next(shape, [ending], "") is None


def test_a_joint_loan_is_recalled() -> None:
    shape = joint(6_000, 60, 20)
    swept = leg("block_dual_cd", 0.3 * shape.steps(500), 20, 1.0, 0.05)
    swept.active = 500
    spent = leg("proximal_newton", 3.0 * shape.steps(500), 10, 0.9, 0.8)
    spent.active = 500
    decision = JOINT.next(shape, [swept, spent], "")
    assert decision is not None
    assert decision.method == "block_dual_cd"
    stalled = Leg("proximal_newton", [1.0], [1e-9], finished=True)
    decision = JOINT.next(shape, [stalled], "")
    assert decision is not None
    assert decision.method == "block_dual_cd"


def test_robust_problems_follow_the_central_path() -> None:
    shape = RobustShape(Size(1_000, 20, 20_000), ROBUST_METHODS)
    policy = RobustPolicy()
    assert policy.first(shape, "").method == "interior_point"
    assert policy.next(shape, [Leg("interior_point", [1.0], [0.1])], "") is None
    done = Leg("interior_point", [1.0], [0.1], finished=True)
    decision = policy.next(shape, [done], "")
    assert decision is not None
    assert decision.method == "ippa"
    without = RobustShape(shape.size, ROBUST_METHODS - {"ippa"})
    assert policy.next(without, [done], "") is None


@pytest.mark.parametrize(
    ("sequence", "warm", "first"),
    [
        (ProximalStages(), False, "ippa"),
        (HybridStages(), False, "isg"),
        (HybridStages(), True, "ippa"),
    ],
)
def test_sequences_begin_as_published(sequence: ProximalStages, warm: bool, first: str) -> None:
    shape = RobustShape(Size(1_000, 20, 20_000), ROBUST_METHODS, warm)
    assert sequence.first(shape, "").method == first


def test_sequences_go_on_when_the_gap_stands_still() -> None:
    shape = RobustShape(Size(1_000, 20, 20_000), ROBUST_METHODS - {"reduced_interior_point"})
    still = leg("isg", 1.0, 60, 0.5, 0.49)
    decision = HybridStages().next(shape, [still], "")
    assert decision is not None
    assert decision.method == "ippa"
    assert HybridStages().next(shape, [leg("ippa", 1.0, 60, 0.5, 0.49)], "") is None


def test_kernels_hand_over_to_a_factor_once() -> None:
    shape, joint = KernelShape(100, 1, True), KernelShape(150, 3, False)
    assert KernelPolicy().first(shape, "").method == "dual_cd"
    assert KernelMulticlassPolicy().first(joint, "").method == "block_dual_cd"
    short, long = Leg("dual_cd", passes=20.0), Leg("dual_cd", passes=1000.0)
    assert KernelPolicy().next(shape, [short], "") is None
    for made in (long, Leg("dual_cd", finished=True)):
        decision = KernelPolicy().next(shape, [made], "")
        assert decision is not None
        assert (decision.method, decision.in_row_space) == ("newton", True)
        assert KernelPolicy().next(shape, [made, Leg("newton", finished=True)], "") is None
    assert KernelPolicy().next(KernelShape(0, 1, True), [long], "") is None
    for rows, method in ((150, "proximal_newton"), (1500, "block_dual_cd")):
        made = Leg("block_dual_cd", finished=True)
        decision = KernelMulticlassPolicy().next(KernelShape(rows, 3, False), [made], "")
        assert decision is not None
        assert decision.method == method


def test_the_explanation_is_what_ran() -> None:
    """Each method of the trace stands in the explanation, in its order, with its cause."""
    random = np.random.default_rng(0)
    X = random.standard_normal((900, 300))
    y = np.where(X[:, 0] + random.standard_normal(900) > 0.0, 1.0, -1.0)
    problem = BinaryProblem(Rows.of(X), y, np.full(900, 10.0), LOSSES["hinge"], False)
    choice = choice_of("auto", BinaryProblem)
    assert isinstance(choice, Auto)
    solution = run(problem, choice, tol=1e-6)
    ran = list(dict.fromkeys(record.method for record in solution.trace))
    assert [part.split(" (")[0] for part in solution.solver.split(" -> ")] == ran
    assert len(ran) == 2


def test_the_best_gap_so_far_counts_and_long_runs_are_asked_less_often() -> None:
    class Recorder(KernelPolicy):
        asked: list[list[float]] = []

        def next(self, shape: KernelShape, legs: Sequence[Leg], follows: str) -> None:
            self.asked.append(list(legs[-1].gaps))

    policy = Recorder()
    choice = Auto(policy)
    choice._legs.append(Leg("dual_cd"))
    progress = Progress(None, "dual_cd", 1e-4)
    for gap in [0.5, 0.1, 0.3, 0.2, *[0.05] * 996]:
        progress.expected.append(gap)
        assert choice.next(progress) is None
    assert policy.asked[3] == [0.5, 0.1, 0.1, 0.1]
    assert 40 < len(policy.asked) < 100


def test_estimates_that_a_certificate_refuted_count_no_more() -> None:
    class Recorder(KernelPolicy):
        seen: list[float] = []

        def next(self, shape: KernelShape, legs: Sequence[Leg], follows: str) -> None:
            self.seen[:] = legs[-1].gaps

    policy = Recorder()
    choice = Auto(policy)
    choice._legs.append(Leg("dual_cd"))
    progress = Progress(None, "dual_cd", 1e-12)
    for gap, proved in [(0.1, 0.0), (1e-17, 0.0), (1e-17, 5e-10), (1e-18, 5e-10)]:
        progress.expected.append(gap)
        progress.proved = proved
        choice.next(progress)
        if proved > 0.0 and len(policy.seen) == 3:  # for the first time: the rate is kept
            assert policy.seen[1:] == pytest.approx([5e-10, 5e-10])
            assert 0.1 < policy.seen[0] < 1.0
    assert policy.seen[1:] == pytest.approx([5e-10, 5e-10, 5e-10])
    assert steps_to_go(policy.seen, 1e-12) == math.inf
