"""``solver="auto"`` for the multiclass problems: sweeps first, Newton steps where they pay.

Block dual descent starts. It estimates the gap of each sweep for free; from the rate at which that
falls follows how many sweeps the tolerance will take. Where all weights together are few enough for
one factorised matrix, or the examples that are not at rest, the state goes to ``proximal_newton``
when that is predicted to be cheaper from there and the sweeps have cost a good part of it: Newton
gains from a better start, and should the prediction be wrong, little is lost. Predictions count
operations and never look at the clock.
"""

from __future__ import annotations

import numpy as np

from widemargin.methods.auto_binary import sweeps_to_go
from widemargin.methods.base import Method, Progress
from widemargin.methods.block_dual_cd import BlockDualCD
from widemargin.methods.multiclass_newton import SMALL_PROBLEM, MulticlassNewton, products
from widemargin.methods.tied_system import LARGEST_MATRIX, matrix_work, tied_work
from widemargin.problems.certificate import Point
from widemargin.problems.multiclass import MulticlassProblem

_FIRST_LOOK = 4
"""Steps before which the rate says little."""

_SPENT = 0.4
"""Share of what Newton would cost that sweeps may cost before."""

_NEWTON_STEPS = 25


class AutoMulticlass:
    """Block dual descent, and Newton steps when it would take longer."""

    def __init__(self) -> None:
        self._story: list[str] = []

    @property
    def explanation(self) -> str:
        """The methods that ran, each with the reason for it."""
        return " -> ".join(self._story)

    def _tell(self, method: Method, reason: str) -> Method:
        self._story.append(f"{method.name} ({reason})")
        return method

    def first(self, problem: MulticlassProblem, warm: Point | None, tol: float) -> Method:
        """Start with block dual descent, but for small problems."""
        side = (problem.rows.weights + problem.free_intercept) * problem.classes
        newton = MulticlassNewton()
        small = side <= LARGEST_MATRIX and products(problem) <= SMALL_PROBLEM
        if small and newton.refuses(problem) is None:
            return self._tell(newton, "small problem")
        return self._tell(BlockDualCD(), "all classes at once")

    def next(self, progress: Progress) -> Method | None:
        """Hand over when the method at work would take longer than the other one from here."""
        problem = progress.problem
        if progress.method == "proximal_newton":
            if progress.finished and len(self._story) < 4:
                return self._tell(BlockDualCD(), "Newton steps stalled")
            return None
        if len(self._story) > 2 or progress.iterations < _FIRST_LOOK:
            return None
        newton = MulticlassNewton()
        if newton.refuses(problem) is not None:
            return None
        # Searches over the last moves let the gap jump: what counts is the best so far.
        best = np.minimum.accumulate(progress.expected).tolist()
        remaining = sweeps_to_go(best, progress.tol)
        sweep = sweep_seconds(problem)
        ahead = remaining * sweep * progress.passes / progress.iterations
        cost = newton_seconds(problem, progress.active)
        if ahead <= cost or progress.passes * sweep < _SPENT * cost:
            return None
        sweeps = "more than 1000" if remaining >= 1000 else f"about {remaining:.0f}"
        return self._tell(
            newton, f"block descent needed {sweeps} more steps after {progress.iterations}"
        )


def sweep_seconds(problem: MulticlassProblem) -> float:
    """Predict what a sweep over all examples costs; nanoseconds of one core of 2023."""
    rows = problem.rows
    return 1e-9 * (0.2 * rows.view.nonzeros * problem.stride + 80.0 * rows.count) + 1e-4


def newton_seconds(problem: MulticlassProblem, active: int) -> float:
    """Predict what the Newton steps cost, in the same currency; infinite if systems are too large.

    Most examples that are not at rest will have two classes tied, some three; but ties are no more
    than weights.
    """
    rows = problem.rows
    side = (rows.weights + problem.free_intercept) * problem.classes
    freedoms = min(active + active // 4, side)
    system = min(tied_work(problem, active, freedoms), matrix_work(problem, freedoms, side))
    passes = 0.3 * rows.view.nonzeros * problem.stride + rows.count * (150.0 + 4.0 * problem.stride)
    return _NEWTON_STEPS * (1e-9 * (passes + 0.045 * system) + 2e-4)
