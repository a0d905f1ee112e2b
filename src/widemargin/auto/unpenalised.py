"""``solver="auto"`` for problems without a penalty."""

from __future__ import annotations

from widemargin.auto import cause
from widemargin.auto.decision import Decision, OneMethod


class UnpenalisedPolicy(OneMethod):
    """Newton's method is the only one, and its curvature is the proof."""

    decision = Decision("newton", cause.NO_PENALTY)
