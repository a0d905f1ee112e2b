"""``solver="auto"`` for the joint multiclass problems: see `widemargin.auto.contest`.

Block dual descent starts. Newton steps follow where all weights together are few enough for one
factorised matrix, or the examples that are not at rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from widemargin.auto import cause
from widemargin.auto.contest import Contest, Offer
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prices import expected_sweeps
from widemargin.auto.registry import method_named
from widemargin.auto.shape import JointShape
from widemargin.data.work import Size, factor
from widemargin.methods.newton._multiclass_system import (
    iterative_work,
    matrix_work,
    multiclass_step,
    tied_work,
)
from widemargin.problems.multiclass import MulticlassProblem

SWEEPS, STEPS = "block_dual_cd", "proximal_newton"


@dataclass(frozen=True)
class MulticlassShape(JointShape):
    """A joint multiclass problem as the policy sees it; `warm` means that a point is known."""

    free_intercept: bool = False
    warm: bool = False

    @classmethod
    def of(cls, problem: MulticlassProblem, tol: float) -> MulticlassShape:
        """Read the counts off a problem."""
        served = method_named(STEPS, MulticlassProblem).refuses(problem) is None
        return replace(cls.read(problem, tol, served, 1.0), free_intercept=problem.free_intercept)

    @property
    def side(self) -> int:
        """Weights of all classes together, with their intercepts."""
        return (self.size.weights + self.free_intercept) * self.classes

    @property
    def sweep(self) -> float:
        """Price a sweep over all examples."""
        return MACHINE.sweep_call + self.size.block_sweep(self.stride)

    @property
    def in_row_space(self) -> MulticlassShape | None:
        """The same problem on the factor of X Xᵀ, if examples are fewer than weights, and few."""
        rows = self.size.rows
        kept = rows * max(rows, self.stride) <= MACHINE.most_kept
        if rows >= self.size.weights or rows > MACHINE.largest_factorised or not kept:
            return None
        return replace(self, size=Size(rows, rows, rows**2), steps_served=True)

    def steps(self, active: int) -> float:
        """Price the Newton steps when so many examples are not at rest.

        At first all of these have classes tied, and perhaps all classes; at the solution most have
        two, and ties are no more than weights. Steps are spread evenly between, in logarithms.
        """
        size, active = self.size, max(1, active)
        ties = int(math.sqrt(active * min(active, self.side)))
        freedoms = int(ties * math.sqrt(self.classes - 1.0))
        system = min(
            tied_work(size, self.classes, ties, freedoms),
            matrix_work(size, ties, freedoms, self.side),
            iterative_work(size, self.classes, self.stride, ties, freedoms),
        )
        return MACHINE.multiclass_steps * (multiclass_step(size, self.stride) + system)


class MulticlassPolicy(Contest[MulticlassShape]):
    """Block dual descent, and Newton steps when it would take longer."""

    sweeps = SWEEPS

    def shape_of(self, problem: MulticlassProblem, tol: float, warm: bool) -> MulticlassShape:
        """Read the counts off a problem."""
        return replace(MulticlassShape.of(problem, tol), warm=warm)

    def offers(self, shape: MulticlassShape, leg: Leg | None = None) -> list[Offer]:
        """Price the Newton steps on the examples that are not at rest."""
        active = shape.size.rows if leg is None else leg.active
        found = [Offer(STEPS, shape.steps(active), begins=False)] if shape.steps_served else []
        reduced = shape.in_row_space
        if reduced is not None:
            start = shape.size.row_gram() + factor(shape.size.rows)
            found.append(Offer(STEPS, start + reduced.steps(active), True, begins=False))
        return sorted(found, key=lambda offer: offer.price)

    def least_price(self, shape: MulticlassShape) -> float:
        """Return what the calls of the Newton steps cost, whatever the problem."""
        return MACHINE.multiclass_steps * MACHINE.multiclass_call * MACHINE.step

    def sweep(self, shape: MulticlassShape) -> float:
        """Price a sweep over all examples."""
        return shape.sweep

    def expected(self, shape: MulticlassShape) -> float:
        """Price the sweeps that the stiffness lets expect, and more of them for several classes.

        An example at a tie of two classes is one row of all weights, of which a shift common to the
        classes does not count: with several classes it takes more examples to fill them.
        """
        size = shape.size
        freedoms = replace(size, weights=size.weights * (shape.classes - 1))
        sweeps = expected_sweeps(freedoms, shape.stiffness, shape.tol)
        return shape.sweep * MACHINE.block_sweeps * sweeps

    def first(self, shape: MulticlassShape, follows: str) -> Decision:
        """Start with block dual descent, unless the problem is tiny: see `BinaryPolicy`."""
        if shape.elsewhere:
            return Decision(STEPS, cause.ELSEWHERE)
        blocks = shape.size.rows * shape.classes
        if blocks <= MACHINE.tiny_blocks and shape.steps_served:
            return Decision(STEPS, cause.few_weights(shape.side))
        if not shape.warm and shape.steps_served and self._hardly_in_doubt(shape):
            return Decision(STEPS, cause.few_weights(shape.side))
        return self.swept(cause.SWEEPS_TELL)

    def _hardly_in_doubt(self, shape: MulticlassShape) -> bool:
        """Whether Newton steps are so likely to be cheaper that sweeps need not tell.

        Both choices are compared by the logarithm of the regret that they let expect. Sweeps that
        only tell cost their share of the price. Where steps begin and sweeps would have been
        enough, the price is paid twice over, which is the loan, in place of the few sweeps that
        are the least; that happens where the ratio of both predictions, log-normal, is off by all
        of itself.

        Twice as many examples as weights can be separated whatever their labels are: with no more
        than that nothing is known about the sweeps.
        """
        if shape.size.rows <= 2 * shape.side:
            return False
        price, sweep = shape.steps(shape.size.rows), self.sweep(shape)
        digits = math.log(max(self.expected(shape) / price, 1e-9)) / math.log(MACHINE.joint_unsure)
        wrong = 0.5 * math.erfc(digits / math.sqrt(2.0))
        lost = math.log(max(2.0 * price / (MACHINE.least_sweeps * sweep), 1.0))
        return wrong * lost < math.log1p(MACHINE.block_told * sweep / price)

    def next(self, shape: MulticlassShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on.

        Estimates far below the tolerance that no certificate confirms do not end it either: what
        is left of the intercepts' constraint can only be priced, not swept away.
        """
        if shape.elsewhere:
            return None
        leg = legs[-1]
        alone = len(legs) == 1 and leg.method == SWEEPS and shape.steps_served
        if alone and not leg.finished and leg.gaps[-1] <= 0.1 * shape.tol:
            return Decision(STEPS, cause.stalled(SWEEPS))
        return super().next(shape, legs, follows)
