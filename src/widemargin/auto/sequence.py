"""``solver="auto"`` for sequences."""

from __future__ import annotations

from widemargin.auto import cause
from widemargin.auto.decision import Decision, OneMethod


class SequencePolicy(OneMethod):
    """Visit sentences one by one; the other methods are there to compare with."""

    decision = Decision("cached_frank_wolfe", cause.CACHED_LABELINGS)
