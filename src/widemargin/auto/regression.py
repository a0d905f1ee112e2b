"""``solver="auto"`` for regression: the contest of the binary problems, see `auto.contest`.

A tube is two hinges, or two squared ones, of which a row is outside of at most one: sweeps, Newton
steps and interior points cost per row what they do there, and so the prices are the same. Sweeps
are more: between its two corners a tube is flat, and a row that goes from one to the other stops
at zero on the way.

How many rows lie outside of the tube says more than rates do. Where few do, sweeps leave the others
out after a while and have next to nothing left to do, while second-order steps still look for the
rows on the edge. Where nearly all do, the squared loss is a parabola but for a few rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from widemargin.auto import cause, prices
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.contest import Offer
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prediction import (
    most_are_outside,
    sweeps_to_go,
    while_few_are_outside,
)
from widemargin.auto.shape import BinaryShape


class RegressionPolicy(BinaryPolicy):
    """Dual coordinate descent, Newton's method on the loss or its rounding, interior point."""

    sees_order = False  # small problems are solved to the last digits in the end, whatever was run

    def cheap(self, shape: BinaryShape) -> float:
        """Return the highest price at which a method may begin.

        Sweeps themselves go on by what they show, not by this.
        """
        tube = 1.0 if shape.smooth else MACHINE.tube_sweeps
        return min(tube * self.expected(shape), MACHINE.telling_sweeps * self.sweep(shape))

    def begins(self, shape: BinaryShape) -> Offer | None:
        """Leave it to sweeps where the number of Newton's steps is anybody's guess."""
        return None if prices.sorting(shape) else super().begins(shape)

    def offers(self, shape: BinaryShape, leg: Leg | None = None) -> Sequence[Offer]:
        """Price the second-order methods; where most rows are outside, nothing is to be sorted."""
        sorted_ = leg is not None and most_are_outside(leg.misplaced)
        shape = replace(shape, pieces=False) if sorted_ else shape
        return prices.offers(shape, leg.gaps[-1] if leg is not None and leg.gaps else 1.0)

    def least_price(self, shape: BinaryShape) -> float:
        """Return the price of the cheapest method next to the solution, nothing to be sorted."""
        return super().least_price(replace(shape, pieces=False))

    def _after_stall(self, shape: BinaryShape, legs: Sequence[Leg]) -> Decision | None:
        """Go on with sweeps where steps have ended before they proved a single digit.

        It was not the last digits that ended them, but one set of rows on the edge after another.
        """
        swept = any(leg.method == self.sweeps for leg in legs)
        if legs[-1].gaps[-1] > 0.1 and not swept:
            return self.swept(cause.stalled(legs[-1].method))
        return super()._after_stall(shape, legs)

    def _to_go(self, shape: BinaryShape, leg: Leg) -> float:
        """Predict what sweeps still cost; few rows outside of the tube bound it."""
        return while_few_are_outside(self._raised(shape, leg), leg.work, leg.misplaced)

    def _raised(self, shape: BinaryShape, leg: Leg) -> float:
        """Predict what sweeps still cost, raised by what the prediction at half the work missed.

        Rates that fall slowly make every prediction a little too low: what is left then stays the
        same however much is spent, and below the price of another method for good. The squared loss
        curves the dual in every direction, and its rates settle. Sweeps that have not cost yet what
        was expected of them may be about to fall.
        """
        to_go = super()._to_go(shape, leg)
        if shape.smooth or leg.work < self.expected(shape):
            return to_go
        half = bisect_right(leg.works, 0.5 * leg.work)
        works, gaps = leg.works[:half], leg.gaps[:half]
        before = sweeps_to_go(works, gaps, shape.tol, self.expected(shape)) if works else 0.0
        if before <= 0.0:  # nothing was known then
            return to_go
        return to_go * max(1.0, (leg.work + to_go) / (leg.works[half - 1] + before))
