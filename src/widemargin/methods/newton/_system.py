"""Newton directions of the binary problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.data.block_work import ALONE, CHUNK
from widemargin.instruction_sets import core
from widemargin.linalg.cholesky import LIFT, Factor
from widemargin.linalg.conjugate_gradients import NewtonAccuracy, conjugate_gradients
from widemargin.linalg.diagonal_gradients import diagonal_gradients
from widemargin.linalg.preconditioners import Preconditioner
from widemargin.methods.newton._curved_rows import CurvedRows
from widemargin.methods.newton._factors import penalised_factor, sample_pays, sampled_factor
from widemargin.methods.newton._gradient_products import GradientProducts, Opening, opened
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_FAR = 500
"""Promised decreases above this many times the accuracy asked for are far from the solution."""

_DEAR, _CUT = 0.5, 0.1
"""Share of the conjugate gradients allowed that a step may take if the next one is to use them;
or it has cut the gap to that share."""


@dataclass
class NewtonSystem:
    """Solves (I + Σ h_i x_i x_iᵀ) p = −g, with the intercept's unpenalised row and column.

    While the weights are few the matrix is formed and factorised. Where that costs many products
    with it, conjugate gradients with its diagonal come first, until they have once spent half of
    the price in vain: sparse rows make products cheap, and small costs make them few. Where forming
    it costs much more than a product with it, the last factor serves as preconditioner of conjugate
    gradients until it no longer does: a sample's factor is that good for the whole.
    """

    factor: Factor | None = None
    by_diagonal: bool = True
    """Whether the diagonal has been good enough so far."""
    solved: bool = False
    """Whether it gave the last direction."""
    failures: int = 0
    last_steps: int = 0
    sums: CurvedRows | None = None
    residual: Vector | None = None
    """What the last direction left of the equation, −g − H p; None where it was solved exactly."""
    opening: Opening | None = None
    """What the pass that formed the gradient has found for conjugate gradients."""
    expected: int = 1
    """Products of the next direction, judged by the last one."""
    products: GradientProducts | None = None
    """Those of the last direction, if it came from conjugate gradients."""

    def combine(
        self, problem: BinaryProblem, curvature: Vector, name: str, *over: Vector
    ) -> Vector:
        """Return a combination of the rows, for the gradient, and prepare the direction."""
        self.opening = self.products = None
        if self._most_products(problem, curvature) == 0:
            return getattr(problem.rows, name)(*over)
        total, self.opening = opened(problem, curvature, name, over)
        return total

    def scores(self, problem: BinaryProblem, direction: Vector) -> Vector:
        """Return the scores of the weights of the last direction."""
        slopes = None if self.products is None else self.products.slopes
        return problem.rows.scores(direction) if slopes is None else slopes

    @property
    def has_copies(self) -> bool:
        """Whether the rows with curvature were copied."""
        return self.products is not None and self.products.members is not None

    def combine_change(self, problem: BinaryProblem, *over: Vector) -> Vector:
        """Return what `Rows` does, where only rows with curvature have changed."""
        rows = problem.rows
        return (self.products if self.products and self.has_copies else rows).combine_change(*over)

    def direction(
        self,
        problem: BinaryProblem,
        curvature: Vector,
        gradient: Vector,
        gradient_b: float,
        accuracy: float,
        level: float | None = None,
    ) -> tuple[Vector, float]:
        """Return p and its intercept part.

        Parameters
        ----------
        level : float, optional
            Given if h_i is either zero or this multiple of the cost of example i: the matrix then
            changes only by the examples that came or went.
        accuracy : float
            Solve until ½‖residual‖² is at most this.
        """
        free = problem.free_intercept
        right = np.empty(gradient.size + int(free))
        np.negative(gradient, out=right[: gradient.size])
        if free:
            right[-1] = -gradient_b
        solution = self._with_diagonal(problem, curvature, right, accuracy)
        if solution is None:
            solution = self._with_factor(problem, curvature, right, accuracy, level)
        return (solution[:-1], float(solution[-1])) if free else (solution, 0.0)

    def _with_diagonal(
        self, problem: BinaryProblem, curvature: Vector, right: Vector, accuracy: float
    ) -> Vector | None:
        """Solve by conjugate gradients; None where a factor is likely to cost less."""
        most, opening = self._most_products(problem, curvature), self.opening
        self.opening = self.products = None
        if most == 0:
            return None
        products = GradientProducts(problem, curvature, opening, self.expected)
        solution, self.residual, steps = _by_diagonal(problem, products, right, accuracy, most)
        self.took(steps, most)
        self.expected = steps
        if steps >= most and problem.rows.weights <= MACHINE.largest_factorised:
            return None
        self.products = products
        return solution

    def _most_products(self, problem: BinaryProblem, curvature: Vector) -> int:
        """Return how many products the next direction may take; zero where a factor comes first."""
        size = problem.rows.size
        most = _products_instead(size, problem.rows.nonzeros(curvature), one_call=False)
        if size.weights > MACHINE.largest_factorised:
            return most
        return most if self.by_diagonal and most >= MACHINE.fewest_products else 0

    def factorises(self, problem: BinaryProblem, active: int) -> bool:
        """Whether the next direction comes from a factor at once, where so many rows count."""
        most = _products_instead(problem.rows.size, active, one_call=False)
        factorised = problem.rows.weights <= MACHINE.largest_factorised
        return factorised and not (self.by_diagonal and most >= MACHINE.fewest_products)

    def took(self, products: int, most: int) -> None:
        """Remember what a direction by the diagonal took.

        Less exact steps are more of them, so an expensive one is the last of its kind.
        """
        self.by_diagonal, self.solved = products < _DEAR * most, products < most

    def led(self, before: float, gap: float) -> None:
        """Learn what the last direction did to the gap: one that cut it was worth its price."""
        self.by_diagonal |= self.solved and gap <= _CUT * before < np.inf
        self.solved = False

    def products_in_a_call(self, problem: BinaryProblem, active: int) -> int:
        """Return how many products the next step may take in one compiled call; zero for none.

        `active` are the examples that had curvature in the last step.
        """
        size = problem.rows.size
        if not self.by_diagonal or not in_one_call(problem) or not size.short_gradients:
            return 0
        most = _products_instead(size, active, one_call=True)
        return most if most >= MACHINE.fewest_products else 0

    def _with_factor(
        self,
        problem: BinaryProblem,
        curvature: Vector,
        right: Vector,
        accuracy: float,
        level: float | None,
    ) -> Vector:
        dear = matrix_is_dear(problem)
        sums = None
        # On the rounded hinge many come and go with every step; it has to be worth the looking.
        if level is not None and (dear or problem.loss.smooth):
            sums = CurvedRows.following(self.sums, problem, curvature)
        most = self._products_allowed(sums, problem, curvature) if dear else 0
        # Without a level, what they have found is taken even where they did not suffice.
        if most >= (2 if level is None else MACHINE.fewest_products):
            solution = self._by_products(problem, curvature, right, accuracy, level, most)
            if solution is not None:
                return solution
        # `last_steps` stays: the next factor is a sample's again, which holds better than this one
        # where the curvature moves on (measured: proximal Newton on mnist at C = 100).
        self.residual = self.factor = None
        if sums is None or level is None:
            matrix = problem.rows.gram(curvature, problem.free_intercept)
        else:
            matrix = problem.rows.scaled(sums.matrix(curvature, level), level)
            self.sums = sums
        self.factor = penalised_factor(problem, matrix)
        # Without a factor, steepest descent: the objective has overflowed, or is about to.
        return right if self.factor is None else self.factor.solve(right)

    def _products_allowed(
        self, sums: CurvedRows | None, problem: BinaryProblem, curvature: Vector
    ) -> int:
        """Return how many products with an earlier factor may be made in place of a new one.

        As many as cost what the matrix and its factor do: in vain, they lose no more than what they
        were to save. None where few examples have changed, because an exact direction then costs
        little and sorts them sooner.
        """
        if self.failures >= 2 or (sums is not None and sums.share <= MACHINE.few_changes):
            return 0
        size, used = problem.rows.size, float(problem.rows.nonzeros(curvature))
        used *= 1.0 if sums is None else min(1.0, sums.share)
        price = size.gram(used) + work.factor(size.weights)
        each = size.gradient_step() + work.solve(size.weights)
        return min(MACHINE.most_products, int(price / each))

    def _by_products(
        self,
        problem: BinaryProblem,
        curvature: Vector,
        right: Vector,
        accuracy: float,
        level: float | None,
        most: int,
    ) -> Vector | None:
        """Solve with an earlier factor as preconditioner; None if none helps."""
        stale = self.last_steps > MACHINE.stale_products
        if stale or (self.factor is None and level is None):
            self._factorise_sample(problem, curvature)
        if self.factor is None:
            return None
        products = GradientProducts(problem, curvature, None, self.expected)
        product = partial(_product, problem, products)
        solution, self.residual, self.last_steps = _conjugate_gradients(
            problem, product, right, self.factor, accuracy, most, products.moved
        )
        solved, self.expected = self.last_steps < most, self.last_steps
        self.failures += not solved
        # Without a level this is most of the way, and the next step has a factor of its own.
        if not solved and level is not None:
            return None
        self.products = products
        return solution

    def _factorise_sample(self, problem: BinaryProblem, curvature: Vector) -> None:
        """Renew the factor from a sample of the examples, where that is much less work than all."""
        if sample_pays(problem):
            self.factor = sampled_factor(problem, curvature) or self.factor


def in_one_call(problem: BinaryProblem) -> bool:
    """Whether compiled code has whole steps for the problem, if it is small enough."""
    return problem.loss.compiled and not problem.rows.blocked and not problem.linear_intercept


def is_small(problem: BinaryProblem) -> bool:
    """Whether a step with a factor is one compiled call: its arithmetic is less than the calls'."""
    return problem.rows.size.has_short_steps and in_one_call(problem)


def small_step_work(problem: BinaryProblem) -> float:
    """Price a step with a factor in one compiled call."""
    return problem.rows.size.factor_step()


def _products_instead(size: work.Size, active: int, one_call: bool) -> int:
    """Return how many products a step may take in place of a factor, by its price."""
    if size.weights > MACHINE.largest_factorised:
        return MACHINE.largest_products
    price = MACHINE.tried_instead * (size.gram(active) + work.factor(size.weights))
    each = size.gradient_step(one_call)
    return min(max(MACHINE.largest_products, int(MACHINE.call / each)), int(price / each))


def matrix_is_dear(problem: BinaryProblem) -> bool:
    """Whether forming the matrix costs much more than a product with it."""
    size = problem.rows.size
    return size.gram() > max(size.product(2.0 * MACHINE.formed_products), MACHINE.formed_anyway)


def _by_diagonal(
    problem: BinaryProblem, products: GradientProducts, right: Vector, accuracy: float, most: int
) -> tuple[Vector, Vector, int]:
    """Solve with the diagonal as preconditioner, a free intercept eliminated.

    The intercept's equation is then solved exactly whatever the weights are, so that the dual point
    of a step keeps its constraint. What is left is I + Σ h_i (x_i − m)(x_i − m)ᵀ, with the mean m
    under the weights h. core/sweeps/newton_products.hpp has the same.
    """
    free, threads = problem.free_intercept, problem.rows.threads or ALONE
    first, total, weights = np.zeros(0), 0.0, problem.rows.weights
    if free:
        # Where no example has curvature the intercept has none either.
        first, total = products.first, products.total
        total += LIFT * (1.0 + total)
    found, right_b = np.empty((3, weights)), float(right[-1])
    core.eliminate_intercept(
        threads.pool, products.diagonal, first, right[:weights], (total, right_b), found, CHUNK
    )
    diagonal, mean, reduced = found
    solution, residual, steps = diagonal_gradients(
        products.product,
        mean if free else first,
        diagonal,
        NewtonAccuracy(reduced, accuracy, _FAR),
        most,
        products.moved,
        threads,
        products.compiled,
        int(free),
    )
    _count_gradients(problem, steps)
    if free:
        solution[-1] = right_b / total - mean @ solution[:-1]
    return solution, residual, steps


def _product(problem: BinaryProblem, products: GradientProducts, direction: Vector) -> Vector:
    """Return the matrix times a direction, with the intercept's row and column if it is free."""
    free = problem.free_intercept
    w, b = (direction[:-1], float(direction[-1])) if free else (direction, 0.0)
    image, share = products.product(w, b)
    image += w
    return np.append(image, share) if free else image


def _conjugate_gradients(
    problem: BinaryProblem,
    product: Callable[[Vector], Vector],
    right: Vector,
    preconditioner: Preconditioner,
    accuracy: float,
    most: int,
    moved: Callable[[float], None] | None = None,
) -> tuple[Vector, Vector, int]:
    """Solve until ½‖r‖² ≤ accuracy; return the solution, its residual and the number of steps."""
    enough = NewtonAccuracy(right, accuracy, _FAR)
    found = conjugate_gradients(product, right, preconditioner.solve, enough, most, moved)
    _count_gradients(problem, found[2])
    problem.meter.add(found[2] * work.solve(problem.rows.weights))
    return found


def _count_gradients(problem: BinaryProblem, steps: int) -> None:
    rest = problem.rows.size.gradient_step() - problem.rows.size.product(2.0)
    problem.meter.add(steps * rest)  # rows count their own
