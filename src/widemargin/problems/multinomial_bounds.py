"""What rounding can do to the certificate of multinomial logistic regression."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.rows import Rows
from widemargin.problems.margins import Bound
from widemargin.problems.multiclass_bounds import score_blocks
from widemargin.problems.rounding import (
    UNDERFLOW,
    UNIT,
    Magnitudes,
    combination_error,
    exact_sum,
    growth,
    half_square_error,
    upper_norm,
)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_TERM = 64.0
"""Roundings of one term, its exponentials and logarithms included, at most."""


def loss_error(
    size: Magnitudes, cost: Vector, w: Matrix, b: Vector, off: float, losses: float
) -> float:
    """Return what rounding can hide of Σ c_i ℓ_i, which grows by at most 2 |change of a score|."""
    share = growth(size.longest + 6.0)
    longest = upper_norm(float(np.einsum("kd,kd->k", w, w).max(initial=0.0)), w.shape[1])
    steep, mass = upper_norm(float(cost @ cost), cost.size), float(cost.sum())
    fixed = share * float(np.abs(b).max(initial=0.0)) + off + size.longest * UNDERFLOW
    scores = share * longest * size.frobenius * steep + mass * fixed
    # The terms of a logarithm are rounded relative to one, or to the spread of the scores.
    terms = growth(len(b) + _TERM) * (mass + losses)
    return (1.0 + 1e-6) * (2.0 * scores + terms) + growth(size.count + 8.0) * losses


def simplex_error(duals: Matrix, cost: Vector) -> float:
    """Return θ so that each example's A, times 1 ± θ, lies on its simplex exactly."""
    total = duals.sum(axis=1)
    apart = np.abs(total - cost)[cost > 0.0] / cost[cost > 0.0]
    return float(apart.max(initial=0.0)) * (1.0 + 1e-6) + growth(duals.shape[1] + 8.0)


class DualParts(NamedTuple):
    """What D is made of, and what each part can be off by."""

    entropy: Bound
    """−Σ A_ij log(A_ij / c_i)."""
    quadratic: Bound
    """½‖W(A)‖²."""
    residual: float
    """Above the sum of the sizes of all classes' residuals."""


def plain_dual(
    size: Magnitudes, cost: Vector, entropy: float, squared: float, theta: float, residual: float
) -> DualParts:
    """Return the parts as they came out of one pass over the data, with errors from norms."""
    norm = 1.42 * upper_norm(float(cost @ cost), cost.size)
    off = combination_error(size, norm, False, 0.0)
    off += (theta + growth(_TERM)) * norm * size.frobenius * (1.0 + 1e-6)
    quadratic = Bound(0.5 * squared, half_square_error(squared, size.width, off))
    # Sums over the examples, relative to what was added up.
    left = residual + 2.0 * (theta + growth(size.count + 8.0)) * float(cost.sum())
    return DualParts(entropy_bound(size, cost, entropy, theta), quadratic, left)


def compensated_dual(
    rows: Rows, size: Magnitudes, coefficients: Matrix, cost: Vector, entropy: float, theta: float
) -> DualParts:
    """Return the same from compensated sums, a class after the other.

    The coefficients, of shape (k, n), are made of the dual variables of the rivals. Where these add
    up to less than the cost, that of the own class is what they leave, whatever was rounded there.
    """
    share = growth(len(coefficients) + 8.0)
    squared = 0.0
    for line in coefficients:
        v = rows.compensated_combination(np.ascontiguousarray(line))
        squared += float(v @ v)
    norm = upper_norm(float(np.vdot(coefficients, coefficients)), coefficients.size)
    near = _near(coefficients, cost)
    off = combination_error(size, norm, True, upper_norm(squared, size.width))
    off += (1.0 + 1e-6) * (share * norm + theta * near) * size.frobenius
    left = rivals_residual(coefficients, cost, theta)
    quadratic = Bound(0.5 * squared, half_square_error(squared, size.width, off))
    return DualParts(entropy_bound(size, cost, entropy, theta), quadratic, left)


def plain_entries(size: Magnitudes, cost: Vector, theta: float) -> float:
    """Return how far an entry of W(A) can be off after one pass, per norm of its column."""
    norm = 1.42 * upper_norm(float(cost @ cost), cost.size)
    share = growth(size.count + 2.0 * _TERM) + theta
    return share * norm * (1.0 + 1e-6) + size.count * UNDERFLOW


def sums_of_rivals(
    rows: Rows, coefficients: Matrix, cost: Vector, theta: float
) -> tuple[Matrix, Vector]:
    """Return W(A) from compensated sums, and per class how far an entry can be off.

    As in `compensated_dual`, the coefficients are made of the dual variables of the rivals. What
    entries are off by is per norm of their columns.
    """
    v = np.array([rows.compensated_combination(np.ascontiguousarray(c)) for c in coefficients])
    near = _near(coefficients, cost)
    second = 4.0 * growth(rows.count + 16.0) ** 2 + 2.0 * UNIT
    share = second + growth(len(coefficients) + _TERM)
    norms = np.sqrt(np.einsum("kn,kn->k", coefficients, coefficients)) * (1.0 + 1e-6)
    return v, share * norms + theta * near * (1.0 + 1e-6) + rows.count * UNDERFLOW


def rivals_residual(coefficients: Matrix, cost: Vector, theta: float) -> float:
    """Return a bound on ‖r‖₁ where the dual variables of the rivals say those of the own class."""
    left = 0.0
    for line in coefficients:
        total, error = exact_sum(np.ascontiguousarray(line))
        left += abs(total) * (1.0 + 1e-6) + error
    share = growth(len(coefficients) + 8.0)
    full = _full(coefficients, cost)
    return left + 2.0 * (
        share * float(np.abs(coefficients).sum()) + theta * float(cost[full].sum())
    )


def _full(coefficients: Matrix, cost: Vector) -> NDArray[np.bool_]:
    """Return the examples whose rivals may add up to more than the cost."""
    rivals = np.maximum(coefficients, 0.0).sum(axis=0)
    return np.asarray(rivals * (1.0 + 2.0 * growth(len(coefficients) + 8.0)) > cost)


def _near(coefficients: Matrix, cost: Vector) -> float:
    full = _full(coefficients, cost)
    return 1.42 * upper_norm(float(cost[full] @ cost[full]), cost.size)


def entropy_bound(size: Magnitudes, cost: Vector, entropy: float, theta: float) -> Bound:
    """Return −Σ A_ij log(A_ij / c_i) with what rounding can have added to it."""
    mass = float(cost.sum())
    terms = growth(size.count + 2.0 * _TERM) * (abs(entropy) + mass)
    terms += 2.0 * theta * (abs(entropy) + 2.0 * mass)
    return Bound(entropy, terms + size.count * UNDERFLOW)


def compensated_losses(
    rows: Rows, label: NDArray[np.int32], cost: Vector, w: Matrix, b: Vector
) -> Bound:
    """Return Σ c_i ℓ_i from scores in compensated sums."""
    weights = [np.ascontiguousarray(v) for v in w]
    starts = [rows.exact_intercept_here(v, float(c)) for v, c in zip(weights, b, strict=True)]
    second = 4.0 * growth(rows.longest + 9.0) ** 2
    # What scores are off by beside their own rounding, all examples and classes alike.
    fixed = rows.longest * UNDERFLOW + max(
        second * (upper_norm(float(v @ v), v.size) * rows.frobenius + abs(at[0])) + at[2]
        for v, at in zip(weights, starts, strict=True)
    )
    shared = weights, [at[:2] for at in starts], fixed
    if isinstance(rows, BlockedRows):
        total, allowance = rows.run(_compensated_losses, (label, cost), shared)[1]
    else:
        total, allowance = _compensated_losses(rows, (label, cost), shared)[1]
    terms = growth(len(weights) + _TERM) * (float(cost.sum()) + total)
    share = growth(rows.count + 8.0)
    return Bound(total, (1.0 + 1e-6) * (allowance + terms) + share * total)


def _compensated_losses(rows: Rows, over: tuple[Any, ...], shared: tuple[Any, ...]) -> Any:
    """Return Σ c_i ℓ_i and what scores and terms can be off by, as a task on a block does."""
    (label, cost), (weights, starts, fixed) = over, shared
    total = allowance = 0.0
    for chosen, scores in score_blocks(rows, weights, starts):
        excess = scores - scores[np.arange(chosen.size), label[chosen]][:, None]
        top = excess.max(axis=1)
        losses = top + np.log(np.exp(excess - top[:, None]).sum(axis=1))
        error = growth(8.0) * np.abs(scores).max(axis=1) + fixed
        total += float(cost[chosen] @ losses)
        allowance += 2.0 * float(cost[chosen] @ error)
    return None, (total, allowance)
