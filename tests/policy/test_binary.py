"""Every decision about binary problems, without a fit: shapes and courses of runs in tables."""

from __future__ import annotations

import math

import pytest

from policy_shapes import leg, shape
from widemargin.auto import prices
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.decision import Leg
from widemargin.auto.prediction import sweeps_to_go

POLICY = BinaryPolicy()

HINGE, SQUARED, LOGISTIC = "hinge", "squared_hinge", "logistic"

# loss, rows, weights, values per row (None: dense), stiffness, the method that begins
BEGINNINGS = [
    (HINGE, 200_000, 10, None, 1.0, "proximal_newton"),
    (HINGE, 200_000, 10, None, 0.001, "dual_cd"),
    (HINGE, 3_000, 4, None, 10.0, "proximal_newton"),
    (HINGE, 1_900, 3_000, 90, 0.01, "dual_cd"),
    (HINGE, 1_900, 3_000, 90, 100.0, "dual_cd"),
    (HINGE, 1_500, 1_500, None, 100.0, "dual_cd"),
    (HINGE, 1_500, 5_000, None, 1.0, "dual_cd"),
    (HINGE, 1_999, 20_000, 100, 10.0, "dual_cd"),
    (HINGE, 2_001, 20_000, 100, 10.0, "dual_cd"),
    (HINGE, 60_000, 784, 150, 10.0, "dual_cd"),
    (HINGE, 20_000, 50_000, 75, 1.0, "dual_cd"),
    (HINGE, 60, 5_000, None, 10.0, "dual_cd"),
    (HINGE, 100_000, 20, None, 100.0, "proximal_newton"),
    (HINGE, 5_000, 1_000, 50, 0.01, "dual_cd"),
    (HINGE, 800, 1_500, None, 100.0, "dual_cd"),
    (SQUARED, 200_000, 10, None, 1.0, "newton"),
    (SQUARED, 3_000, 4, None, 10.0, "newton"),
    (SQUARED, 150, 4, None, 10.0, "newton"),
    (HINGE, 150, 4, None, 1000.0, "proximal_newton"),
    (SQUARED, 1_900, 3_000, 90, 100.0, "dual_cd"),
    (SQUARED, 1_500, 1_500, None, 100.0, "dual_cd"),
    (SQUARED, 1_500, 5_000, None, 1.0, "dual_cd"),
    (SQUARED, 3_000, 1_800, None, 1.0, "quasi_newton"),
    (SQUARED, 60_000, 784, 150, 10.0, "newton"),
    (SQUARED, 20_000, 50_000, 75, 1.0, "dual_cd"),
    (SQUARED, 60, 5_000, None, 10.0, "newton"),
    (SQUARED, 5_000, 1_000, 50, 0.01, "quasi_newton"),
    (LOGISTIC, 200_000, 10, None, 0.001, "newton"),
    (LOGISTIC, 150, 4, None, 10.0, "newton"),
    (LOGISTIC, 1_900, 3_000, 90, 100.0, "dual_cd"),
    (LOGISTIC, 1_500, 1_500, None, 100.0, "dual_cd"),
    (LOGISTIC, 20_000, 50_000, 75, 10.0, "dual_cd"),
    (LOGISTIC, 5_000, 1_000, 50, 0.25, "quasi_newton"),
    (LOGISTIC, 100_000, 20, None, 100.0, "newton"),
    (LOGISTIC, 800, 1_500, None, 100.0, "dual_cd"),
    (LOGISTIC, 2_700, 256, None, 1_600.0, "quasi_newton"),
    (LOGISTIC, 14_000, 280, None, 0.002, "quasi_newton"),
    (LOGISTIC, 14_000, 28, None, 10.0, "newton"),
    (LOGISTIC, 60_000, 5_500, 66, 50.0, "quasi_newton"),
    (LOGISTIC, 800, 8_000, 190, 0.0001, "quasi_newton"),
    (LOGISTIC, 11_000, 73_000, 100, 0.1, "dual_cd"),
]


@pytest.mark.parametrize(("loss", "rows", "weights", "per_row", "stiffness", "method"), BEGINNINGS)
def test_beginning(
    loss: str, rows: int, weights: int, per_row: float | None, stiffness: float, method: str
) -> None:
    decision = POLICY.first(shape(rows, weights, loss, per_row=per_row, stiffness=stiffness), "")
    assert decision.method == method
    assert decision.cause


def test_few_rows_work_in_their_own_space() -> None:
    assert POLICY.first(shape(60, 5_000, SQUARED, stiffness=10.0), "").in_row_space
    assert not POLICY.first(shape(5_000, 60, SQUARED, stiffness=10.0), "").in_row_space


@pytest.mark.parametrize(
    ("follows", "method"),
    [("dual_cd", "newton"), ("newton", "newton")],
)
def test_what_worked_at_a_smaller_c_begins(follows: str, method: str) -> None:
    """But for Newton, whose steps are few from there where they are cheap."""
    assert POLICY.first(shape(3_000, 50, LOGISTIC), follows).method == method
    assert POLICY.first(shape(1_900, 3_000, HINGE, per_row=90), follows).method == "dual_cd"


def test_lbfgs_gives_way_to_newton_where_a_larger_c_makes_it_the_dearer_one() -> None:
    small = shape(400, 60, LOGISTIC, stiffness=0.01)
    large = shape(400, 60, LOGISTIC, stiffness=100.0)
    assert POLICY.first(small, "quasi_newton").method == "quasi_newton"
    assert POLICY.first(large, "quasi_newton").method == "newton"


SQUARE = shape(1_500, 1_500, SQUARED, stiffness=100.0)
PRICE = prices.offers(SQUARE)[0].price

# share of Newton's price that the sweeps have cost, sweeps, first and last gap, what follows
SWEPT = [
    (0.01, 3, 1.0, 0.9, None),  # too early to know a rate
    (0.01, 6, 1.0, 0.999, None),  # hopeless, but next to nothing was spent on finding out
    (0.05, 6, 1.0, 1e-3, None),  # nearly done
    (0.2, 20, 1.0, 1e-3, None),  # a third of the way left, far below Newton's price
    (0.35, 20, 1.0, 0.85, "newton"),  # hopeless, with evidence
    (0.3, 20, 1.0, 0.95, None),  # the gap may be about to fall
    (0.6, 20, 1.0, 0.95, "newton"),  # more than half of Newton's price was spent
    (0.9, 30, 1.0, 0.5, "newton"),
    (1.1, 60, 1.0, 0.01, None),  # half is left
    (1.1, 60, 1.0, 0.3, "newton"),  # as much was spent, more is left: ski rental
    (1.5, 60, 1.0, 2e-4, None),  # the end is near
]


@pytest.mark.parametrize(("share", "sweeps", "first", "last", "method"), SWEPT)
def test_after_sweeps(
    share: float, sweeps: int, first: float, last: float, method: str | None
) -> None:
    decision = POLICY.next(SQUARE, [leg("dual_cd", share * PRICE, sweeps, first, last)], "")
    assert (decision.method if decision else None) == method


@pytest.mark.parametrize(("loss", "method"), [(LOGISTIC, "quasi_newton"), (SQUARED, "newton")])
def test_sweeps_hand_over_to_lbfgs_where_no_pieces_are_to_be_sorted(loss: str, method: str) -> None:
    """5603 x 3653, C = 476: L-BFGS took 0.12 s, and what else sweeps could hand over to 0.32."""
    found = shape(5_600, 3_650, loss, per_row=77.0, stiffness=1e4)
    quasi, others = prices.quasi_newton(found), prices.offers(found)
    assert "quasi_newton" not in {offer.method for offer in others}
    if loss == LOGISTIC:
        assert quasi.price < others[0].price
    legs = [leg("dual_cd", 1.1 * max(quasi.price, others[0].price), 60, 1.0, 0.5)]
    decision = POLICY.next(found, legs, "")
    assert decision is not None
    assert decision.method == method
    assert POLICY.least_price(found) <= quasi.price


def test_steps_of_lbfgs_grow_slowly_with_what_the_rows_add() -> None:
    """Where its columns are scaled: a hundred times the costs are at most four times the steps."""
    price = [
        prices.quasi_newton(shape(20_000, 2_500, LOGISTIC, per_row=50.0, stiffness=s)).price
        for s in (1.0, 100.0)
    ]
    assert price[0] < price[1] < 4.0 * price[0]


def test_steps_that_sort_rows_to_pieces_grow_with_the_stiffness() -> None:
    """As a power of it; products that are not enough are followed by a matrix, if it can be."""
    price = {
        (weights, stiffness): prices.offers(shape(6_000, weights, SQUARED, stiffness=stiffness))[0]
        for weights in (1_900, 5_000)
        for stiffness in (1.0, 1e3)
    }
    assert price[5_000, 1e3].price > 20.0 * price[5_000, 1.0].price
    assert price[1_900, 1e3].price < 20.0 * price[1_900, 1.0].price


@pytest.mark.parametrize(
    ("rows", "misplaced", "method"),
    [
        (4_000, [0.1, 0.05, 0.03, 0.02], "dual_cd"),  # sorted, in steps that get nowhere
        (4_000, [0.1, 0.09, 0.08, 0.08], None),  # not sorted: many sweeps are expected
        (40_000, [0.1, 0.05, 0.03, 0.02], None),  # weights are not free to sort so many rows
    ],
)
def test_lbfgs_that_has_sorted_the_rows_leaves_the_rest_to_sweeps(
    rows: int, misplaced: list[float], method: str | None
) -> None:
    stiff = shape(rows, 1_200, SQUARED, stiffness=1e4)
    spent = leg("quasi_newton", 0.1 * prices.quasi_newton(stiff).price, 4, 1.0, 0.99)
    spent.misplaced = misplaced
    decision = POLICY.next(stiff, [spent], "")
    assert (decision.method if decision else None) == method


@pytest.mark.parametrize(
    ("spent", "last", "method"),
    [
        (1.0, 0.5, None),  # within its loan
        (2.5, 5e-4, None),  # nearly there
        (2.5, 0.5, "dual_cd"),  # a loan that was spent without getting ahead
    ],
)
def test_a_loan_is_recalled(spent: float, last: float, method: str | None) -> None:
    swept = leg("dual_cd", 0.4 * PRICE, 20, 1.0, 0.1)
    decision = POLICY.next(SQUARE, [swept, leg("newton", spent * PRICE, 8, 0.9, last)], "")
    assert (decision.method if decision else None) == method


def test_the_next_loan_is_larger() -> None:
    """Sweeps that would have given way to a first loan wait after one was recalled."""
    swept = leg("dual_cd", 0.9 * PRICE, 30, 1.0, 0.5)
    assert POLICY.next(SQUARE, [swept], "") is not None
    recalled = leg("newton", 3.0 * PRICE, 8, 0.9, 0.5)
    again = leg("dual_cd", 0.9 * PRICE, 30, 1.0, 0.5)
    assert POLICY.next(SQUARE, [swept, recalled, again], "") is None


def test_a_gap_near_one_may_hide_fast_sweeps() -> None:
    """(P − D) / P says little while D is small beside P; (P − D) / D falls by 3.5 each sweep."""
    over_dual = [7.5e4, 2.3e4, 6.1e3, 1.8e3]
    gaps = [each / (1.0 + each) for each in over_dual]
    works = [0.02 * PRICE * (step + 1) for step in range(4)]
    assert gaps[-1] > 0.999
    expected = 20.0 * works[0]
    assert sweeps_to_go(works, gaps, SQUARE.tol, expected) < 150.0 * works[0]
    standing = [0.9999] * 4
    assert sweeps_to_go(works, standing, SQUARE.tol, expected) > 150.0 * works[0]


def test_steps_far_ahead_of_the_sweeps_keep_their_loan() -> None:
    """Sweeps that stand still are no reason to go back to them."""
    swept = leg("dual_cd", 0.4 * PRICE, 20, 1.0, 0.9999)
    stepped = leg("newton", 2.5 * PRICE, 8, 0.9, 5e-3)
    assert POLICY.next(SQUARE, [swept, stepped], "") is None


def test_sweeps_that_put_the_examples_right_are_not_left() -> None:
    """Stiff, and with a gap that stands at one; but fewer and fewer are on the wrong side."""
    stiff = shape(2_300, 1_000, SQUARED, stiffness=30_000.0)
    price = prices.offers(stiff)[0].price
    standing = leg("dual_cd", 0.05 * price, 10, 1.0, 0.9999)
    given_up = POLICY.next(stiff, [standing], "")
    assert given_up is not None
    assert given_up.method == "newton"
    standing.misplaced = [0.3 * 0.7**k for k in range(10)]
    assert POLICY.next(stiff, [standing], "") is None
    dear = leg("dual_cd", 0.8 * price, 10, 1.0, 0.9999)  # what the bound allows is spent
    dear.misplaced = standing.misplaced
    assert POLICY.next(stiff, [dear], "") is not None


@pytest.mark.parametrize(
    ("misplaced", "method"),
    [
        ([0.3] * 12, "newton"),
        ([0.3, 0.28, 0.25, 0.2, 0.22, 0.21, 0.2, 0.21, 0.2], "newton"),
        ([0.3] * 7, None),  # too early to know
        ([0.3, 0.28, 0.25, 0.2, 0.15, 0.17, 0.16, 0.16, 0.16], None),  # some are put right
        ([math.nan] * 12, None),  # not known
    ],
)
def test_sweeps_that_leave_the_examples_misplaced_are_not_waited_for(
    misplaced: list[float], method: str | None
) -> None:
    """Their gap stands near one, and is not about to fall."""
    swept = leg("dual_cd", 0.3 * PRICE, 20, 1.0, 0.95)
    swept.misplaced = misplaced
    decision = POLICY.next(SQUARE, [swept], "")
    assert (decision.method if decision else None) == method


TALL = shape(2_700, 256, SQUARED, stiffness=1_600.0)
NEWTON = prices.offers(TALL)[0].price


@pytest.mark.parametrize(
    ("share", "steps", "last", "method"),
    [
        (0.1, 3, 0.9, None),  # too early to know a rate
        (0.4, 12, 0.9, None),  # hopeless, but the first steps say little
        (0.6, 18, 0.9, "newton"),  # half of its price was spent
        (0.6, 18, 3e-3, None),  # less is left than Newton costs
        (1.2, 36, 0.5, "newton"),
    ],
)
def test_after_quasi_newton(share: float, steps: int, last: float, method: str | None) -> None:
    decision = POLICY.next(TALL, [leg("quasi_newton", share * NEWTON, steps, 1.0, last)], "")
    assert (decision.method if decision else None) == method
    if decision:
        assert "L-BFGS" in decision.cause


def test_quasi_newton_is_not_left_for_a_factor_that_it_takes_itself() -> None:
    """On the logistic loss; on one of pieces the table above has it left."""
    slow = leg("quasi_newton", 2.0 * NEWTON, 60, 1.0, 0.9)
    assert POLICY.next(shape(2_700, 256, LOGISTIC, stiffness=1_600.0), [slow], "") is None


def test_quasi_newton_costs_no_more_than_steps_up_to_a_factor_and_those_after_it() -> None:
    """However stiff the problem is, where a factor can be formed."""
    stiff = [shape(2_700, 256, LOGISTIC, stiffness=s) for s in (1.0, 1e6, 1e12)]
    found = [prices.quasi_newton(s).price for s in stiff]
    assert found[0] < found[1] == found[2]
    wide = [shape(9_000, 3_000, LOGISTIC, stiffness=s) for s in (1e6, 1e12)]
    assert prices.quasi_newton(wide[0]).price < prices.quasi_newton(wide[1]).price


def test_quasi_newton_is_not_left_for_a_method_that_gave_way_to_it() -> None:
    legs = [leg(name, NEWTON, 20, 1.0, 0.9) for name in ("newton", "dual_cd", "quasi_newton")]
    assert POLICY.next(TALL, legs, "") is None


def test_quasi_newton_follows_itself_at_a_larger_c() -> None:
    assert POLICY.first(TALL, "quasi_newton").method == "quasi_newton"
    assert POLICY.first(shape(2_700, 256, HINGE), "quasi_newton").method == "dual_cd"


@pytest.mark.parametrize(("share", "method"), [(0.5, None), (1.1, "quasi_newton")])
def test_lbfgs_gets_a_run_back_that_sweeps_do_not_end_soon(
    share: float, method: str | None
) -> None:
    """12919 x 3640: L-BFGS takes 0.05 s; left after four steps for sweeps, fits took 1.6."""
    stiff = shape(12_900, 3_640, SQUARED, per_row=146.0, stiffness=360.0)
    quasi = prices.quasi_newton(stiff).price
    assert quasi < min(offer.price for offer in prices.offers(stiff))
    legs = [
        leg("quasi_newton", 0.2 * quasi, 4, 1.0, 1.0),
        leg("dual_cd", share * quasi, 24, 0.98, 0.6),
    ]
    decision = POLICY.next(stiff, legs, "")
    assert (decision.method if decision else None) == method
    ended = [leg("quasi_newton", 0.2 * quasi, 4, 1.0, 1.0, finished=True), legs[1]]
    assert POLICY.next(stiff, ended, "") is None


@pytest.mark.parametrize(
    ("loss", "stalled", "method"),
    [
        (HINGE, ["proximal_newton"], "interior_point"),
        (HINGE, ["proximal_newton", "interior_point"], "dual_cd"),
        (HINGE, ["proximal_newton", "interior_point", "dual_cd"], None),
        (SQUARED, ["newton"], "dual_cd"),
        (SQUARED, ["newton", "dual_cd"], None),
        (LOGISTIC, ["dual_cd"], "newton"),
    ],
)
def test_a_method_that_stalls_gives_way(loss: str, stalled: list[str], method: str | None) -> None:
    legs = [Leg(name, [1.0], [1e-9], finished=True) for name in stalled]
    decision = POLICY.next(shape(2_000, 30, loss, tol=1e-12), legs, "")
    assert (decision.method if decision else None) == method


def test_from_a_smaller_c_only_as_much_as_the_rival_costs_is_evidence() -> None:
    hopeless = leg("dual_cd", 0.5 * PRICE, 30, 1.0, 0.9)
    assert POLICY.next(SQUARE, [hopeless], "dual_cd") is None
    hopeless = leg("dual_cd", 1.1 * PRICE, 30, 1.0, 0.9)
    decision = POLICY.next(SQUARE, [hopeless], "dual_cd")
    assert decision is not None
    assert decision.method == "newton"


@pytest.mark.parametrize(
    ("loss", "gap", "follows", "afresh"),
    [
        (LOGISTIC, 0.99, "", True),
        (LOGISTIC, 0.5, "", False),  # sweeps have got somewhere
        (LOGISTIC, 0.99, "dual_cd", False),  # they began near the solution
        (SQUARED, 0.99, "", False),  # its curvature does not fade
        (HINGE, 0.99, "", False),
    ],
)
def test_newton_begins_afresh_where_the_curvature_has_faded(
    loss: str, gap: float, follows: str, afresh: bool
) -> None:
    found = shape(1_500, 1_500, loss, stiffness=1e6)
    price = prices.offers(found)[0].price
    decision = POLICY.next(found, [leg("dual_cd", 1.5 * price, 20, 1.0, gap)], follows)
    assert decision is not None
    assert decision.afresh == afresh
