"""Passes over the sentences of a chain problem: their batches, and the compiled calls of one."""

from __future__ import annotations

from collections.abc import Callable

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import State
from widemargin.problems.chain import ChainProblem

_BATCHES = 500
"""Batches that a pass is cut into, at least: those of a batch do not see each other's steps. On the
OCR words passes of 300 batches would take a sixth more steps to the same gap, on CoNLL-2000 passes
of 560 batches take none."""


def batch_of(count: int, largest: int) -> int:
    """Return how many of `count` sentences are visited at the same weights.

    The number of threads does not matter.
    """
    return min(largest, max(1, count // _BATCHES))


def finish_pass(
    state: State, problem: ChainProblem, chosen: int, work: float, sweep: Callable[[int], bool]
) -> None:
    """Finish a pass over `chosen` sentences that has begun; over all it would take `work`."""
    budget = max(1, int(problem.rows.count * MACHINE.call / max(work, 1.0)))
    while not sweep(budget):
        problem.rows.checkpoint()
    problem.rows.checkpoint()
    share = chosen / max(1, problem.count)
    problem.meter.add(MACHINE.sweep_call + share * work)
    state.passes += share
    state.active = chosen
