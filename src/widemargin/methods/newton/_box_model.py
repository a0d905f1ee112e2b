"""A quadratic model within a box: min g·p + ½ pᵀ(I + Σ h_i x_i x_iᵀ)p over l ≤ p ≤ u.

Projected Newton: the entries at a bound that the gradient pushes against stay there, the others
take a Newton step, and what leaves the box is put back. The intercept, last, has no bounds. Where
few examples with much curvature tie many entries together it goes back and forth, and the dual
model is solved (`_box_dual`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.linalg.cholesky import cholesky
from widemargin.linalg.conjugate_gradients import conjugate_gradients, relative_to_start
from widemargin.methods.newton._box_dual import BoxDual

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FEW_ROUNDS = 4
"""Projected steps before the dual model is tried; most models need fewer."""

_ROUNDS = 50
"""Steps after it; each decides again which entries are at a bound."""

_HALVINGS = 30
"""Of a step that does not lower the model."""

_SOLVED = 1e-9
"""Share of the gradient, in the norm, that may be left."""

_FLAT = 1e-10
"""Curvature of an intercept that no example has a say in, relative to the largest."""


@dataclass(frozen=True, eq=False)
class BoxModel:
    """The model around a point: its matrix where weights are few, else products with it."""

    product: Callable[[Vector], Vector]
    solve: Callable[[Mask, Vector], Vector]
    """From the entries that move and a right side to a solution on them."""

    dual: BoxDual

    @classmethod
    def of(cls, problem: Any, curvature: Vector, alpha: Vector) -> BoxModel:
        """Form the matrix, or leave it at products where it would be large."""
        dual = BoxDual(problem, curvature, alpha * problem.y)
        if problem.rows.weights <= MACHINE.largest_factorised:
            return cls._formed(problem, curvature, dual)
        return cls._by_products(problem, curvature, dual)

    @classmethod
    def _formed(cls, problem: Any, curvature: Vector, dual: BoxDual) -> BoxModel:
        rows, free = problem.rows, problem.free_intercept
        matrix = rows.gram(curvature, free)
        diagonal = np.einsum("ii->i", matrix)
        diagonal[: rows.weights] += 1.0
        if free:
            diagonal[-1] += _FLAT * float(diagonal.max())

        def solve(moving: Mask, right: Vector) -> Vector:
            problem.meter.add(work.factor(int(np.count_nonzero(moving))))
            factor = cholesky(matrix[np.ix_(moving, moving)].copy())
            return right if factor is None else factor.solve(right)

        return cls(matrix.__matmul__, solve, dual)

    @classmethod
    def _by_products(cls, problem: Any, curvature: Vector, dual: BoxDual) -> BoxModel:
        rows, free = problem.rows, problem.free_intercept
        diagonal = 1.0 + rows.curvature_diagonal(curvature)
        if free:
            diagonal = np.append(diagonal, float(curvature.sum()) + _FLAT)

        def product(p: Vector) -> Vector:
            w, b = (p[:-1], float(p[-1])) if free else (p, 0.0)
            image, share = rows.curvature_product(curvature, w, b)
            return np.append(image + w, share) if free else image + w

        def solve(moving: Mask, right: Vector) -> Vector:
            whole = np.zeros(moving.size)

            def part(d: Vector) -> Vector:
                whole[moving] = d
                return product(whole)[moving]

            enough, own = relative_to_start(1e-6), diagonal[moving]
            most = MACHINE.largest_products
            return conjugate_gradients(part, right, lambda r: r / own, enough, most)[0]

        return cls(product, solve, dual)

    def minimiser(self, gradient: Vector, low: Vector, high: Vector) -> Vector:
        """Return a p within the bounds at which the model is lowest."""
        start = np.zeros_like(gradient)
        p, solved = self._projected(gradient, (low, high), start, _FEW_ROUNDS)
        if not solved:
            p, solved = self.dual.minimiser(self, gradient, (low, high), p)
        if not solved:
            p, solved = self._projected(gradient, (low, high), p, _ROUNDS)
        return p

    def _projected(
        self, gradient: Vector, box: tuple[Vector, Vector], p: Vector, rounds: int
    ) -> tuple[Vector, bool]:
        """Take projected steps from p; return where they lead to, and whether they end there."""
        slope = gradient + self.product(p)
        size = float(np.linalg.norm(gradient))
        for _ in range(rounds):
            moving = ~(((p <= box[0]) & (slope > 0.0)) | ((p >= box[1]) & (slope < 0.0)))
            if float(np.linalg.norm(slope[moving])) <= _SOLVED * size:
                return p, True
            step = np.zeros_like(p)
            step[moving] = self.solve(moving, -slope[moving])
            found = self._lower(gradient, box, p, slope, step)
            if found is None:
                return p, True
            p, slope = found
        return p, False

    def _lower(
        self,
        gradient: Vector,
        box: tuple[Vector, Vector],
        p: Vector,
        slope: Vector,
        step: Vector,
    ) -> tuple[Vector, Vector] | None:
        """Return a lower point along the step, put back into the box, and the slope there.

        Where the bent step does not get lower, the one along the negative slope does.
        """
        here = 0.5 * float(p @ (gradient + slope))
        curved = float(slope @ self.product(slope))
        steepest = -slope * (float(slope @ slope) / curved) if curved > 0.0 else -slope
        for direction in (step, steepest):
            length = 1.0
            for _ in range(_HALVINGS):
                moved = np.minimum(np.maximum(p + length * direction, box[0]), box[1])
                there = gradient + self.product(moved)
                if 0.5 * float(moved @ (gradient + there)) < here:
                    return moved, there
                length *= 0.5
        return None
