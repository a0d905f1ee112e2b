"""``solver="auto"`` for sparse weights: models by their matrix, or by sweeps over columns.

Both methods take about the same steps; they differ in what a step costs. The matrix of a working
set grows with the square of its columns, sweeps with its stored values times how many are needed,
which nobody knows in advance. So the cheaper one by price begins. It gives way once it has spent
what the other is predicted to take in all, or a step what one of the other and the hand-over cost,
unless its own rate says that it is nearly done. Each hand-over doubles what the next one needs: the
two together never cost more than a small multiple of the better one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE
from widemargin.auto.prediction import over_dual
from widemargin.data.work import Size, factor
from widemargin.problems.sparse_multinomial import SparseMultinomialProblem
from widemargin.problems.sparse_weights import SparseProblem

MATRIX, SWEEPS = "proximal_newton", "primal_cd"

_HAND_OVER = 5.0
"""Products of a hand-over: two and the norms of the columns certify the point, two begin anew."""

_COUNTED_AT = 1e-4
"""The tolerance, in the median, of the fits whose steps and sweeps were counted."""

_MOST_LEGS = 12
"""Each hand-over doubles the price: so many are never reached in practice."""


@dataclass(frozen=True)
class SparseShape:
    """A problem with sparse weights as the policy sees it: counts, and the columns to start with.

    `first` are about the columns in work: all of them where they are few, else those that violate
    their conditions at w = 0, no more than twice the rows with the 1-norm alone; `classes` take
    such steps in turn.
    """

    size: Size
    first: int
    tol: float
    classes: int = 1


class SparsePolicy:
    """Proximal Newton while working sets are small, coordinate descent on columns beyond."""

    def shape_of(
        self, problem: SparseProblem | SparseMultinomialProblem, tol: float, warm: bool
    ) -> SparseShape:
        """Read the counts off a problem."""
        size = problem.rows.size
        classes = problem.classes if isinstance(problem, SparseMultinomialProblem) else 1
        first = MACHINE.first_columns
        if size.weights <= 4 * first:
            first = size.weights
        elif isinstance(problem, SparseProblem) and not warm:
            violate = int(np.count_nonzero(np.abs(problem.slopes_at_zero) > problem.l1_ratio))
            # With the 1-norm alone, as many weights as rows are enough.
            most = 2 * size.rows if problem.l1_ratio == 1.0 else size.weights
            first = max(first, min(violate, most))
        return SparseShape(size, first, tol, classes)

    def first(self, shape: SparseShape, follows: str) -> Decision:
        """Begin with the cheaper method by price, or with what worked at a smaller C."""
        if follows in (MATRIX, SWEEPS):
            return Decision(follows, cause.WORKED_BEFORE)
        # Working sets are twice as large as their weights are many.
        largest = min(2 * shape.first, shape.size.weights)
        sweeps = price(SWEEPS, shape.size, shape.first, shape.tol)
        dear = price(MATRIX, shape.size, largest) > sweeps
        words = cause.SPARSE_COLUMNS if dear else cause.few_columns(shape.first)
        return Decision(SWEEPS if dear else MATRIX, words)

    def next(self, shape: SparseShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Give way to the other method once that is predicted to cost less than what was spent."""
        leg = legs[-1]
        other = SWEEPS if leg.method == MATRIX else MATRIX
        if leg.finished:
            stalled = any(each.finished and each.method == other for each in legs)
            return None if stalled else Decision(other, cause.stalled(leg.method))
        if len(legs) > _MOST_LEGS or leg.gaps[-1] <= shape.tol:
            return None
        columns = leg.active or shape.first
        return Decision(other, cause.columns_in_work(columns)) if _due(shape, legs) else None


def _due(shape: SparseShape, legs: Sequence[Leg]) -> bool:
    """Whether the method at work has spent, or is about to, what the other takes in all.

    A working set that has grown may make a single step cost that much. Sweeps give way as well
    where their last step has cost more than one with a matrix and the hand-over.
    """
    leg = legs[-1]
    columns = leg.active or shape.first
    spent, often = leg.work, 2.0 ** (len(legs) - 1)
    over = shape.size.product(_HAND_OVER)
    if leg.method == MATRIX:
        if columns > MACHINE.largest_factorised:
            return True
        spent = max(spent, shape.classes * price(MATRIX, shape.size, columns))
    elif columns <= MACHINE.largest_factorised and len(leg.works) > 1:
        step = shape.classes * step_price(MATRIX, shape.size, columns) + over
        if leg.works[-1] - leg.works[-2] > often * step and _left(leg, shape.tol) > step:
            return True
    other = SWEEPS if leg.method == MATRIX else MATRIX
    asked = shape.classes * price(other, shape.size, columns, shape.tol)
    # What it has spent without an end was at most half of what it takes.
    asked = over + max(asked, 2.0 * sum(each.work for each in legs if each.method == other))
    return spent > often * asked and _left(leg, shape.tol) > asked


def _left(leg: Leg, tol: float) -> float:
    """Predict what a method still costs from its last two steps.

    By the rate of (P − D) / D: the gap as a share of P is near one while D rises fast.
    """
    if len(leg.gaps) < 2:
        return math.inf
    before, now = (over_dual(gap) for gap in leg.gaps[-2:])
    if not 0.0 < now < before:
        return math.inf
    gained, missing = before / now, now / tol
    return (leg.works[-1] - leg.works[-2]) * math.log(missing) / math.log(gained)


def price(method: str, size: Size, columns: int, tol: float = _COUNTED_AT) -> float:
    """Predict what a method costs on so many columns, in all.

    Sweeps converge linearly: what they take grows with the logarithm of the tolerance.
    """
    if method == MATRIX:
        copied, steps = size.product(2.0), MACHINE.column_matrices
    else:
        # Only these columns are copied; to find them takes a pass over the rows.
        values = MACHINE.transposed_value * _part(size, columns).values
        steps = MACHINE.column_steps * max(1.0, math.log(tol) / math.log(_COUNTED_AT))
        copied = size.product() + values
    return copied + steps * step_price(method, size, columns)


def _part(size: Size, columns: int) -> Size:
    """Count what so many columns store; those in work have more than others, but for dense ones."""
    share = columns / max(1, size.weights)
    values = int(size.values * (share if size.dense else math.sqrt(share)))
    return Size(size.rows, columns, values)


def step_price(method: str, size: Size, columns: int) -> float:
    """Predict what a step of a method costs on so many columns."""
    part = _part(size, columns)
    if method == MATRIX:
        entry = MACHINE.matrix_entry + MACHINE.matrix_sweeps * MACHINE.tile_multiply
        step = part.gram() + factor(columns) + entry * columns**2 + part.product(2.0)
    else:
        # A working set has about twice as many columns as weights.
        sweep = part.column_sweep(1.0, 0.5)
        step = MACHINE.mean_column_sweeps * sweep + part.column_product(
            1.0 + MACHINE.changed_column
        )
    return step + size.product() + size.vectors(MACHINE.newton_vectors) + MACHINE.step
