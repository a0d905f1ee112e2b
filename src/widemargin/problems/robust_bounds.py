"""What rounding can do to the certificate of a robust problem."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.instruction_sets import core
from widemargin.problems.margins import Bound
from widemargin.problems.norms import DualBall, dual_norm, norm_of
from widemargin.problems.rounding import (
    UNDERFLOW,
    Magnitudes,
    ScoreError,
    combination_error,
    growth,
    half_square_error,
    upper_norm,
)

Vector = NDArray[np.float64]

_LARGEST_SYSTEM = 4_000_000
"""Entries of a matrix that a proof may take."""

_INSIDE = 1.0 - 1e-13
"""A factor that takes what is feasible up to rounding inside."""


class Ball(NamedTuple):
    """The parts of the problem that its dual's constraint is made of."""

    radius: float
    label_cost: float
    """Zero where labels cannot be flipped."""
    norm: float
    l2: float


def upper_length(w: Vector, norm: float) -> float:
    """Return an upper bound of ‖w‖."""
    return norm_of(w, norm) * (1.0 + growth(w.size + 8.0)) + w.size * UNDERFLOW


def within(alpha: Vector, weight: Vector) -> Vector:
    """Return dual variables ≥ 0 whose exact sums keep + flip are at most the weights."""
    kept = np.maximum(alpha, 0.0)
    np.minimum(kept, weight, out=kept)
    both = (kept[0] > 0.0) & (kept[1] > 0.0)
    if both.any():
        pair = kept[:, both]
        total = pair.sum(axis=0)
        over = total * (1.0 + growth(4.0)) > weight[both]
        pair[:, over] *= weight[both][over] / total[over] * _INSIDE
        # On a grid of the larger one's last digits, their sum and their difference, which is what
        # an estimator keeps, are exact.
        grid = 2.0 * np.spacing(pair.max(axis=0))
        kept[:, both] = np.floor(pair / grid) * grid
    return kept


def losses_bound(
    losses: Vector,
    weight: Vector,
    price: float,
    ball: Ball,
    about: tuple[ScoreError, Magnitudes, float],
) -> Bound:
    """Return ελ + Σ p_i ℓ_i with what rounding can hide of it; scores have errors `about`."""
    error, size, spread = about
    total, mass = float(weight @ losses), float(weight.sum())
    raised = ball.label_cost * price
    allowance = error.allowance(size, mass, float(weight @ weight), spread)
    allowance += growth(8.0) * (mass * (1.0 + raised) + ball.radius * price)
    return Bound(ball.radius * price + total, allowance + growth(size.count + 16.0) * total)


def moved(alpha: Vector, scaled: Vector) -> float:
    """Return a bound on the norm of keep − flip of α less that of `scaled`, a rounded multiple.

    The weights of α, taken as those of the multiple that was meant, are off by that times ‖X‖.
    """
    change = upper_norm(float(np.vdot(alpha - scaled, alpha - scaled)), alpha.size)
    return 1.42 * (change + growth(8.0) * upper_norm(float(np.vdot(alpha, alpha)), alpha.size))


def dual_bound(
    alpha: Vector, v: Vector, ball: Ball, size: Magnitudes, product: tuple[bool, float]
) -> Bound:
    """Return D at dual variables within their ranges, but for the residual of an intercept.

    `product` says of v whether it is a compensated sum, and how far (`moved`) the dual variables
    are from those that it is the sum of. Without a penalty, dual variables that are not feasible
    bound nothing.
    """
    gain = float(alpha.sum())
    off = _combination_off(alpha, v, size, product)
    below = growth(alpha.size + 8.0) * gain
    flipped = _flipped(alpha, ball)
    left = ball.radius - flipped
    if left < 0.0:
        return Bound(-np.inf, 0.0)
    if ball.l2 == 0.0:
        length = upper_length(v, dual_norm(ball.norm)) + _spread(v, ball) * off
        left -= growth(8.0) * (ball.radius + flipped)
        return Bound(gain, below) if length <= left or not alpha.any() else Bound(-np.inf, 0.0)
    left = max(0.0, left - growth(8.0) * (ball.radius + flipped))
    distance = _distance(v, ball.norm, left)
    squared = distance * distance
    below += half_square_error(squared, v.size + 8.0, off) / ball.l2
    below += growth(8.0) * squared / ball.l2
    return Bound(gain - 0.5 * squared / ball.l2, below)


def inside_factor(
    alpha: Vector, v: Vector, ball: Ball, size: Magnitudes, product: tuple[bool, float]
) -> float:
    """Return the multiple of dual variables that is feasible whatever rounding did, or near it."""
    need = flipped = _flipped(alpha, ball)
    lost = growth(8.0) * (ball.radius + flipped)
    if ball.l2 == 0.0:
        need += upper_length(v, dual_norm(ball.norm))
        # The multiple itself is rounded.
        product = (product[0], product[1] + moved(alpha, alpha))
        lost += _spread(v, ball) * _combination_off(alpha, v, size, product)
    return min(1.0, max(0.0, ball.radius - lost) / need) if need > 0.0 else 1.0


def _combination_off(
    alpha: Vector, v: Vector, size: Magnitudes, product: tuple[bool, float]
) -> float:
    """Return how far v can be from Σ (keep − flip) y x, with `product` as in `dual_bound`."""
    mass = upper_norm(float(np.vdot(alpha, alpha)), alpha.size) * 1.42
    own = upper_norm(float(v @ v), v.size)
    off = combination_error(size, mass + product[1], product[0], own)
    return (off + product[1] * size.frobenius * (1.0 + 1e-6)) * (1.0 + 1e-6)


def _flipped(alpha: Vector, ball: Ball) -> float:
    """Return what flips take of the radius, from above."""
    return ball.label_cost * float(alpha[1].sum()) * (1.0 + growth(alpha.size + 8.0))


def _spread(v: Vector, ball: Ball) -> float:
    """Return the largest ratio of the dual norm to the Euclidean one."""
    return math.sqrt(v.size) if ball.norm == np.inf else 1.0


def _distance(v: Vector, norm: float, radius: float) -> float:
    """Return the distance of v to a ball of the dual norm, up to relative rounding, from above."""
    size = np.abs(v)
    if norm == 2.0:
        length = norm_of(v, 2.0)
        # The difference keeps an error relative to the length.
        return max(0.0, length - radius + growth(v.size + 8.0) * length)
    if norm == 1.0:
        return norm_of(np.maximum(size - radius, 0.0), 2.0)
    if float(size.sum()) * (1.0 + growth(v.size + 4.0)) <= radius:
        return 0.0
    theta = DualBall.around(v, norm).lowering(radius) if radius > 0.0 else np.inf
    for lift in (0.0, 1e-15, 1e-14, 1e-12, 1e-9, 1e-6):
        theta *= 1.0 + lift
        if float(np.maximum(size - theta, 0.0).sum()) * (1.0 + growth(v.size + 4.0)) <= radius:
            return norm_of(np.minimum(size, theta), 2.0)
    return norm_of(v, 2.0)


def gain_at_radius_zero(rows: Rows, y: Vector, alpha: Vector, weight: Vector, free: bool) -> float:
    """Return a lower bound of Σ α' over some α' near α that is feasible where nothing may move.

    Then v = Σ α'_i y_i x_i = 0 must hold exactly, which no rounded α does. But if A has the columns
    y_i x_i s_i, s_i the room of α_i in its range, and R is so good an inverse that ‖I − A R‖ < 1,
    then A is onto and α' = α − s R (A R)⁻¹ v is feasible, as far as the room is enough. Zero is
    returned where that cannot be shown.
    """
    side = rows.weights + int(free)
    if side * rows.count > _LARGEST_SYSTEM:
        return 0.0
    matrix = np.empty((rows.count, side))
    filled, _ = rows.view.pack_rows(np.ones(rows.count), free, matrix, 0)
    v = rows.compensated_combination(alpha, y)
    if free:
        v = np.append(v, sum(core.compensated_dot(alpha, y, 0.0)))
    tallest = np.abs(matrix).max(axis=0, initial=0.0)
    used = tallest > 0.0
    if filled < rows.count or not used.any():
        return 0.0
    # Powers of two change no digit.
    scale = 2.0 ** -np.ceil(np.log2(tallest[used]))
    room = np.maximum(np.minimum(alpha, weight - alpha), 0.0) * (1.0 - 1e-6)
    A = (matrix[:, used] * scale * (y * room)[:, None]).T
    R = np.linalg.pinv(A)
    size = Magnitudes(rows.frobenius + math.sqrt(rows.count), side, rows.count, side)
    norm = upper_norm(float(alpha @ alpha), alpha.size)
    error = combination_error(size, norm, True, 0.0) * float(scale.max())
    wrong = np.abs(np.eye(A.shape[0]) - A @ R) + growth(rows.count + 8.0) * (np.abs(A) @ np.abs(R))
    eta = float(wrong.sum(axis=1).max()) * (1.0 + 1e-6)
    if not eta < 0.5:
        return 0.0
    largest = float(np.abs(v[used] * scale).max()) * (1.0 + 1e-6) + error
    share = np.abs(R).sum(axis=1) * (largest / (1.0 - eta)) * (1.0 + 1e-6)
    if not float(share.max(initial=0.0)) <= 1.0:
        return 0.0
    gain = float(alpha.sum()) * (1.0 - growth(alpha.size + 8.0))
    return max(0.0, gain - float(room @ share) * (1.0 + 1e-6))


def residual_of(alpha: Vector, y: Vector) -> float:
    """Return a bound on |Σ ± y_i|, which a free intercept wants to be zero."""
    kept, flipped = core.compensated_dot(alpha[0], y, 0.0), core.compensated_dot(alpha[1], y, 0.0)
    high, low = kept[0] - flipped[0], kept[1] - flipped[1]
    total = float(alpha.sum())
    # Heads of about the same size differ by a number that is exact.
    rounding = growth(2.0) * abs(high) if not 0.5 <= _ratio(kept[0], flipped[0]) <= 2.0 else 0.0
    error = 8.0 * growth(y.size + 8.0) ** 2 * total + rounding
    return abs(high + low) * (1.0 + 1e-6) + error


def _ratio(a: float, b: float) -> float:
    return a / b if b != 0.0 else (1.0 if a == 0.0 else math.inf)


def farthest_intercept(upper: float, ball: Ball, longest: float) -> float:
    """Bound some optimal intercept: no farther than the last kink of a loss.

    Losses are at least zero, so ε λ* ≤ P and ‖w*‖ ≤ λ*; with a penalty, ‖w*‖₂ ≤ √(2P/c), too.
    `longest` bounds the rows in the dual norm and in the Euclidean one.
    """
    price = upper / ball.radius if ball.radius > 0.0 else math.inf
    length = price
    if ball.l2 > 0.0:
        length = min(length, math.sqrt(2.0 * upper / ball.l2))
    kink = max(1.0, ball.label_cost * price) if ball.label_cost > 0.0 else 1.0
    return (1.0 + 1e-6) * (length * longest + kink)
