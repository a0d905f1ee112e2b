"""Sweeps against second-order steps: the policy that binary and multiclass problems share.

Coordinate descent shows with every sweep how hard the problem is; a second-order method costs about
the same whatever the data, and its price is known in advance. So sweeps begin unless a second-order
method is so cheap that the sweeps needed to find out would cost more than they tell. A hand-over is
a loan: a second-order method that has spent more than twice its price must be ahead of what sweeps
are predicted to need, or they go on from the best point, and the next loan is larger. The method
is only paused: where sweeps get no further, it goes on as it was.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Protocol, TypeVar

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prediction import (
    gives_way,
    standing,
    steps_to_go,
    sweeps_to_go,
    while_saturated,
    while_sorting,
    work_ahead,
)
from widemargin.data.quick_init import quick_init

_LOAN = 2.0
"""What a second-order method may spend, in multiples of its price, before it must be ahead."""

_MOST_LEGS = 12
"""Each loan is at least twice the one before: so many are never reached in practice."""


@quick_init
@dataclass(frozen=True)
class Offer:
    """A second-order method and its predicted price.

    `in_row_space` means that it runs on the factor of X Xᵀ; `iterative` that its steps come from
    conjugate gradients; `begins` that it needs no sweeps before it. The methods for the hinge do:
    far from the solution nearly every example is in the corner, unless samples of the rows, or the
    freedom of many weights, lead near it, or the problem is so small that it does not matter. And
    where steps come from conjugate gradients the price is a guess, unless the condition number is
    near one.
    """

    method: str
    price: float
    in_row_space: bool = False
    begins: bool = True
    iterative: bool = False

    def taken(self, words: str) -> Decision:
        """Decide for it."""
        return Decision(self.method, words, self.in_row_space)


class HasTolerance(Protocol):
    """What every shape says."""

    @property
    def tol(self) -> float:
        """The relative gap that is asked for."""


Shape = TypeVar("Shape", bound=HasTolerance)


class Contest(ABC, Generic[Shape]):
    """Sweeps or second-order steps, by price and by what was seen."""

    sweeps: ClassVar[str]
    """The method that sweeps."""
    last_digits: ClassVar[tuple[str, ...]] = ()
    """Methods that get further than others before rounding stops them."""

    @abstractmethod
    def offers(self, shape: Shape, leg: Leg | None = None) -> Sequence[Offer]:
        """Return the second-order methods that support a shape, cheapest first.

        `leg` is what sweeps have done that they would take over from, if they have done anything.
        """

    @abstractmethod
    def sweep(self, shape: Shape) -> float:
        """Price one sweep over all examples."""

    @abstractmethod
    def expected(self, shape: Shape) -> float:
        """Price the sweeps that a problem of this shape is expected to take."""

    def least_price(self, shape: Shape) -> float:
        """Return what no second-order method costs less than, from wherever it takes over.

        Sweeps that will end for less need not be weighed against each of them.
        """
        return 0.0

    def next(self, shape: Shape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on."""
        if legs[-1].finished:
            return self._after_stall(shape, legs)
        if len(legs) > _MOST_LEGS:
            return None
        if legs[-1].method == self.sweeps:
            return self._after_sweep(shape, legs, follows)
        return self._after_step(shape, legs)

    def begins(self, shape: Shape) -> Offer | None:
        """Return the second-order method that is so cheap that no sweep need tell, if any is."""
        best = next((offer for offer in self.offers(shape) if offer.begins), None)
        return None if best is None or best.price > self.cheap(shape) else best

    def cheap(self, shape: Shape) -> float:
        """Return the highest price at which a method may begin.

        What sweeps are expected to cost; nor are they made to tell what could be had for the price
        of making them.
        """
        return min(self.expected(shape), MACHINE.telling_sweeps * self.sweep(shape))

    def slow(self, remaining: float, made: int) -> str:
        """Say why sweeps give way: how many more they needed, after how many."""
        return cause.slow_sweeps(remaining, made)

    def swept(self, words: str) -> Decision:
        """Decide for sweeps."""
        return Decision(self.sweeps, words)

    def left(self, shape: Shape, leg: Leg, spent: float) -> float:
        """Predict what a method that gave way had left to do: no less than was spent on it."""
        if leg.finished:
            return math.inf
        if leg.method == self.sweeps:
            return max(spent, self._to_go(shape, leg))
        return max(spent, work_ahead(leg.works, leg.gaps, shape.tol))

    def _after_sweep(self, shape: Shape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Hand over once sweeps are predicted to cost more than the cheapest other method."""
        leg = legs[-1]
        to_go = self._to_go(shape, leg)
        if not standing(leg.misplaced):
            expected = self._expected_after(shape, leg)
            to_go = while_saturated(to_go, leg.gaps[-1], leg.work, expected)
        offer = self._cheapest(shape, legs) if to_go > self.least_price(shape) else None
        if offer is None:
            return None
        # From the solution at a smaller C the first rates say little.
        due = (
            leg.work >= offer.price < to_go if follows else gives_way(leg.work, to_go, offer.price)
        )
        if not due:
            return None
        return offer.taken(self.slow(steps_to_go(leg.gaps, shape.tol), len(leg.gaps)))

    def _after_step(self, shape: Shape, legs: Sequence[Leg]) -> Decision | None:
        """Recall a loan that was spent without getting ahead."""
        leg = legs[-1]
        before = next((each for each in reversed(legs) if each.method == self.sweeps), None)
        prices = [o.price for o in self.offers(shape, before) if o.method == leg.method]
        price = max(min(prices, default=0.0), 2.0 * _spent(legs[:-1], leg.method))
        # Second-order steps do not slow down: near the end a few more will do.
        if leg.work < _LOAN * price or leg.gaps[-1] <= 10.0 * shape.tol:
            return None
        remaining = work_ahead(leg.works, leg.gaps, shape.tol)
        if not leg.gaps[-1] < 1.0:
            remaining = max(remaining, leg.work)
        needed = self._sweeps_needed(shape, legs)
        if remaining <= needed:
            return None
        return Decision(self.sweeps, cause.LOAN_SPENT, pauses=True)

    def _after_stall(self, shape: Shape, legs: Sequence[Leg]) -> Decision | None:
        """Go on with a method that has not stalled yet, those for the last digits first."""
        stalled = {leg.method for leg in legs if leg.finished}
        offers = [offer for offer in self.offers(shape) if offer.method not in stalled]
        words = cause.stalled(legs[-1].method)
        for offer in offers:
            if offer.method in self.last_digits:
                return offer.taken(words)
        if self.sweeps not in stalled:
            return self.swept(words)
        return offers[0].taken(words) if offers else None

    def _to_go(self, shape: Shape, leg: Leg) -> float:
        """Predict what sweeps still cost; zero while nothing is known."""
        return sweeps_to_go(leg.works, leg.gaps, shape.tol, self._expected_after(shape, leg))

    def _expected_after(self, shape: Shape, leg: Leg) -> float:
        """Return what sweeps were expected to cost, as far as it still is."""
        return while_sorting(self.expected(shape), leg.work, leg.misplaced)

    def _cheapest(self, shape: Shape, legs: Sequence[Leg]) -> Offer | None:
        """Return the cheapest method to hand over to; one that had its loan recalled costs more."""
        stalled = {leg.method for leg in legs if leg.finished}
        offers = [
            replace(offer, price=max(offer.price, 2.0 * _spent(legs, offer.method)))
            for offer in self.offers(shape, legs[-1])
            if offer.method not in stalled
        ]
        return min(offers, key=lambda offer: offer.price, default=None)

    def _sweeps_needed(self, shape: Shape, legs: Sequence[Leg]) -> float:
        """Predict what sweeps would cost from here; until they were tried, what trying costs."""
        for leg in reversed(legs):
            if leg.method == self.sweeps:
                to_go = self._to_go(shape, leg)
                if to_go > 0.0:
                    return to_go
        return self.sweep(shape) * MACHINE.telling_sweeps


def _spent(legs: Sequence[Leg], method: str) -> float:
    return sum(leg.work for leg in legs if leg.method == method)
