"""``solver="auto"`` for multinomial logistic regression: see `widemargin.auto.contest`.

Newton steps begin where they are predicted to cost less than the sweeps that would be needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widemargin.auto import cause
from widemargin.auto.contest import Contest, Offer
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prices import expected_sweeps
from widemargin.auto.registry import method_named
from widemargin.auto.shape import JointShape
from widemargin.data.work import factor
from widemargin.problems.multinomial import MultinomialProblem

SWEEPS, STEPS = "dual_cd", "newton"


@dataclass(frozen=True)
class MultinomialShape(JointShape):
    """A multinomial problem as the policy sees it."""

    @classmethod
    def of(cls, problem: MultinomialProblem, tol: float) -> MultinomialShape:
        """Read the counts off a problem; second derivatives of the loss are at most ½."""
        served = method_named(STEPS, MultinomialProblem).refuses(problem) is None
        return cls.read(problem, tol, served, 0.5)

    @property
    def sweep(self) -> float:
        """Price a sweep over all examples."""
        return MACHINE.sweep_call + self.size.multinomial_sweep(self.stride)

    @property
    def steps(self) -> float:
        """Price the Newton steps."""
        size = self.size
        product = size.class_product(self.stride, 2.0)
        softmax = size.softmax(self.stride, 3.0)
        step = MACHINE.multinomial_step_products * product + softmax
        call, matrices = MACHINE.multinomial_call * MACHINE.step, 0.0
        if size.weights > MACHINE.largest_factorised:
            step *= MACHINE.diagonal_products
        else:
            used = min(size.rows, MACHINE.factor_rows * size.weights)
            matrix = size.gram(used) + factor(size.weights)
            matrices = MACHINE.multinomial_matrices * matrix
        return MACHINE.multinomial_steps * (step + call) + matrices


class MultinomialPolicy(Contest[MultinomialShape]):
    """Block dual descent or Newton's method, whichever is predicted to cost less."""

    sweeps = SWEEPS

    def shape_of(self, problem: MultinomialProblem, tol: float, warm: bool) -> MultinomialShape:
        """Read the counts off a problem."""
        return MultinomialShape.of(problem, tol)

    def offers(self, shape: MultinomialShape, leg: Leg | None = None) -> list[Offer]:
        """Price the Newton steps."""
        return [Offer(STEPS, shape.steps)] if shape.steps_served else []

    def sweep(self, shape: MultinomialShape) -> float:
        """Price a sweep over all examples."""
        return shape.sweep

    def expected(self, shape: MultinomialShape) -> float:
        """Price the sweeps that the stiffness lets expect."""
        return shape.sweep * expected_sweeps(shape.size, shape.stiffness, shape.tol)

    def first(self, shape: MultinomialShape, follows: str) -> Decision:
        """Start with the method that worked at the last C, or with the cheaper one."""
        if shape.elsewhere:
            return Decision(STEPS, cause.ELSEWHERE)
        if follows in (SWEEPS, STEPS) and (follows == SWEEPS or shape.steps_served):
            return Decision(follows, cause.WORKED_BEFORE)
        small = max(shape.size.values, shape.size.rows) * shape.classes <= MACHINE.small_problem
        if shape.steps_served and (small or shape.steps <= self.expected(shape)):
            return Decision(STEPS, cause.few_weights(shape.size.weights * shape.classes))
        return self.swept(cause.SWEEPS_TELL)

    def next(self, shape: MultinomialShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on."""
        return None if shape.elsewhere else super().next(shape, legs, follows)
