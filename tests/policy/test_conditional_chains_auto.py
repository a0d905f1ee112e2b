"""Decisions about conditional random fields, without a fit, and what they end in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from policy_shapes import leg
from widemargin import SequenceCRF
from widemargin.auto.conditional import PASSES, STEPS, ConditionalPolicy, ConditionalShape
from widemargin.auto.decision import Leg
from widemargin.data.work import Size

POLICY = ConditionalPolicy()
# 200 OCR words, 1474 letters of 128 pixels: a step of L-BFGS costs about a gradient.
WORDS = ConditionalShape(Size(1474, 128, 1474 * 128), 2.7e6, 8e5, 1e-4, 29.0)
# 300 sentences of CoNLL-2000: the weights cost a step more than the gradient does.
SENTENCES = ConditionalShape(Size(7189, 30_045, 136_000), 7.3e6, 1e7, 1e-4, 20.0)


@pytest.mark.parametrize(
    ("shape", "passes", "before", "now", "hands_over"),
    [
        (WORDS, 3, 1.0, 0.5, False),  # nothing is known yet
        (WORDS, 12, 1e-1, 1e-3, False),  # two digits in twelve passes: one more is near
        (WORDS, 12, 1.0, 0.9, True),
        (replace(WORDS, stiffness=3e4), 8, 1.0, 0.99, True),
        (replace(WORDS, stiffness=3e7), 60, 1.0, 0.99, True),
        (SENTENCES, 12, 1e-1, 1e-3, False),
        (SENTENCES, 12, 1.0, 0.5, False),  # steps are too dear to be tried so soon
        (replace(SENTENCES, stiffness=170.0), 100, 1.0, 0.99, True),
        (replace(SENTENCES, stiffness=2e5), 100, 1e-2, 2e-4, False),  # nearly there
    ],
)
def test_block_ascent_gives_way_where_it_gets_nowhere(
    shape: ConditionalShape, passes: int, before: float, now: float, hands_over: bool
) -> None:
    assert POLICY.first(shape, "").method == PASSES
    made = leg(PASSES, passes * shape.visits, passes, before, now)
    decision = POLICY.next(shape, [made], "")
    assert (decision is not None) == hands_over
    if decision is not None:
        assert decision.method == STEPS
        assert "block ascent needed" in decision.cause


def test_a_loan_of_steps_is_recalled_and_doubles() -> None:
    made = leg(PASSES, 12 * WORDS.visits, 12, 1.0, 0.05)
    price = POLICY.offers(WORDS)[0].price
    begun = leg(STEPS, 1.9 * price, 50, 0.9, 0.85)
    assert POLICY.next(WORDS, [made, begun], "") is None
    spent = leg(STEPS, 2.1 * price, 50, 0.9, 0.85)
    decision = POLICY.next(WORDS, [made, spent], "")
    assert decision is not None
    assert (decision.method, decision.pauses) == (PASSES, True)
    # Block ascent has to spend more before it gives way again, and the next loan is twice as large.
    again = leg(PASSES, 0.3 * price, 12, 0.04, 0.039)
    assert POLICY.next(WORDS, [made, spent, again], "") is None
    again = leg(PASSES, 4.0 * price, 12, 0.04, 0.039)
    decision = POLICY.next(WORDS, [made, spent, again], "")
    assert decision is not None
    assert decision.method == STEPS
    assert POLICY.next(WORDS, [made, spent, again, spent], "") is None


def test_where_one_stalls_the_other_goes_on() -> None:
    stalled = Leg(PASSES, [1.0], [1e-3], finished=True)
    decision = POLICY.next(WORDS, [stalled], "")
    assert decision is not None
    assert decision.method == STEPS
    both = [stalled, Leg(STEPS, [1.0], [1e-3], finished=True)]
    assert POLICY.next(WORDS, both, "") is None


@pytest.mark.parametrize("method", [PASSES, STEPS])
def test_what_worked_at_the_last_C_begins(method: str) -> None:
    assert POLICY.first(WORDS, method).method == method


def words(seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return sentences whose labels only stay or grow by one, with much noise."""
    random = np.random.default_rng(seed)
    y = [np.cumsum(random.random(random.integers(3, 12)) < 0.3) % 4 for _ in range(100)]
    means = random.standard_normal((4, 10))
    return [means[own] + random.standard_normal((len(own), 10)) for own in y], y


@pytest.mark.parametrize(
    ("C", "scale"), [(1e3, 1.0), (1e4, 1.0), (1e-2, 30.0), (1.0, 30.0), (0.1, 1000.0)]
)
def test_stiff_problems_end_certified(C: float, scale: float) -> None:
    """Block ascent alone had gaps of 0.3 to 6 there after thousands of passes."""
    X, y = words()
    model = SequenceCRF(C).fit([scale * x for x in X], y)
    assert model.certificate_.relative_gap <= model.tol
    assert model.solver_.startswith(PASSES)
    assert f"-> {STEPS} (block ascent needed" in model.solver_


def test_duals_in_single_precision_do_not_end_a_run() -> None:
    """What rounds in block ascent's dual point does not round in marginals at the weights."""
    random = np.random.default_rng(1)
    X = [random.standard_normal((5, 40)) for _ in range(12)]
    y = [random.integers(3, size=5) for _ in X]
    model = SequenceCRF(1e6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert f"-> {STEPS} ({PASSES} could not improve further" in model.solver_
    with pytest.warns(ConvergenceWarning, match="double precision"):
        SequenceCRF(1e6, solver=PASSES).fit(X, y)
