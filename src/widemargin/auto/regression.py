"""``solver="auto"`` for regression: the contest of the binary problems, see `auto.contest`.

A tube is two hinges, or two squared ones, of which a row is outside of at most one: sweeps, Newton
steps and interior points cost per row what they do there, and so the prices are the same.
"""

from __future__ import annotations

from widemargin.auto.binary import BinaryPolicy


class RegressionPolicy(BinaryPolicy):
    """Dual coordinate descent, Newton's method on the loss or its rounding, interior point."""
