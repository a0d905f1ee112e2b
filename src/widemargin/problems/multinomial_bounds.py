"""What rounding can do to the certificate of multinomial logistic regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.rounding import (
    UNDERFLOW,
    Size,
    combination_error,
    growth,
    half_square_error,
    upper_norm,
)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_TERM = 64.0
"""Roundings of one term, its exponentials and logarithms included, at most."""


def loss_error(size: Size, cost: Vector, w: Matrix, b: Vector, off: float, losses: float) -> float:
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


def dual_error(size: Size, cost: Vector, entropy: float, squared: float, theta: float) -> float:
    """Return what D can be below what was computed, the residual apart."""
    mass, norm = float(cost.sum()), 1.42 * upper_norm(float(cost @ cost), cost.size)
    off = combination_error(size, norm, False, 0.0)
    off += (theta + growth(_TERM)) * norm * size.frobenius * (1.0 + 1e-6)
    terms = growth(size.count + 2.0 * _TERM) * (abs(entropy) + mass)
    terms += 2.0 * theta * (abs(entropy) + 2.0 * mass)
    return terms + half_square_error(squared, size.width, off) + size.count * UNDERFLOW
