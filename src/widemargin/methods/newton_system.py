"""What the second-order methods share: Newton directions, exact line searches, growing samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]

LARGEST_FACTORISED = 2000
"""Weights up to which the Hessian is formed: 32 MB, and a factorisation of about 0.1 s."""

_SAMPLE_PER_WEIGHT = 10
_SAMPLE_GROWTH = 6


def newton_direction(
    problem: BinaryProblem, curvature: Vector, gradient: Vector, gradient_b: float
) -> tuple[Vector, float]:
    """Solve (I + Σ h_i x_i x_iᵀ) p = −g, with the intercept's unpenalised row and column."""
    if problem.rows.weights <= LARGEST_FACTORISED:
        return _factorised(problem, curvature, gradient, gradient_b)
    return _conjugate_gradients(problem, curvature, gradient, gradient_b)


def _factorised(
    problem: BinaryProblem, curvature: Vector, gradient: Vector, gradient_b: float
) -> tuple[Vector, float]:
    matrix = problem.rows.gram(curvature, problem.free_intercept)
    np.einsum("ii->i", matrix)[: problem.rows.weights] += 1.0
    right = gradient
    if problem.free_intercept:
        # Where no example has curvature the intercept would have none either.
        matrix[-1, -1] += 1e-10 * (1.0 + matrix[-1, -1])
        right = np.append(gradient, gradient_b)
    _, solution, info = dposv(matrix, right, lower=0)
    if info != 0:
        solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    if problem.free_intercept:
        return -solution[:-1], -float(solution[-1])
    return -solution, 0.0


def _conjugate_gradients(
    problem: BinaryProblem, curvature: Vector, gradient: Vector, gradient_b: float
) -> tuple[Vector, float]:
    """Solve to a tenth of the starting residual, with the Hessian's diagonal as preconditioner."""
    free = problem.free_intercept
    diagonal = 1.0 + problem.rows.curvature_diagonal(curvature)
    diagonal_b = float(curvature.sum()) + 1e-12
    p, p_b = np.zeros_like(gradient), 0.0
    r, r_b = -gradient, -gradient_b
    z, z_b = r / diagonal, (r_b / diagonal_b if free else 0.0)
    d, d_b = z.copy(), z_b
    rz = float(r @ z) + r_b * z_b
    start = rz
    for _ in range(100):
        product, share = problem.rows.curvature_product(curvature, d, d_b)
        product += d
        step = rz / (float(d @ product) + (share * d_b if free else 0.0))
        p += step * d
        p_b += step * d_b
        r -= step * product
        if free:
            r_b -= step * share
        z = r / diagonal
        z_b = r_b / diagonal_b if free else 0.0
        fresh = float(r @ z) + r_b * z_b
        if fresh <= 0.01 * start:
            break
        d = z + (fresh / rz) * d
        d_b = z_b + (fresh / rz) * d_b
        rz = fresh
    return p, p_b


def line_search(derivatives: Callable[[float], tuple[float, float]], at_zero: float) -> float:
    """Return a step at which the slope is at most a tenth of what it was, trying 1 first.

    Parameters
    ----------
    derivatives : callable
        Gives first and second derivative of the objective along the direction at a step.
    at_zero : float
        The first derivative at step zero, negative.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(40):
        first, second = derivatives(t)
        if abs(first) <= 0.1 * abs(at_zero):
            return t
        if first > 0.0:
            high = t
        else:
            low = t
        t -= first / second
        if not low < t < high:
            t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return t


def growing_samples(problem: BinaryProblem, seed: int) -> list[NDArray[np.int64] | None]:
    """Return row numbers of growing samples, ending with None for all rows."""
    count, weights = problem.rows.count, problem.rows.weights
    stages: list[NDArray[np.int64] | None] = [None]
    if weights > LARGEST_FACTORISED:
        return stages
    smallest = max(_SAMPLE_PER_WEIGHT * weights, 500)
    random = np.random.default_rng(seed)
    size = count // _SAMPLE_GROWTH
    while size >= smallest:
        # One row from each of `size` equal stretches: as random as it needs to be, in order, and
        # without a permutation of all rows.
        edges = np.linspace(0, count, size + 1).astype(np.int64)
        subset = edges[:-1] + (random.random(size) * np.diff(edges)).astype(np.int64)
        kept = subset[problem.cost[subset] > 0.0]
        signs = problem.y[kept]
        if kept.size < size // 2 or not (signs > 0).any() or not (signs < 0).any():
            break
        stages.insert(0, kept)
        size //= _SAMPLE_GROWTH
    return stages
