"""Quadratic models of the losses plus ρ‖z‖₁ + ½(1 − ρ)‖z‖²: their minimisers, by two ways.

A model is −g·(z − w) + ½ (z − w)ᵀ G (z − w) with G = Xᵀ diag(h) X − p pᵀ / H, p = Xᵀ h, H = Σ h_i:
an intercept that is not penalised is eliminated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from widemargin.auto.machine import MACHINE
from widemargin.data.columns import Columns
from widemargin.data.work import Meter, factor
from widemargin.instruction_sets import core
from widemargin.linalg.conjugate_gradients import conjugate_gradients

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_DAMPING = 1e-12
"""Share of the largest curvature that each coordinate has at least: a flat model has a minimum."""

_FEW = 4
"""Conjugate gradients are tried once sweeps have cost this many of them."""

_ROUNDS = 30
"""Rounds of sweeps and of steps on the support; each ends in a better point."""

_SWEEPS = 200
"""Sweeps over columns and conjugate gradients in one model: a new one gains more then."""


@dataclass(frozen=True)
class Penalty:
    """ρ‖z‖₁ + ½ ridge ‖z‖²."""

    rho: float
    ridge: float

    def of(self, z: Vector) -> float:
        """Return the penalty."""
        size = self.rho * float(np.add.reduce(np.abs(z)))
        return size + 0.5 * self.ridge * float(z @ z) if self.ridge else size

    def violations(self, slopes: Vector, z: Vector) -> Vector:
        """Return how far each condition of optimality is from being met."""
        found = np.abs(slopes)
        found -= self.rho
        np.maximum(found, 0.0, out=found)
        at = (z != 0.0).nonzero()[0]  # of truth values: of numbers it takes eight times as long
        if at.size:
            there = z[at]
            found[at] = np.abs(slopes[at] - self.rho * np.sign(there) - self.ridge * there)
        return found


class Minimum(NamedTuple):
    """Where a model is minimised, and how well."""

    z: Vector
    move: float
    """Of the intercept."""
    passes: float
    """Over the columns of the model."""
    left: float
    """The largest violation of a condition of optimality."""


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """What the losses are replaced by near the weights w of some columns.

    `gradient` is g, `curvature` h, `rest` the products y_i α_i, with `free` for an intercept that
    is not penalised.
    """

    columns: Columns
    w: Vector
    gradient: Vector
    curvature: Vector
    rest: Vector
    free: bool

    @property
    def mass(self) -> float:
        """H = Σ h_i if there is an intercept to eliminate, else 0."""
        return float(self.curvature.sum()) if self.free else 0.0

    @property
    def excess(self) -> float:
        """Σ y_i α_i: zero where the intercept is the best one."""
        return float(self.rest.sum()) if self.free else 0.0


def by_matrix(model: QuadraticModel, penalty: Penalty, wanted: float, matrix: Matrix) -> Minimum:
    """Minimise a model whose matrix is known, and is not changed.

    Coordinate descent finds out which weights are zero and what signs the others have; a step of
    Newton's method on these then ends the search, unless it changes a sign.
    """
    side = model.w.size
    G, shares, mass = matrix, np.zeros(side), 0.0
    diagonal = np.einsum("ii->i", matrix).copy()
    if model.free:
        shares, mass = np.ascontiguousarray(matrix[side, :side]), float(matrix[side, side])
        G = np.outer(shares, shares / -mass if mass > 0.0 else 0.0 * shares)
        G += matrix[:side, :side]
    excess = model.excess / mass if mass > 0.0 else 0.0
    z, slopes = model.w.copy(), model.gradient - excess * shares
    descend(G, slopes, z, penalty, wanted, model.columns.source.meter)
    # What descending added to it.
    np.einsum("ii->i", matrix)[:] = diagonal
    move = excess - float(shares @ (z - model.w)) / mass if mass > 0.0 else 0.0
    left = float(penalty.violations(slopes, z).max(initial=0.0))
    return Minimum(z, move, 1.0, left)


def descend(
    G: Matrix, slopes: Vector, z: Vector, penalty: Penalty, wanted: float, meter: Meter
) -> None:
    """Minimise −s·(z − w) + ½ (z − w)ᵀ G (z − w) and the penalty over z, which begins at w.

    `slopes` are s at w, and are kept up to date; G gets some damping.
    """
    diagonal = np.einsum("ii->i", G)
    diagonal += _DAMPING * max(float(diagonal.max(initial=0.0)), 1e-300)
    sweep = z.size * z.size
    # As much as calling for a factor costs: few columns seldom need one.
    loan = int(MACHINE.step / MACHINE.tile_multiply)
    for _ in range(_ROUNDS):
        budget = max(20 * sweep, loan)
        worst, left = core.matrix_sweeps(G, slopes, z, penalty.rho, penalty.ridge, wanted, budget)
        meter.add(MACHINE.tile_multiply * (budget - left))
        if worst <= wanted:
            break
        _settle(G, slopes, z, penalty)
        meter.add(factor(int(np.count_nonzero(z))) + MACHINE.tile_multiply * sweep)


def _settle(G: Matrix, slopes: Vector, z: Vector, penalty: Penalty) -> None:
    """Solve for the weights that are not zero at their signs; those that change theirs become zero.

    Where that does not lower the model, go only as far as the first change of sign, where it does.
    """
    support = np.flatnonzero(z != 0.0)
    if support.size == 0:
        return
    signs = np.sign(z[support])
    system = G[np.ix_(support, support)]
    np.einsum("ii->i", system)[:] += penalty.ridge
    wish = slopes[support] - penalty.rho * signs - penalty.ridge * z[support]
    try:
        step = cho_solve(cho_factor(system, lower=True, overwrite_a=True), wish)
    except LinAlgError:
        return
    for fresh in _kept_signs(z[support], step):
        change = fresh - z[support]
        turn = change @ G[support]
        gain = float(change @ slopes[support]) - 0.5 * float(turn[support] @ change)
        gain += penalty.of(z[support]) - penalty.of(fresh)
        if gain > 0.0:
            z[support] = fresh
            slopes -= turn
            return


def _kept_signs(z: Vector, step: Vector) -> list[Vector]:
    """Return where a step leads: as a whole, and up to where the first weight becomes zero.

    Weights that would change their signs become zero.
    """
    goal = z + step
    crossing = goal * np.sign(z) <= 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(crossing, z / -step, np.inf)
    first = float(lengths.min(initial=np.inf))
    options = [np.where(crossing, 0.0, goal)]
    if first < 1.0:
        options.append(np.where(lengths <= first, 0.0, z + first * step))
    return options


def by_columns(model: QuadraticModel, penalty: Penalty, wanted: float, budget: float) -> Minimum:
    """Minimise a model by sweeps over its columns.

    Sweeps find out which weights are zero and what signs the others have. Once one has changed
    neither, or they have cost as much as a few conjugate gradients, such steps follow. Ends after
    about `budget` nanoseconds of work, if the model is not minimised before.
    """
    descent = _ColumnDescent(model, penalty)
    every, made, worst = np.arange(model.w.size), 0, np.inf
    while made < _SWEEPS:
        nonzero, signs = np.flatnonzero(descent.z != 0.0), np.sign(descent.z)
        # Those that are not zero settle first.
        order = nonzero if made % 3 and nonzero.size else every
        now = descent.sweep(order)
        made += 1
        if order is every:
            worst = now
            if worst <= wanted:
                break
        elif now <= 0.1 * worst:
            made += -made % 3  # the next one is over all
        if descent.spent > budget:
            break
        known = order is every and np.array_equal(signs, np.sign(descent.z))
        if known or descent.settles():
            made += descent.settle(wanted)
            made += -made % 3
    return Minimum(descent.z, descent.sweeps.total * descent.inverse, float(made), worst)


class _ColumnDescent:
    """Weights of a model's columns and what is left of the duals, as sweeps change them."""

    def __init__(self, model: QuadraticModel, penalty: Penalty) -> None:
        self.model, self.penalty, self.columns = model, penalty, model.columns
        shares, diagonal = self.columns.sums(model.curvature)
        self.shares = shares if model.free else np.zeros_like(shares)
        mass = model.mass
        self.inverse = 1.0 / mass if mass > 0.0 else 0.0
        self.diagonal = diagonal + _DAMPING * max(float(diagonal.max(initial=0.0)), 1e-300)
        self.z, self.rest = model.w.copy(), model.rest.copy()
        self.sweeps = core.ColumnSweeps(
            self.columns.by_column,
            (penalty.rho, penalty.ridge),
            model.curvature,
            self.diagonal,
            self.shares,
            self.z,
            self.rest,
            self.inverse,
        )
        self.sweeps.total = model.excess
        self.meter = self.columns.source.meter
        self.began = self.since = self.meter.nanoseconds
        self.work = self.columns.size.column_sweep(1.0, 1.0)

    @property
    def spent(self) -> float:
        """Nanoseconds of work on this model."""
        return self.meter.nanoseconds - self.began

    def sweep(self, order: NDArray[np.int64]) -> float:
        """Visit columns; return the largest violation met."""
        count, worst = max(1, self.z.size), 0.0
        changed = int(np.count_nonzero(self.z != 0.0))
        size, visited = self.columns.size, order.size / count
        work = size.column_sweep(visited, visited)
        for begin, end in self.columns.source.pieces(work, order.size):
            worst = max(worst, self.sweeps.sweep(order, begin, end))
        changed = max(changed, int(np.count_nonzero(self.z != 0.0)))
        self.meter.add(size.column_sweep(visited, changed / count))
        return worst

    def settles(self) -> bool:
        """Whether sweeps have cost as much as a few steps of conjugate gradients would."""
        return self.meter.nanoseconds - self.since > _FEW * self.work

    def settle(self, wanted: float) -> int:
        """Solve for the weights that are not zero at their signs, for as long as the model took.

        Return the products that this took.
        """
        z, penalty = self.z, self.penalty
        support = np.flatnonzero(z != 0.0)
        part = Columns(self.columns.source, self.columns.places[support], self.columns.last)
        slopes = part.combine(self.rest)
        slopes -= self.sweeps.total * self.inverse * self.shares[support]
        wish = slopes - penalty.rho * np.sign(z[support]) - penalty.ridge * z[support]
        diagonal = self.diagonal[support] - self.shares[support] ** 2 * self.inverse
        diagonal = np.maximum(diagonal, _DAMPING * self.diagonal[support]) + penalty.ridge
        most = min(max(_FEW, int(self.spent / self.work)), 2 * support.size)
        step, _, taken = conjugate_gradients(
            lambda d: self._bent(part, support, d)[1],
            wish,
            lambda r: r / diagonal,
            lambda x, r, now, start: np.abs(r).max() <= 0.3 * wanted,
            most,
        )
        for fresh in _kept_signs(z[support], step):
            change = fresh - z[support]
            turned, bent = self._bent(part, support, change)
            gain = float(change @ slopes) + 0.5 * penalty.ridge * float(change @ change)
            gain += penalty.of(z[support]) - penalty.of(fresh) - 0.5 * float(bent @ change)
            if gain > 0.0:
                z[support] = fresh
                self.rest -= turned
                self.sweeps.total -= float(self.shares[support] @ change)
                break
        self.since = self.meter.nanoseconds
        return taken

    def _bent(self, part: Columns, support: NDArray[np.int64], d: Vector) -> tuple[Vector, Vector]:
        """Return h ∘ X d and (G + ridge) d for a change of the weights of some columns."""
        turned = part.scores(d)
        turned *= self.model.curvature
        self.meter.add(MACHINE.gradient_call)
        share = float(self.shares[support] @ d) * self.inverse
        bent = part.combine(turned)
        bent -= share * self.shares[support] - self.penalty.ridge * d
        return turned, bent


def extrapolation(moves: Sequence[Vector]) -> Vector | None:
    """Return weights that sum to one of the points after these moves, whose changes cancel.

    None if there are none (Bertrand and Massias, Algorithm 1).
    """
    changes = np.array(moves)
    products = changes @ changes.T
    size = float(np.trace(products))
    if not size > 0.0:
        return None
    products[np.diag_indices_from(products)] += 1e-12 * size
    try:
        weights = np.linalg.solve(products, np.ones(len(products)))
    except np.linalg.LinAlgError:
        return None
    total = float(weights.sum())
    return np.asarray(weights / total, dtype=np.float64) if abs(total) > 0.0 else None
