"""Factors of a Hessian I + Σ h_i x_i x_iᵀ, exact ones and those of a sample of the examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.linalg.cholesky import Factor, cholesky
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def penalised_factor(problem: BinaryProblem, matrix: Matrix) -> Factor | None:
    """Add the penalty to Σ h_i x_i x_iᵀ and factorise it in place."""
    np.einsum("ii->i", matrix)[: problem.rows.weights] += 1.0
    problem.meter.add(work.factor(len(matrix)))
    # Where no example has curvature the intercept has none either.
    flat = slice(-1, None) if problem.free_intercept else None
    return cholesky(matrix, flat, threads=problem.rows.threads)


def sample_pays(problem: BinaryProblem) -> bool:
    """Whether the sample of `sampled_factor` is much less work than all examples."""
    return 3 * MACHINE.factor_rows * problem.rows.weights <= problem.rows.count


def sampled_factor(problem: BinaryProblem, curvature: Vector) -> Factor | None:
    """Factorise what a sample of the examples says of the Hessian.

    The more curvature an example has, the more likely it is drawn, and the less it counts for.
    """
    size, total = MACHINE.factor_rows * problem.rows.weights, float(curvature.sum())
    # Where no example has curvature, none is drawn.
    chance = np.minimum(curvature * (size / total if total > 0.0 else 0.0), 1.0)
    drawn = np.flatnonzero(np.diff(np.floor(np.cumsum(chance)), prepend=0.0) > 0.0)
    sample = problem.rows.take(drawn)
    matrix = sample.gram(curvature[drawn] / chance[drawn], problem.free_intercept)
    return penalised_factor(problem, matrix)
