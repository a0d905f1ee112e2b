"""Sequences of the incremental methods: how `hybrid` and `ippa` go on when sweeps get slow.

`hybrid` is mini-batch ISG for the first part of the way and IPPA for the second (DRSVM, section
5.1). Sweeps tell early which piece of the loss each example is on, and late how far; so both names
end with the interior point on the examples that are still undecided, where it serves.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from widemargin.methods.base import Method, Progress
from widemargin.methods.incremental import Incremental
from widemargin.methods.ippa import IPPA
from widemargin.methods.isg import ISG
from widemargin.methods.undecided import FIRST_SHARE, Undecided
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem

_PATIENCE = 32
"""Steps without a gap smaller by a third after which sweeps have done their part."""

_FEWEST = 8.0
"""Passes that a method makes before it hands over: a stage."""

_STEPS_OF_A_ROUND = 15
_WORTH = 0.3
"""Sweeps are worth while until they have cost this share of a round on the undecided examples."""


class Proximal:
    """IPPA, then the examples that it leaves undecided."""

    begins: ClassVar[type[Incremental]] = IPPA

    def __init__(self) -> None:
        self._story: list[str] = []

    @property
    def explanation(self) -> str:
        """What ran."""
        return " -> ".join(self._story)

    def first(self, problem: RobustProblem, warm: Point | None, tol: float) -> Method:
        """Start with the first method, or go on with IPPA from a warm point."""
        method = self.begins() if warm is None else IPPA()
        reason = method.refuses(problem)
        if reason is not None:
            raise ValueError(reason)
        self._story.append(method.name)
        return method

    def next(self, progress: Progress) -> Method | None:
        """Hand over when sweeps have cost their share, or the gap has not fallen for a while."""
        if progress.method == "undecided":
            return None
        following: Method = IPPA() if progress.method == "isg" else Undecided()
        refused = Undecided().refuses(progress.problem) is not None
        if refused and progress.method != "isg":
            return None
        seen = progress.expected
        enough = len(seen) > _PATIENCE and seen[-1] > 0.7 * seen[-1 - _PATIENCE]
        if not refused:
            worth = max(_FEWEST, 0.5 * _WORTH * _round_in_passes(progress.problem))
            enough = enough or (progress.passes >= worth and bool(np.isfinite(seen[-1])))
        if not (enough or progress.finished):
            return None
        self._story.append(f"{following.name} (after {progress.iterations} steps)")
        return following


def _round_in_passes(problem: RobustProblem) -> float:
    """Return what a round on the undecided examples costs: a Gram matrix and its factor a step."""
    rows, d = problem.rows, problem.rows.weights
    entries = max(1.0, float(rows.view.nonzeros))
    mean = entries / max(1, rows.count)
    step = d**3 / 12.0 + 0.5 * FIRST_SHARE * entries * min(mean, d)
    return _STEPS_OF_A_ROUND * step / (2.0 * entries)


class Hybrid(Proximal):
    """ISG, then IPPA, then the examples that they leave undecided."""

    begins = ISG

    @property
    def explanation(self) -> str:
        """What ran."""
        return f"hybrid: {super().explanation}"
