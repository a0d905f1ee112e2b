"""``solver="auto"`` for regression: the contest of the binary problems, see `auto.contest`.

A tube is two hinges, or two squared ones, of which a row is outside of at most one: sweeps, Newton
steps and interior points cost per row what they do there, and so the prices are the same. Sweeps
are more: between its two corners a tube is flat, and a row that goes from one to the other stops
at zero on the way.
"""

from __future__ import annotations

from widemargin.auto import prices
from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.contest import Offer
from widemargin.auto.machine import MACHINE
from widemargin.auto.shape import BinaryShape


class RegressionPolicy(BinaryPolicy):
    """Dual coordinate descent, Newton's method on the loss or its rounding, interior point."""

    sees_order = False  # small problems are solved to the last digits in the end, whatever was run

    def expected(self, shape: BinaryShape) -> float:
        """Price the sweeps that the stiffness lets expect."""
        sweeps = super().expected(shape)
        return sweeps if shape.smooth else MACHINE.tube_sweeps * sweeps

    def begins(self, shape: BinaryShape) -> Offer | None:
        """Leave it to sweeps where the number of Newton's steps is anybody's guess."""
        return None if prices.sorting(shape) else super().begins(shape)
