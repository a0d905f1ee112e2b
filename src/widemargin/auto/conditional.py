"""``solver="auto"`` for conditional random fields: see `widemargin.auto.contest`.

Block ascent on the dual begins. The steps of L-BFGS grow with a small power of the stiffness, the
passes of block ascent with nearly the whole of it: where these get nowhere, L-BFGS goes on from
their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widemargin.auto import cause
from widemargin.auto.contest import Contest, Offer
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prices import expected_sweeps
from widemargin.data.work import Size
from widemargin.methods.structures.lbfgs import step_work
from widemargin.problems.conditional import ConditionalProblem

PASSES, STEPS = "exponentiated_gradient", "lbfgs"


@dataclass(frozen=True)
class ConditionalShape:
    """A conditional random field as the policy sees it.

    Attributes
    ----------
    size : Size
        Counts of rows, weights of one label and stored values.
    visits, step : float
        Price of block ascent on all sentences, and of a step of L-BFGS.
    tol : float
    stiffness : float
        What a row and an edge alone do to their own scores on average: c (‖x‖² + 1).
    """

    size: Size
    visits: float
    step: float
    tol: float
    stiffness: float = 1.0

    @classmethod
    def of(cls, problem: ConditionalProblem, tol: float) -> ConditionalShape:
        """Read the counts off a problem."""
        rows = problem.rows
        cost = float(problem.cost @ problem.lengths) / max(1, rows.count)
        stiffness = cost * (rows.mean_squared_norm + 1.0)
        return cls(rows.size, problem.ascent_work, step_work(problem), tol, stiffness)


class ConditionalPolicy(Contest[ConditionalShape]):
    """Dual block ascent, or quasi-Newton steps on the primal where it gets nowhere."""

    sweeps = PASSES

    def shape_of(self, problem: ConditionalProblem, tol: float, warm: bool) -> ConditionalShape:
        """Read the counts off a problem."""
        return ConditionalShape.of(problem, tol)

    def offers(self, shape: ConditionalShape, leg: Leg | None = None) -> list[Offer]:
        """Price the steps of L-BFGS."""
        least, power = MACHINE.chain_steps
        return [Offer(STEPS, least * (1.0 + shape.stiffness) ** power * shape.step)]

    def sweep(self, shape: ConditionalShape) -> float:
        """Price a pass over all sentences."""
        return MACHINE.sweep_call + shape.visits

    def expected(self, shape: ConditionalShape) -> float:
        """Price the passes that the stiffness lets expect."""
        return self.sweep(shape) * expected_sweeps(shape.size, shape.stiffness, shape.tol)

    def slow(self, remaining: float, made: int) -> str:
        """Say why block ascent gives way."""
        return cause.slow_ascent(remaining, made)

    def first(self, shape: ConditionalShape, follows: str) -> Decision:
        """Start with the method that worked at the last C, or with block ascent."""
        if follows == STEPS:
            return Decision(STEPS, cause.WORKED_BEFORE)
        return self.swept(cause.WORKED_BEFORE if follows == PASSES else cause.MARGINALS)

    def next(self, shape: ConditionalShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on."""
        return super().next(shape, legs, "")
