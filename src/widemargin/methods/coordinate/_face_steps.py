"""Steps on a face of the dual's box: Newton's method in the dual variables that are at no bound.

Once sweeps do not change any more which dual variables are at a bound, D is a quadratic in the
others, and sweeps are Gauss-Seidel on its equations: slow where rows are nearly dependent. Solving
them takes a matrix of the products of these rows, and its factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.work import Meter, Size, factor
from widemargin.linalg.cholesky import cholesky
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_ROUNDS = 8
"""Times that the equations are solved at most, each with fewer unknowns."""

_FALL = 0.3
"""Share of the gap that may be left after a step that led somewhere."""

_MOVED = 0.02
"""Share of the free dual variables that may have come or gone where a face is called settled: about
as many as so many rounds can let go."""


@dataclass
class FaceSteps:
    """When to solve for the dual variables that are at no bound, and how.

    Attributes
    ----------
    spent : float
        Nanoseconds of sweeps since the face was looked at.
    waits : int
        Times in a row that it had changed, or that a step led nowhere: each doubles the wait.
    gap : float
        What was expected of it at the last step.
    """

    spent: float = 0.0
    waits: int = 0
    gap: float = np.inf
    _places: NDArray[np.int8] | None = None

    def due(self, size: Size, members: int) -> bool:
        """Whether sweeps over the members have cost as much as a step on their face."""
        wait = 2.0**self.waits
        # No step costs less than its calls: asked after every sweep, this is to be cheap.
        if self.spent < wait * MACHINE.step or not 0 < members <= MACHINE.largest_factorised:
            return False
        return self.spent >= wait * _price(size, members)

    def settled(self, alpha: Vector, cost: Vector) -> bool:
        """Whether hardly any dual variable came to a bound, or left one, since the last look."""
        self.spent = 0.0
        size = np.abs(alpha)
        places = (np.sign(alpha) * (1 + (size == cost))).astype(np.int8)
        before, self._places = self._places, places
        self.waits += 1
        if before is None:
            return False
        free = np.count_nonzero(np.abs(places) == 1)
        return bool(np.count_nonzero(places != before) <= _MOVED * free)

    def step(self, problem: Any, point: Point, rho: float, gap: float) -> bool:
        """Solve for the free dual variables in place, or go towards the solution.

        The intercept of the point is the multiplier of its constraint, and `rho` the penalty on
        that. Return whether α has changed: the caller has to compute w from it then.
        """
        alpha = point.alpha
        free = np.flatnonzero((alpha != 0.0) & (np.abs(alpha) < problem.cost))
        if not 0 < free.size <= MACHINE.largest_factorised:
            return False
        rows = problem.rows.take(free)
        wish = problem.loss.edges(alpha, free) - rows.scores(point.w) - point.b
        matrix = rows.row_gram()
        matrix += rho
        face = _Face(matrix, wish, alpha[free], problem.cost[free], problem.meter)
        change, reached = face.by_the_way()
        if not face.gain(change) > 0.0:
            return False
        # Where noise decides which rows are at a bound, faces are solved in vain.
        if reached and gap <= _FALL * self.gap:
            self.waits = 0
        self.gap = gap
        alpha[free] += change
        return True


@dataclass(frozen=True, eq=False)
class _Face:
    """A quadratic wish·d − ½ dᵀA d in the change d of β, whose signs stay, up to the costs."""

    matrix: Matrix
    wish: Vector
    beta: Vector
    cost: Vector
    meter: Meter

    def gain(self, change: Vector) -> float:
        """Return what a change adds to D."""
        return float(change @ (self.wish - 0.5 * (self.matrix @ change)))

    def solved(self, places: NDArray[np.int64], wish: Vector) -> Vector | None:
        """Solve the equations of some unknowns."""
        self.meter.add(factor(places.size))
        found = cholesky(self.matrix[np.ix_(places, places)], singular=True)
        return None if found is None else found.solve(wish)

    def by_the_way(self) -> tuple[Vector, bool]:
        """Go towards the solution until one leaves its range, and from there without it.

        D rises all the way. Also return whether the solution was reached.
        """
        signs, beta, rest = np.sign(self.beta), self.beta.copy(), self.wish.copy()
        kept, reached = np.ones(beta.size, dtype=bool), False
        for _ in range(_ROUNDS):
            places = np.flatnonzero(kept)
            part = self.solved(places, rest[places]) if places.size else None
            if part is None:
                break
            outward = part * signs[places]
            room = np.where(outward > 0.0, self.cost[places] - np.abs(beta[places]), beta[places])
            with np.errstate(divide="ignore", invalid="ignore"):
                lengths = np.where(part != 0.0, np.abs(room) / np.abs(part), np.inf)
            length = min(1.0, float(lengths.min()))
            beta[places] += length * part
            rest -= length * (self.matrix[:, places] @ part)
            ended = places[lengths <= length]
            inner = np.abs(beta[ended]) < 0.5 * self.cost[ended]
            beta[ended] = np.where(inner, 0.0, signs[ended] * self.cost[ended])
            kept[ended] = False
            reached = length == 1.0
            if reached:
                break
        return beta - self.beta, reached


def _price(size: Size, members: int) -> float:
    """Price a step on a face with so many free dual variables."""
    values = int(size.mean * members)
    part = Size(members, size.weights, values)
    return part.row_gram() + _ROUNDS * factor(members) + part.product(2.0) + MACHINE.step
