"""``solver="auto"`` for one class: the contest of the binary problems, see `auto.contest`.

The losses are hinges, and one linear term in the intercept costs nothing: prices are the same.
"""

from __future__ import annotations

from widemargin.auto.binary import BinaryPolicy


class OneClassPolicy(BinaryPolicy):
    """Dual coordinate descent, Newton's method on the rounded hinge, interior point."""
