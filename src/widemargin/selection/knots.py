"""Solutions of all folds at one value of C, and points between those at two.

A knot is a solved C. Between two of them, weights and dual variables are taken from the line that
joins them: both have a primal and a dual value without another look at the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem
from widemargin.selection.engines.base import Engine
from widemargin.selection.engines.fold_lanes import FoldLanes
from widemargin.selection.engines.separate import Separate

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part(ABC):
    """What one run came to at C, a lane for each of its problems.

    Attributes
    ----------
    cells : list of (int, int)
        Fold and place of each problem.
    w, u : ndarray of shape (weights, lanes)
        Weights, and Σ α_i y_i x_i / C.
    loss, dual : ndarray of shape (lanes,)
        L(w) and Φ(β) at C = 1.
    scores, beta : ndarray
        Scores of the rows trained on, and dual variables over C, as the problem has them.
    """

    cells: list[tuple[int, int]]
    w: Vector
    u: Vector
    loss: Vector
    dual: Vector
    scores: Vector
    beta: Vector

    def losses(self, other: Part, tau: Vector) -> Vector:
        """Return L of (1 − τ) w + τ w', of shape (lanes, τ)."""
        change = other.scores - self.scores
        known = {0.0: self.loss, 1.0: other.loss}
        return np.stack([known[t] if t in known else self._loss(change, t) for t in tau], axis=1)

    def duals(self, other: Part, sigma: Vector) -> Vector:
        """Return Φ of (1 − σ) β + σ β', of shape (lanes, σ)."""
        change = other.beta - self.beta
        known = {0.0: self.dual, 1.0: other.dual}
        return np.stack([known[s] if s in known else self._dual(change, s) for s in sigma], axis=1)

    @abstractmethod
    def _loss(self, change: Vector, t: float) -> Vector:
        """Return L where the scores have changed t times so much."""

    @abstractmethod
    def _dual(self, change: Vector, s: float) -> Vector:
        """Return Φ where the dual variables have changed s times so much."""

    @abstractmethod
    def point(self, other: Part, tau: float, sigma: float, C: float) -> Point:
        """Return the point between, as a start at C."""


@dataclass(frozen=True, eq=False)
class LanesPart(Part):
    """Folds of one class side by side."""

    problem: LanesProblem

    def _loss(self, change: Vector, t: float) -> Vector:
        lanes, zero = self.problem.lanes, np.zeros(self.problem.lanes)
        at = self.problem.terms_along(self.scores, zero, change, zero, np.full(lanes, t))
        return at[0] / self.problem.C

    def _dual(self, change: Vector, s: float) -> Vector:
        unit = replace(self.problem, C=1.0)
        return unit.dual_terms(unit.dual_sums(self.beta + s * change))

    def point(self, other: Part, tau: float, sigma: float, C: float) -> Point:
        """Return the point between, as a start at C."""
        w, beta = self.w + tau * (other.w - self.w), self.beta + sigma * (other.beta - self.beta)
        return Point(w, np.zeros(self.problem.lanes), C * beta)


@dataclass(frozen=True, eq=False)
class SeparatePart(Part):
    """One class of one fold."""

    unit: BinaryProblem

    def _loss(self, change: Vector, t: float) -> Vector:
        unit = self.unit
        return np.array([unit.loss.total(unit.y, unit.cost, self.scores + t * change, 0.0)])

    def _dual(self, change: Vector, s: float) -> Vector:
        # Rounding may leave the range by a hair.
        beta = self.unit.loss.clip(self.beta + s * change, self.unit.cost)
        return np.array([self.unit.loss.dual_total(beta, self.unit.cost)])

    def point(self, other: Part, tau: float, sigma: float, C: float) -> Point:
        """Return the point between, as a start at C."""
        w, beta = self.w + tau * (other.w - self.w), self.beta + sigma * (other.beta - self.beta)
        return Point(w[:, 0], 0.0, C * beta)


@dataclass(eq=False)
class Knot:
    """All folds and classes solved at one C.

    Attributes
    ----------
    by_w, by_u : ndarray of shape (held out, k)
        Scores of the held-out rows, one fold after the other, by w and by u.
    gap, primal : ndarray of shape (folds, k)
    final : bool
        Whether solving it again, more exactly, would not help.
    """

    C: float
    parts: list[Part]
    by_w: Vector
    by_u: Vector
    gap: Vector
    primal: Vector
    final: bool = False

    @property
    def x(self) -> float:
        """ln C."""
        return float(np.log(self.C))

    def become(self, other: Knot) -> None:
        """Take over a more exact solution at the same C."""
        self.__dict__.update(other.__dict__)

    def points(self) -> list[Point]:
        """Return the points as starts at the same C."""
        return [part.point(part, 0.0, 0.0, self.C) for part in self.parts]


def knot_of(engine: Engine, C: float) -> Knot:
    """Return what an engine has just solved."""
    splits, k = engine.folds.splits, engine.folds.shape[1]
    begins = np.cumsum([0, *(test.size for _, test in splits)])
    by_w, by_u = np.empty((begins[-1], k)), np.empty((begins[-1], k))
    primal, dual = np.empty((len(splits), k)), np.empty((len(splits), k))
    parts: list[Part] = []

    def put(cell: tuple[int, int], P: float, D: float, one: Vector, other: Vector) -> None:
        fold, place = cell
        here = slice(begins[fold], begins[fold + 1])
        primal[cell], dual[cell], by_w[here, place], by_u[here, place] = P, D, one, other

    if isinstance(engine, FoldLanes):
        for group in engine.groups:
            problem, solution = group.problem, group.solution
            assert problem is not None
            assert solution is not None
            point, P, D = problem.certify_lanes(solution.point)
            w, u, scores = point.w, problem.combine(point.alpha) / C, problem.scores(point.w)
            products = problem.scores(u)
            cells = [(fold, group.place) for fold in group.members]
            for lane, cell in enumerate(cells):
                test = splits[cell[0]][1]
                put(cell, P[lane], D[lane], scores[test, lane], products[test, lane])
            loss, phi = _terms(C, P, D, w, u)
            parts.append(LanesPart(cells, w, u, loss, phi, scores, point.alpha / C, problem))
    else:
        assert isinstance(engine, Separate)
        for task in engine.tasks:
            found, unit = task.found, task.unit
            P, D = np.array([found.certificate.primal]), np.array([found.certificate.dual])
            w, u = found.w[:, None], (unit.rows.combine(found.alpha, unit.y) / C)[:, None]
            rows = engine.folds.held_out(task.fold)
            cell = (task.fold, task.place)
            put(cell, P[0], D[0], rows.scores(w[:, 0]), rows.scores(u[:, 0]))
            scores, (loss, phi) = unit.rows.scores(w[:, 0]), _terms(C, P, D, w, u)
            parts.append(SeparatePart([cell], w, u, loss, phi, scores, found.alpha / C, unit))
    return Knot(C, parts, by_w, by_u, primal - dual, primal)


def _terms(C: float, P: Vector, D: Vector, w: Vector, u: Vector) -> tuple[Vector, Vector]:
    """Return L(w) and Φ(β) of each lane, from the objectives at C."""
    half_w, half_u = 0.5 * np.einsum("jl,jl->l", w, w), 0.5 * np.einsum("jl,jl->l", u, u)
    return (P - half_w) / C, D / C + C * half_u
