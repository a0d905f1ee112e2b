"""IPPA: an exact proximal step for one example at a time (DRSVM eq. 6), or for a mini-batch.

Norm 2 by the analytic cases, at the price of the row's entries alone; norms 1 and infinity by the
modified secant method, at a few passes over the weights for each example. The step of a mini-batch
(`batch_size`; DRSVM names it as future work) is found by the same steps, one example after the
other with the multipliers of the others held, until none moves.
"""

from __future__ import annotations

from typing import ClassVar

from widemargin.methods.published._incremental import Incremental
from widemargin.problems.certificate import Point
from widemargin.problems.robust import RobustProblem

_ROUNDS = 20
"""Rounds over a mini-batch at most, as the compiled steps have it."""


class IPPA(Incremental):
    """Incremental proximal points."""

    name = "ippa"
    first_step = 0.3
    options: ClassVar[dict[str, str]] = {"step": "scheme", "batch_size": "batch_size"}

    def batch_of(self, problem: RobustProblem) -> int:
        """Return how many examples go between two summed iterates: a sum costs all weights."""
        rows = problem.rows
        mean = max(1.0, rows.view.nonzeros / max(1, rows.count))
        return max(8, min(rows.count, int(4.0 * rows.weights / mean)))

    def _batches(self, problem: RobustProblem) -> tuple[int, int]:
        """Return the examples between two summed iterates, and those of one proximal step."""
        together = min(self._batch_size or 1, problem.rows.count)
        return -(-self.batch_of(problem) // together) * together, together

    def _first_step(self, problem: RobustProblem, unit: float, warm: Point | None) -> float:
        """Start smaller from a warm point: larger steps would only lose it."""
        return (0.02 if warm is not None else 1.0) * self.first_step * unit

    def _dense_work(self, problem: RobustProblem, batch: int) -> float:
        once = 4.0 if problem.norm == 2.0 else 20.0 * problem.rows.weights
        return once * (1 if self._batch_size in (None, 1) else _ROUNDS)
