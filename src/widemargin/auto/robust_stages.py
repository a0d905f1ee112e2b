"""Stages of `hybrid` and `ippa`: which method follows when sweeps get slow.

`hybrid` is mini-batch ISG for the first part of the way and IPPA for the second (DRSVM, section
5). Sweeps tell early which piece of the loss each example is on, and late how far; so both names
end with the interior point on the examples that are still undecided, where it supports the problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.robust import RobustShape
from widemargin.data.work import Size, factor
from widemargin.methods.interior.reduced_robust import FIRST_SHARE
from widemargin.problems.robust import RobustProblem

_PATIENCE = 32
"""Steps without a gap smaller by a third after which sweeps have done their part."""

_STAGE = 8.0
"""Passes that a method makes before it hands over: one stage."""

_LAST = "reduced_interior_point"


class ProximalStages:
    """IPPA, then the examples that it leaves undecided."""

    begins: ClassVar[str] = "ippa"

    def shape_of(self, problem: RobustProblem, tol: float, warm: bool) -> RobustShape:
        """Read the counts off a problem."""
        return RobustShape.of(problem, warm)

    def first(self, shape: RobustShape, follows: str) -> Decision:
        """Start with the first method, or go on with IPPA from a warm point."""
        return Decision("ippa" if shape.warm else self.begins, cause.AS_PUBLISHED)

    def next(self, shape: RobustShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Hand over when sweeps have cost their share, or the gap has not fallen for a while."""
        leg = legs[-1]
        reduced = _LAST in shape.served
        if leg.method == _LAST or (not reduced and leg.method != "isg"):
            return None
        enough = len(leg.gaps) > _PATIENCE and leg.gaps[-1] > 0.7 * leg.gaps[-1 - _PATIENCE]
        if reduced:
            worth = max(_STAGE, 0.5 * MACHINE.sweeps_per_round * _round_in_passes(shape.size))
            enough = enough or (leg.passes >= worth and math.isfinite(leg.gaps[-1]))
        if not (enough or leg.finished):
            return None
        following = "ippa" if leg.method == "isg" else _LAST
        return Decision(following, cause.after_steps(len(leg.gaps)))


class HybridStages(ProximalStages):
    """ISG, then IPPA, then the examples that they leave undecided."""

    begins = "isg"


def _round_in_passes(size: Size) -> float:
    """Return what a round on the undecided examples costs: a Gram matrix and its factor a step."""
    step = size.gram(FIRST_SHARE * size.rows) + factor(size.weights)
    return MACHINE.interior_steps * step / max(1.0, size.product())
