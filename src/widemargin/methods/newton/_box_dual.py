"""The quadratic model within a box, min g·p + ½ pᵀ(I + Σ h_i x_i x_iᵀ)p, solved by its dual.

With one u_i per example that has curvature, the best entries are q(u) = −g − Σ u_i x_i put into the
box, and the dual Σ u_i² / 2h_i + Σ_j max_p (q_j p − ½p²) is smooth and strongly convex. Newton's
method with exact line searches ends after finitely many steps, and each solves the system of the
entries inside of the box, as projected steps do. A free intercept says Σ u_i = −g_b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ROUNDS = 50
"""Steps at most; each decides again which entries are at a bound."""

_SEARCHES = 60
"""Of a piecewise linear derivative, at most."""

_SOLVED = 1e-12
"""Share of the derivative along the line that may be left."""

_LEAST_SHARE = 0.05
"""Of the interval of a search that is left after each look, at either end."""


@dataclass(frozen=True, eq=False)
class BoxDual:
    """The dual of the model of a problem."""

    problem: Any
    curvature: Vector
    start: Vector
    """The u that makes dual variables of zero of those now: it leaves all entries inside."""

    def minimiser(
        self, model: Any, gradient: Vector, box: tuple[Vector, Vector], p: Vector
    ) -> tuple[Vector, bool]:
        """Return a p within the box no worse than the one given, and whether none is lower."""
        width = self.problem.rows.weights
        low, high = box[0][:width], box[1][:width]
        slope, u = gradient[:width], self._first(gradient)
        best = p
        for _ in range(_ROUNDS):
            q = -slope - self._combine(u)
            moving = (q > low) & (q < high)
            p = self._newton(model, gradient, np.clip(q, low, high), moving)
            if _value(model, gradient, inside := np.clip(p, *box)) < _value(model, gradient, best):
                best = inside
            change = self._images(p) - u
            drop = self._combine(change)
            step = self._search(u, change, q, drop, (low, high))
            u = u + step * change
            after = q - step * drop
            if step == 1.0 and np.array_equal(moving, (after > low) & (after < high)):
                return best, True
        return best, False

    def _first(self, gradient: Vector) -> Vector:
        """Return the u to begin at; its sum is what a free intercept asks for."""
        u = np.where(self.curvature > 0.0, self.start, 0.0)
        total = float(self.curvature.sum())
        if gradient.size > self.problem.rows.weights and total > 0.0:
            u -= self.curvature * ((gradient[-1] + float(u.sum())) / total)
        return u

    def _newton(self, model: Any, gradient: Vector, fixed: Vector, moving: Mask) -> Vector:
        """Solve for the entries that move and the intercept; the others stay where they are."""
        p = np.zeros_like(gradient)
        p[: fixed.size] = np.where(moving, 0.0, fixed)
        free = np.ones(gradient.size, dtype=bool)
        free[: fixed.size] = moving
        if free.any():
            p[free] = model.solve(free, -(gradient + model.product(p))[free])
        return p

    def _search(
        self, u: Vector, change: Vector, q: Vector, drop: Vector, box: tuple[Vector, Vector]
    ) -> float:
        """Return the t ≤ 1 where the dual is lowest along the line."""
        has = self.curvature > 0.0
        part = change[has] / self.curvature[has]
        at_zero, bend = float(part @ u[has]), float(part @ change[has])

        def derivative(t: float) -> float:
            return at_zero + t * bend - float(drop @ np.clip(q - t * drop, *box))

        left, right = 0.0, 1.0
        at_left, at_right = derivative(left), derivative(right)
        size = abs(at_left)
        if at_right <= _SOLVED * size or at_left >= 0.0:
            return 1.0
        for _ in range(_SEARCHES):
            # The line through two points of a piecewise linear derivative, kept off both ends.
            least = _LEAST_SHARE * (right - left)
            t = left - at_left * (right - left) / (at_right - at_left)
            t = min(max(t, left + least), right - least)
            there = derivative(t)
            if abs(there) <= _SOLVED * size:
                break
            if there < 0.0:
                left, at_left = t, there
            else:
                right, at_right = t, there
        return t

    def _images(self, p: Vector) -> Vector:
        """Return the u that belongs to p, h_i (x_i·p + b)."""
        width = self.problem.rows.weights
        scores = self.problem.rows.scores(p[:width])
        if p.size > width:
            scores = scores + p[-1]
        return self.curvature * scores

    def _combine(self, u: Vector) -> Vector:
        combined: Vector = self.problem.rows.combine(u, np.ones_like(u))
        return combined


def _value(model: Any, gradient: Vector, p: Vector) -> float:
    return float(p @ gradient) + 0.5 * float(p @ model.product(p))
