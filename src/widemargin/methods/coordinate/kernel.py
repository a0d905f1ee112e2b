"""Dual descent for kernels by working sets, both hinges."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from widemargin.methods.base import Settings
from widemargin.methods.coordinate._kernel_descent import (
    KernelDualCDState,
    begin,
    go_on,
    refusal,
)
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem


class KernelDualCD:
    """Working sets for both hinges."""

    name = "dual_cd"
    serves: ClassVar[type[KernelProblem]] = KernelProblem

    def refuses(self, problem: KernelProblem) -> str | None:
        """Serve losses whose dual is a parabola: both hinges."""
        return refusal(problem)

    def start(
        self, problem: KernelProblem, warm: Point | None, settings: Settings
    ) -> KernelDualCDState:
        """Start at α = 0 or at the warm dual variables."""
        return begin(problem, warm, settings.tol)

    def advance(self, state: KernelDualCDState) -> None:
        """Take working sets until the gap is estimated to be closed, or for one compiled call."""
        go_on(state)
        state.active = int(np.count_nonzero(state.u))
