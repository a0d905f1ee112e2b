"""What one class of a one-vs-rest fit shows the others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policy_shapes import leg, shape
from widemargin import LinearSVC, LogisticRegression
from widemargin.auto import prices
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.decision import Decision
from widemargin.auto.experience import Experience, Known, known_from, merged, worth_trying
from widemargin.auto.shape import BinaryShape
from widemargin.threads import first_alone

POLICY = BinaryPolicy()
HINGE, SQUARED, LOGISTIC = "hinge", "squared_hinge", "logistic"
TEXT = shape(1_900, 3_000, LOGISTIC, per_row=90, stiffness=100.0)
SWEPT = prices.expected(TEXT)


def after(found: BinaryShape, *known: Known, others: int = 0) -> BinaryShape:
    return replace(found, known=known, others=others)


# what is known, in multiples of what sweeps were expected to cost; classes that follow; the choice
CHOICES = [
    ([("dual_cd", 0.2, True)], 0, "dual_cd"),
    ([("dual_cd", 50.0, True)], 0, "newton"),  # others are predicted to cost much less
    ([("dual_cd", 1.0, False), ("newton", 0.5, True)], 0, "newton"),
    ([("dual_cd", 0.2, True), ("newton", 0.5, True)], 0, "dual_cd"),
    ([("quasi_newton", 0.1, True)], 0, "quasi_newton"),
    ([("dual_cd", math.inf, False), ("newton", 9.0, True)], 0, "quasi_newton"),
]


@pytest.mark.parametrize(("known", "others", "method"), CHOICES)
def test_other_classes_begin_with_what_took_the_least(
    known: list[tuple[str, float, bool]], others: int, method: str
) -> None:
    seen = [Known(name, False, share * SWEPT, finished) for name, share, finished in known]
    decision = POLICY.first(after(TEXT, *seen, others=others), "")
    assert decision.method == method
    assert decision.cause


def test_methods_that_sweeps_led_to_begin_on_other_classes() -> None:
    """They would not without knowing: see `Offer.begins`."""
    plain = shape(1_767, 226, HINGE, stiffness=400.0)
    seen = Known("dual_cd", False, 1e10, False), Known("proximal_newton", False, 1e7, True)
    assert POLICY.first(plain, "").method == "dual_cd"
    assert POLICY.first(after(plain, *seen), "").method == "proximal_newton"


def test_a_second_method_is_tried_where_many_classes_gain_by_it() -> None:
    price = min(offer.price for offer in POLICY._choices(TEXT) if offer.method != "dual_cd")
    seen = Known("dual_cd", False, 0.8 * price, True)
    assert not POLICY.tries(after(TEXT, seen, others=0))
    assert POLICY.tries(after(TEXT, seen, others=500))
    assert not POLICY.tries(after(TEXT, Known("dual_cd", False, 0.01 * price, True), others=500))


def test_trying_pays_for_itself() -> None:
    assert worth_trying(1.0, 0.7, 2.0, 0)  # likely to be cheaper at once
    assert not worth_trying(1.5, 0.7, 1.0, 1)
    assert worth_trying(1.5, 0.7, 1.0, 30)
    assert not worth_trying(30.0, 0.7, 1.0, 30)
    assert not worth_trying(1.0, 0.7, math.inf, 30)  # nothing is known
    assert not worth_trying(math.inf, 0.7, 1.0, 30)


def test_a_run_shows_what_each_method_took() -> None:
    decisions = [Decision("dual_cd", ""), Decision("newton", "", in_row_space=True)]
    legs = [leg("dual_cd", 2e6, 20, 1.0, 0.1), leg("newton", 5e6, 3, 0.1, 1e-3)]
    sweeps, newton = known_from(POLICY, TEXT, decisions, legs, 9e6, converged=True)
    assert (newton.method, newton.in_row_space, newton.finished) == ("newton", True, True)
    assert newton.work == pytest.approx(7e6)  # with the last step, which nobody was asked after
    assert not sweeps.finished
    assert sweeps.work >= 4e6  # what is left is no less than what was done
    stopped = known_from(POLICY, TEXT, decisions, legs, 9e6, converged=False)
    assert not any(each.finished for each in stopped)


def test_what_finished_counts_for_more_than_what_did_not() -> None:
    first, later = Known("newton", False, 2.0, True), Known("newton", False, 9.0, False)
    assert merged([first], [later]) == (first,)
    assert merged([later], [first]) == (first,)
    other = Known("newton", True, 5.0, True)
    assert merged([first], [other]) == (first, other)


def test_sweeps_that_were_enough_for_another_class_go_on() -> None:
    square = shape(1_500, 1_500, SQUARED, stiffness=100.0)
    price = prices.offers(square)[0].price
    slow = [leg("dual_cd", 0.35 * price, 20, 1.0, 0.85)]
    assert POLICY.next(square, slow, "") is not None
    known = Known("dual_cd", False, 0.8 * price, True)
    assert POLICY.next(after(square, known), slow, "") is None
    far = [leg("dual_cd", 2.0 * price, 20, 1.0, 0.85)]
    assert POLICY.next(after(square, known), far, "") is not None


def test_a_method_on_trial_gives_way_to_what_is_known_to_take_less() -> None:
    """However hard it finds the problem: sweeps took what they took."""
    known = Known("dual_cd", False, 0.5 * prices.offers(TEXT)[0].price, True)
    slow = [leg("quasi_newton", 9.0 * known.work, 20, 1.0, 0.97)]
    decision = POLICY.next(after(TEXT, known), slow, "")
    assert decision is not None
    assert decision.method == "dual_cd"


@pytest.mark.parametrize("threads", [1, 2])
def test_pieces_are_done_alone_while_they_show_something(threads: int) -> None:
    done: list[int] = []
    work = [lambda place=place: done.append(place) or 10 * place for place in range(5)]
    found = first_alone(work, [2, 1, 3, 0, 4], lambda: len(done) < 2, threads)
    assert found == [0, 10, 20, 30, 40]
    assert done[:2] == [2, 1]


@pytest.mark.parametrize(
    "model", [LinearSVC(loss=HINGE, C=30.0), LogisticRegression(C=1.0, multi_class="ovr")]
)
def test_threads_change_nothing_in_what_classes_learn(model: LinearSVC) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 40)), np.arange(300) % 6
    model.set_params(n_jobs=1).fit(X, y)
    coef, words = model.coef_.copy(), model.solver_
    again = model.set_params(n_jobs=2).fit(X, y)
    assert (again.coef_ == coef).all()
    assert again.solver_ == words


def test_classes_that_do_what_the_first_one_did_say_it_in_one_sentence() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 5)), np.arange(300) % 6
    assert LinearSVC().fit(X, y).solver_.count("newton") == 1


@pytest.mark.parametrize("loss", [HINGE, LOGISTIC])
def test_classes_that_are_alike_are_looked_at_once(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And begin as they would if each were looked at on its own."""
    random = np.random.default_rng(1)
    X, y = random.normal(size=(200, 30)), np.arange(200) % 12
    model = LogisticRegression(multi_class="ovr") if loss == LOGISTIC else LinearSVC(loss)
    looks: list[int] = []
    look = BinaryPolicy.shape_of

    def counted(self: BinaryPolicy, *given: Any) -> BinaryShape:
        looks.append(1)
        return look(self, *given)

    monkeypatch.setattr(BinaryPolicy, "shape_of", counted)
    model.fit(X, y)
    words, coef, few = model.solver_, model.coef_.copy(), len(looks)
    assert few < 6
    monkeypatch.setattr(
        Experience,
        "concluded",
        property(lambda self: None, lambda self, value: None),
        raising=False,
    )
    model.fit(X, y)
    assert len(looks) == few + 12
    assert model.solver_ == words
    assert (model.coef_ == coef).all()
