"""Quadratic models of the losses plus ρ‖z‖₁ + ½(1 − ρ)‖z‖²: their minimisers, by two ways.

A model is −g·(z − w) + ½ (z − w)ᵀ G (z − w) with G = Xᵀ diag(h) X − p pᵀ / H, p = Xᵀ h, H = Σ h_i:
an intercept that is not penalised is eliminated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from widemargin.auto.machine import MACHINE
from widemargin.data.columns import Columns
from widemargin.data.work import Meter, factor
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_DAMPING = 1e-12
"""Share of the largest curvature that each coordinate has at least: a flat model has a minimum."""

_DEPTH = 5
"""Sweeps that an extrapolation combines (Bertrand and Massias, Algorithm 1)."""

_ROUNDS = 30
"""Rounds of sweeps and of steps on the support; each ends in a better point."""

_SWEEPS = 200
"""Sweeps over columns in one model: the outer step gains more from a new one then."""


@dataclass(frozen=True)
class Penalty:
    """ρ‖z‖₁ + ½ ridge ‖z‖²."""

    rho: float
    ridge: float

    def of(self, z: Vector) -> float:
        """Return the penalty."""
        return self.rho * float(np.abs(z).sum()) + 0.5 * self.ridge * float(z @ z)

    def violations(self, slopes: Vector, z: Vector) -> Vector:
        """Return how far each condition of optimality is from being met."""
        inside = np.maximum(np.abs(slopes) - self.rho, 0.0)
        there = np.abs(slopes - self.rho * np.sign(z) - self.ridge * z)
        return np.where(z == 0.0, inside, there)


@dataclass(frozen=True, eq=False)
class Model:
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


def by_matrix(
    model: Model, penalty: Penalty, wanted: float, matrix: Matrix
) -> tuple[Vector, float]:
    """Minimise a model whose matrix is known; return z and the move of the intercept.

    Coordinate descent finds out which weights are zero and what signs the others have; a step of
    Newton's method on these then ends the search, unless it changes a sign.
    """
    side = model.w.size
    G, shares, mass = matrix, np.zeros(side), 0.0
    if model.free:
        shares, mass = np.ascontiguousarray(matrix[side, :side]), float(matrix[side, side])
        G = matrix[:side, :side] - (np.outer(shares, shares) / mass if mass > 0.0 else 0.0)
        G = np.ascontiguousarray(G)
    excess = model.excess / mass if mass > 0.0 else 0.0
    z, slopes = model.w.copy(), model.gradient - excess * shares
    descend(G, slopes, z, penalty, wanted, model.columns.rows.meter)
    move = excess - float(shares @ (z - model.w)) / mass if mass > 0.0 else 0.0
    return z, move


def descend(
    G: Matrix, slopes: Vector, z: Vector, penalty: Penalty, wanted: float, meter: Meter
) -> None:
    """Minimise −s·(z − w) + ½ (z − w)ᵀ G (z − w) and the penalty over z, which begins at w.

    `slopes` are s at w, and are kept up to date; G gets some damping.
    """
    diagonal = np.einsum("ii->i", G)
    diagonal += _DAMPING * max(float(diagonal.max(initial=0.0)), 1e-300)
    sweep = z.size * z.size
    for _ in range(_ROUNDS):
        budget = max(20 * sweep, 20_000)
        worst = core.matrix_sweeps(G, slopes, z, penalty.rho, penalty.ridge, wanted, budget)
        meter.add(MACHINE.tile_multiply * budget)
        if worst <= wanted:
            break
        _settle(G, slopes, z, penalty)
        meter.add(factor(int(np.count_nonzero(z))) + MACHINE.tile_multiply * sweep)


def _settle(G: Matrix, slopes: Vector, z: Vector, penalty: Penalty) -> None:
    """Solve for the weights that are not zero at their signs; those that change theirs become zero.

    Where that does not lower the model, go only as far as the first change of sign, where it does.
    """
    support = np.flatnonzero(z)
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
    goal = z[support] + step
    crossing = goal * signs <= 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(crossing, z[support] / -step, np.inf)
    first = float(lengths.min(initial=np.inf))
    options = [np.where(crossing, 0.0, goal)]
    if first < 1.0:
        options.append(np.where(lengths <= first, 0.0, z[support] + first * step))
    for fresh in options:
        change = fresh - z[support]
        turn = change @ G[support]
        gain = float(change @ slopes[support]) - 0.5 * float(turn[support] @ change)
        gain += penalty.of(z[support]) - penalty.of(fresh)
        if gain > 0.0:
            z[support] = fresh
            slopes -= turn
            return


def by_columns(model: Model, penalty: Penalty, wanted: float) -> tuple[Vector, float, int]:
    """Minimise a model by sweeps over its columns; return z, the intercept's move and the sweeps.

    Every few sweeps the last points are combined so that their changes cancel (Anderson's
    extrapolation); the result is kept if it lowers the model.
    """
    columns = model.columns
    shares, diagonal = columns.sums(model.curvature)
    if not model.free:
        shares = np.zeros_like(shares)
    mass = model.mass
    inverse = 1.0 / mass if mass > 0.0 else 0.0
    diagonal = diagonal + _DAMPING * max(float(diagonal.max(initial=0.0)), 1e-300)
    z, rest = model.w.copy(), model.rest.copy()
    sweeps = core.ColumnSweeps(
        columns.by_column,
        (penalty.rho, penalty.ridge),
        model.curvature,
        diagonal,
        shares,
        z,
        rest,
        inverse,
    )
    sweeps.total = model.excess
    every = np.arange(z.size)
    work, meter = columns.rows.size.product(3.0), columns.rows.meter
    trail: list[tuple[Vector, Vector, float]] = [(z.copy(), rest.copy(), sweeps.total)]
    made, worst = 0, np.inf
    while made < _SWEEPS:
        nonzero = np.flatnonzero(z)
        # Those that are not zero settle first.
        order = nonzero if made % 3 and nonzero.size else every
        share = order.size / max(1, z.size)
        now = 0.0
        for begin, end in columns.rows.pieces(share * work, order.size):
            now = max(now, sweeps.sweep(order, begin, end))
        meter.add(share * work)
        made += 1
        if order is every:
            worst = now
            if worst <= wanted:
                break
        elif now <= 0.1 * worst:
            made += -made % 3  # the next one is over all
        trail.append((z.copy(), rest.copy(), sweeps.total))
        if len(trail) > _DEPTH:
            _extrapolate(model, penalty, sweeps, trail, z, rest, shares * inverse)
            trail = [(z.copy(), rest.copy(), sweeps.total)]
    return z, sweeps.total * inverse, made


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


def _extrapolate(
    model: Model,
    penalty: Penalty,
    sweeps: core.ColumnSweeps,
    trail: list[tuple[Vector, Vector, float]],
    z: Vector,
    rest: Vector,
    shares: Vector,
) -> None:
    """Combine the last points so that their changes cancel, if that lowers the model."""
    weights = extrapolation([b[0] - a[0] for a, b in pairwise(trail)])
    if weights is None:
        return
    fresh = sum(c * point[0] for c, point in zip(weights, trail[1:], strict=True))
    residue = sum(c * point[1] for c, point in zip(weights, trail[1:], strict=True))
    total = float(sum(c * point[2] for c, point in zip(weights, trail[1:], strict=True)))

    def value(at: Vector, left: Vector, sum_left: float) -> float:
        slopes = model.columns.sums(left)[0] - sum_left * shares
        move = at - model.w
        start = model.gradient - model.excess * shares
        return -0.5 * float(move @ (start + slopes)) + penalty.of(at)

    if value(fresh, residue, total) < value(z, rest, sweeps.total):
        z[:], rest[:], sweeps.total = fresh, residue, total
