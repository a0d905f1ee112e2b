"""``solver="auto"`` for binary problems.

Coordinate descent shows with every sweep how hard the problem is; a second-order method costs about
the same whatever the data, and its price is known in advance. So sweeps begin unless a second-order
method is so cheap that the sweeps needed to find out would cost more than they tell. A hand-over is
a loan: a second-order method that has spent more than twice its price must be ahead of what sweeps
are predicted to need, or they go on from the best point, and the next loan is larger.
"""

from __future__ import annotations

from collections.abc import Sequence

from widemargin.auto import cause, prices
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prediction import ahead, is_due, steps_to_go
from widemargin.auto.prices import Offer
from widemargin.auto.shape import BinaryShape
from widemargin.problems.binary import BinaryProblem

SWEEPS = "dual_cd"

_LOAN = 2.0
"""What a second-order method may spend, in multiples of its price, before it must be ahead."""

_MOST_LEGS = 12
"""Each loan is at least twice the one before: so many are never reached in practice."""


class BinaryPolicy:
    """Sweeps or second-order steps, by price and by what was seen."""

    def shape_of(self, problem: BinaryProblem, tol: float, warm: bool) -> BinaryShape:
        """Read the counts off a problem."""
        return BinaryShape.of(problem, tol)

    def first(self, shape: BinaryShape, follows: str) -> Decision:
        """Begin with what worked at a smaller C, with steps that are cheap, or with sweeps."""
        offers = prices.offers(shape)
        if not shape.compiled:
            bundle = Decision("bmrm_qp", cause.FORMULAS)
            return _take(offers[0], cause.FORMULAS) if shape.smooth else bundle
        if follows:
            return _following(shape, offers, follows)
        best = _begins(shape, offers)
        return (
            _sweep(cause.SWEEPS_TELL)
            if best is None
            else _take(best, cause.cheap_steps(shape, best))
        )

    def next(self, shape: BinaryShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on."""
        leg = legs[-1]
        if not shape.compiled:
            return None
        if leg.finished:
            return self._after_stall(shape, legs)
        if len(legs) > _MOST_LEGS:
            return None
        if leg.method == SWEEPS:
            return self._after_sweep(shape, legs, follows)
        return self._after_step(shape, legs)

    def _after_sweep(
        self, shape: BinaryShape, legs: Sequence[Leg], follows: str
    ) -> Decision | None:
        """Hand over once sweeps are predicted to cost more than the cheapest other method."""
        leg = legs[-1]
        to_go = leg.work * ahead(leg.gaps, shape.tol)
        if to_go == 0.0:
            return None
        offer = _cheapest(shape, legs, leg.gaps[-1])
        if offer is None:
            return None
        # From the solution at a smaller C the first rates say little.
        due = leg.work >= offer.price < to_go if follows else is_due(leg.work, to_go, offer.price)
        if not due:
            return None
        return _take(offer, cause.slow_sweeps(steps_to_go(leg.gaps, shape.tol), len(leg.gaps)))

    def _after_step(self, shape: BinaryShape, legs: Sequence[Leg]) -> Decision | None:
        """Recall a loan that was spent without getting ahead."""
        leg = legs[-1]
        loan = _LOAN * _price(shape, legs)
        if leg.work < loan or _nearly_there(leg, shape.tol):
            return None
        remaining = leg.work * ahead(leg.gaps, shape.tol)
        if not leg.gaps[-1] < 1.0:
            remaining = max(remaining, leg.work)
        return None if remaining <= _sweeps_needed(shape, legs) else _sweep(cause.LOAN_SPENT)

    def _after_stall(self, shape: BinaryShape, legs: Sequence[Leg]) -> Decision | None:
        """Go on with a method that has not stalled yet, those for the last digits first."""
        stalled = {leg.method for leg in legs if leg.finished}
        offers = [offer for offer in prices.offers(shape) if offer.method not in stalled]
        last_digits = [offer for offer in offers if offer.method == "interior_point"]
        words = cause.stalled(legs[-1].method)
        for offer in last_digits:
            return _take(offer, words)
        if SWEEPS not in stalled:
            return _sweep(words)
        for offer in offers:
            return _take(offer, words)
        return None


def _begins(shape: BinaryShape, offers: Sequence[Offer]) -> Offer | None:
    """Return the second-order method that is so cheap that no sweep need tell, if there is one."""
    size = shape.size
    if size.values <= MACHINE.tiny_problem and size.rows < 8 * size.weights and not shape.smooth:
        return _for_digits(shape, offers)
    best = next((offer for offer in offers if offer.begins), None)
    sweep = prices.sweep(shape)
    expected = sweep * prices.expected_sweeps(shape)
    # Nor are sweeps made to tell what could be had for the price of making them.
    if best is None or best.price > min(expected, MACHINE.telling_sweeps * sweep):
        return None
    return best


def _for_digits(shape: BinaryShape, offers: Sequence[Offer]) -> Offer | None:
    """Return the method whose last digits come for free; it does not see the order of the rows."""
    fewer = shape.size.rows < shape.size.weights
    name = "proximal_newton" if fewer else "interior_point"
    found = (offer for offer in offers if offer.begins and offer.in_row_space == fewer)
    return next((offer for offer in found if offer.method == name), None)


def _following(shape: BinaryShape, offers: Sequence[Offer], follows: str) -> Decision:
    """Go on with what worked at a smaller C, or with Newton, which needs a step or two from there.

    A step of it may cost no more than the sweeps that would tell how hard the problem is.
    """
    most = MACHINE.newton_steps * MACHINE.telling_sweeps * prices.sweep(shape)
    for offer in offers:
        near = offer.method == "newton" and offer.begins and offer.price <= most
        if offer.method == follows or near:
            return _take(offer, cause.WORKED_BEFORE if not near else cause.NEAR)
    return _sweep(cause.WORKED_BEFORE)


def _sweep(words: str) -> Decision:
    return Decision(SWEEPS, words)


def _take(offer: Offer, words: str) -> Decision:
    return Decision(offer.method, words, offer.in_row_space)


def _spent(legs: Sequence[Leg], method: str) -> float:
    return sum(leg.work for leg in legs if leg.method == method)


def _cheapest(shape: BinaryShape, legs: Sequence[Leg], gap: float) -> Offer | None:
    """Return the cheapest method to hand over to; one that had its loan recalled costs more."""
    stalled = {leg.method for leg in legs if leg.finished}
    offers = [
        Offer(
            offer.method,
            max(offer.price, 2.0 * _spent(legs, offer.method)),
            offer.in_row_space,
        )
        for offer in prices.offers(shape, gap)
        if offer.method not in stalled
    ]
    return min(offers, key=lambda offer: offer.price, default=None)


def _price(shape: BinaryShape, legs: Sequence[Leg]) -> float:
    """Return the price at which the method at work was taken, or what it has had before."""
    leg = legs[-1]
    price = min(
        (offer.price for offer in prices.offers(shape) if offer.method == leg.method),
        default=0.0,
    )
    return max(price, 2.0 * _spent(legs[:-1], leg.method))


def _nearly_there(leg: Leg, tol: float) -> bool:
    """Whether the next few steps will end it: second-order steps do not slow down."""
    return bool(leg.gaps) and leg.gaps[-1] <= 10.0 * tol


def _sweeps_needed(shape: BinaryShape, legs: Sequence[Leg]) -> float:
    """Predict what sweeps would cost from here; until they were tried, what trying them costs."""
    for leg in reversed(legs):
        if leg.method == SWEEPS and len(leg.gaps) >= 4:
            return leg.work * ahead(leg.gaps, shape.tol)
    return prices.sweep(shape) * MACHINE.telling_sweeps
