"""``solver="auto"`` for the joint multiclass problems: sweeps first, Newton steps where they pay.

Block dual descent starts. It estimates the gap of each sweep for free; from the rate at which that
falls follows how many sweeps the tolerance will take. Where all weights together are few enough for
one factorised matrix, or the examples that are not at rest, the state goes to ``proximal_newton``
once that is predicted to be cheaper and the sweeps have cost enough to back the prediction. A loan
that is spent without getting ahead is recalled, as for the binary problems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prediction import ahead, is_due, steps_to_go
from widemargin.auto.registry import method_named
from widemargin.data.work import Size
from widemargin.methods.newton._multiclass_system import (
    iterative_work,
    matrix_work,
    multiclass_step,
    tied_work,
)
from widemargin.problems.multiclass import MulticlassProblem

SWEEPS, STEPS = "block_dual_cd", "proximal_newton"


@dataclass(frozen=True)
class MulticlassShape:
    """A joint multiclass problem as the policy sees it.

    Attributes
    ----------
    size : Size
        Counts of rows, weights of one class and stored values.
    classes, stride : int
        Classes, and the same rounded up to whole vectors.
    side : int
        Weights of all classes together, with their intercepts.
    steps_served : bool
        Whether Newton steps support the problem.
    tol : float
    """

    size: Size
    classes: int
    stride: int
    side: int
    steps_served: bool
    tol: float

    @classmethod
    def of(cls, problem: MulticlassProblem, tol: float) -> MulticlassShape:
        """Read the counts off a problem."""
        return cls(
            problem.rows.size,
            problem.classes,
            problem.stride,
            (problem.rows.weights + problem.free_intercept) * problem.classes,
            method_named(STEPS, MulticlassProblem).refuses(problem) is None,
            tol,
        )

    @property
    def sweep(self) -> float:
        """Price a sweep over all examples."""
        return MACHINE.sweep_call + self.size.block_sweep(self.stride)

    def steps(self, active: int) -> float:
        """Price the Newton steps when so many examples are not at rest.

        Most of them will have two classes tied, more where there are many; but ties are no more
        than weights.
        """
        size = self.size
        freedoms = int(min(active * (1.0 + 0.25 * (self.classes - 1)), self.side))
        system = min(
            tied_work(size, self.classes, active, freedoms),
            matrix_work(size, freedoms, self.side),
        )
        # Near the solution ties are fewer; conjugate gradients take no fewer products for that.
        system *= 0.5
        if not math.isfinite(system):
            system = iterative_work(size, self.stride)
        return MACHINE.multiclass_steps * (multiclass_step(size, self.stride) + system)


class MulticlassPolicy:
    """Block dual descent, and Newton steps when it would take longer."""

    def shape_of(self, problem: MulticlassProblem, tol: float, warm: bool) -> MulticlassShape:
        """Read the counts off a problem."""
        return MulticlassShape.of(problem, tol)

    def first(self, shape: MulticlassShape, follows: str) -> Decision:
        """Start with block dual descent, unless the problem is tiny: see `BinaryPolicy`."""
        blocks = shape.size.rows * shape.classes
        if blocks <= MACHINE.tiny_blocks and shape.steps_served:
            return Decision(STEPS, cause.few_weights(shape.side))
        return Decision(SWEEPS, cause.SWEEPS_TELL)

    def next(self, shape: MulticlassShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Hand over when the method at work would take longer than the other one from here."""
        leg = legs[-1]
        if leg.method == STEPS:
            return self._after_step(shape, legs)
        if not shape.steps_served or any(each.finished for each in legs[:-1]):
            return None
        # Estimates far below the tolerance that no certificate confirms do not end it either: what
        # is left of the intercepts' constraint can only be priced, not swept away.
        hopeful = leg.gaps[-1] <= 0.1 * shape.tol and len(legs) == 1
        if leg.finished or hopeful:
            return Decision(STEPS, cause.stalled(SWEEPS))
        to_go = leg.work * ahead(leg.gaps, shape.tol)
        before = sum(each.work for each in legs if each.method == STEPS)
        price = max(shape.steps(leg.active), 2.0 * before)
        if not is_due(leg.work, to_go, price):
            return None
        return Decision(STEPS, cause.slow_sweeps(steps_to_go(leg.gaps, shape.tol), len(leg.gaps)))

    def _after_step(self, shape: MulticlassShape, legs: Sequence[Leg]) -> Decision | None:
        """Go back to sweeps when steps stall, or have spent their loan without getting ahead."""
        leg = legs[-1]
        if leg.finished:
            return Decision(SWEEPS, cause.stalled(STEPS)) if len(legs) < 4 else None
        swept = [each for each in legs if each.method == SWEEPS and len(each.gaps) >= 4]
        price = shape.steps(leg.active)
        if leg.work < 2.0 * price or leg.gaps[-1] <= 10.0 * shape.tol or len(legs) > 8:
            return None
        needed = shape.sweep * MACHINE.telling_sweeps
        if swept:
            needed = swept[-1].work * ahead(swept[-1].gaps, shape.tol)
        remaining = leg.work * ahead(leg.gaps, shape.tol)
        return Decision(SWEEPS, cause.LOAN_SPENT) if max(remaining, leg.work) > needed else None
