"""``solver="auto"`` for multinomial logistic regression: sweeps or Newton steps, by their price.

Newton steps begin where they are predicted to cost less than the sweeps that would be needed.
Elsewhere sweeps begin, and tell by the rate at which their gap falls how many more it takes; the
state goes to Newton's method once that is predicted to be cheaper and the sweeps have cost enough
to back the prediction. A loan that is spent without getting ahead is recalled.
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
from widemargin.data.work import Size, factor
from widemargin.problems.multinomial import MultinomialProblem

SWEEPS, STEPS = "dual_cd", "newton"


@dataclass(frozen=True)
class MultinomialShape:
    """A multinomial problem as the policy sees it.

    Attributes
    ----------
    size : Size
        Counts of rows, weights of one class and stored values.
    classes, stride : int
        Classes, and the same rounded up to whole vectors.
    stiffness : float
        What an example alone does to its own scores on average: c ‖x‖² / 2.
    steps_served : bool
        Whether Newton steps support the problem.
    tol : float
    """

    size: Size
    classes: int
    stride: int
    stiffness: float
    steps_served: bool
    tol: float

    @classmethod
    def of(cls, problem: MultinomialProblem, tol: float) -> MultinomialShape:
        """Read the counts off a problem."""
        rows = problem.rows
        mean_cost = float(problem.cost.mean()) if rows.count else 0.0
        return cls(
            rows.size,
            problem.classes,
            problem.stride,
            0.5 * mean_cost * rows.mean_squared_norm,
            method_named(STEPS, MultinomialProblem).refuses(problem) is None,
            tol,
        )

    @property
    def digits(self) -> float:
        """Decimal digits that the tolerance asks for, at least one."""
        return max(1.0, -math.log10(max(self.tol, 1e-16)))

    @property
    def sweep(self) -> float:
        """Price a sweep over all examples."""
        return MACHINE.sweep_call + self.size.multinomial_sweep(self.stride)

    @property
    def sweeps(self) -> float:
        """Price the sweeps that a problem of this stiffness is expected to take."""
        stiff = MACHINE.stiff_sweeps * self.stiffness**MACHINE.stiff_exponent
        return self.sweep * (MACHINE.least_sweeps + stiff) * self.digits / 4.0

    @property
    def steps(self) -> float:
        """Price the Newton steps."""
        size = self.size
        product = size.class_product(self.stride, 2.0)
        softmax = size.softmax(self.stride, 3.0)
        step = MACHINE.multinomial_step_products * product + softmax
        if size.weights > MACHINE.largest_factorised:
            # A diagonal is all that preconditions so many: they take some three times the products.
            step = 3.0 * step
            return MACHINE.multinomial_steps * (step + 3.0 * MACHINE.step)
        used = min(size.rows, MACHINE.factor_rows * size.weights)
        matrix = size.gram(used) + factor(size.weights)
        return MACHINE.multinomial_steps * (step + 3.0 * MACHINE.step) + 2.0 * matrix


class MultinomialPolicy:
    """Block dual descent or Newton's method, whichever is predicted to cost less."""

    def shape_of(self, problem: MultinomialProblem, tol: float, warm: bool) -> MultinomialShape:
        """Read the counts off a problem."""
        return MultinomialShape.of(problem, tol)

    def first(self, shape: MultinomialShape, follows: str) -> Decision:
        """Start with the method that worked at the last C, or with the cheaper one."""
        if follows in (SWEEPS, STEPS) and (follows == SWEEPS or shape.steps_served):
            return Decision(follows, cause.WORKED_BEFORE)
        small = max(shape.size.values, shape.size.rows) * shape.classes <= MACHINE.small_problem
        if shape.steps_served and (small or shape.steps <= shape.sweeps):
            return Decision(STEPS, cause.few_weights(shape.size.weights * shape.classes))
        return Decision(SWEEPS, cause.SWEEPS_TELL)

    def next(self, shape: MultinomialShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Hand over when the method at work would take longer than the other one from here."""
        leg = legs[-1]
        if leg.method == STEPS:
            return self._after_step(shape, legs)
        if not shape.steps_served or leg.finished or any(each.finished for each in legs):
            return None
        to_go = leg.work * ahead(leg.gaps, shape.tol)
        before = sum(each.work for each in legs if each.method == STEPS)
        if not is_due(leg.work, to_go, max(shape.steps, 2.0 * before)):
            return None
        return Decision(STEPS, cause.slow_sweeps(steps_to_go(leg.gaps, shape.tol), len(leg.gaps)))

    def _after_step(self, shape: MultinomialShape, legs: Sequence[Leg]) -> Decision | None:
        """Go back to sweeps when steps stall, or have spent their loan without getting ahead."""
        leg = legs[-1]
        if leg.finished:
            return Decision(SWEEPS, cause.stalled(STEPS)) if len(legs) < 4 else None
        if leg.work < 2.0 * shape.steps or leg.gaps[-1] <= 10.0 * shape.tol or len(legs) > 8:
            return None
        swept = [each for each in legs if each.method == SWEEPS and len(each.gaps) >= 4]
        needed = shape.sweeps
        if swept:
            needed = swept[-1].work * ahead(swept[-1].gaps, shape.tol)
        remaining = leg.work * ahead(leg.gaps, shape.tol)
        return Decision(SWEEPS, cause.LOAN_SPENT) if max(remaining, leg.work) > needed else None
