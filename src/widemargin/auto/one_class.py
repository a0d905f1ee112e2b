"""``solver="auto"`` for one class: the contest of the binary problems, see `auto.contest`.

The losses are hinges, and one linear term in the intercept costs nothing: prices are the same, but
for those of sweeps. Descent in pairs reads all rows a few times per digit, whatever the stiffness.
"""

from __future__ import annotations

from widemargin.auto.binary import BinaryPolicy
from widemargin.auto.machine import MACHINE
from widemargin.auto.prices import digits_of
from widemargin.auto.shape import BinaryShape


class OneClassPolicy(BinaryPolicy):
    """Dual coordinate descent, Newton's method on the rounded hinge, interior point."""

    sees_order = False  # small problems are solved to the last digits in the end, whatever was run

    def sweep(self, shape: BinaryShape) -> float:
        """Price a step of descent in pairs: a look at all rows, and work on some."""
        return MACHINE.sweep_call + shape.size.product(MACHINE.pair_passes)

    def expected(self, shape: BinaryShape) -> float:
        """Price the steps that a problem of this shape is expected to take."""
        digits = digits_of(shape.tol)
        return self.sweep(shape) * (MACHINE.pair_steps + MACHINE.pair_steps_per_digit * digits)
