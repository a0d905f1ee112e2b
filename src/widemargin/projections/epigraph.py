"""Projections onto epigraphs of norms, and onto balls cut by a hyperplane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.instruction_sets import core
from widemargin.problems.norms import NORMS, norm_of

Vector = NDArray[np.float64]


def checked_norm(norm: float) -> float:
    """Return the norm as a float, or raise an error."""
    if norm not in NORMS:
        raise ValueError(f"norm must be 1, 2 or infinity; got {norm!r}")
    return float(norm)


def checked_vector(x: ArrayLike, name: str) -> Vector:
    """Return a fresh, finite, one-dimensional array."""
    vector = np.array(x, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a one-dimensional array of finite numbers")
    return vector


def project_epigraph(
    x: ArrayLike, s: float, norm: float = 2, *, aperture: float = 1.0
) -> tuple[Vector, float]:
    """Project (x, s) onto the epigraph {(x, s) : ‖x‖ ≤ aperture · s}.

    Norms 1 and infinity by partitions around pivots, in expected linear time; norm 2 by a formula.

    Parameters
    ----------
    x : array-like of shape (d,)
    s : float
    norm : {1, 2, inf}, default=2
    aperture : float, default=1.0

    Returns
    -------
    x : ndarray of shape (d,)
    s : float

    Examples
    --------
    >>> from widemargin.projections import project_epigraph
    >>> project_epigraph([3.0, 4.0], 0.0)
    (array([1.5, 2. ]), 2.5)
    >>> project_epigraph([3.0, 1.0], 1.0, norm=1)
    (array([2., 0.]), 2.0)
    """
    projected = checked_vector(x, "x")
    if not aperture > 0.0 or not np.isfinite([s, aperture]).all():
        raise ValueError("s must be finite and aperture positive")
    price = core.project_epigraph(projected, float(s), checked_norm(norm), float(aperture))
    return projected, price


def project_ball_hyperplane(
    x: ArrayLike, z: ArrayLike, level: float, radius: float, norm: float = 2
) -> Vector:
    """Project x onto {x : z·x = level, ‖x‖ ≤ radius}.

    The answer is the projection onto the ball of x + τ z for the τ that meets the hyperplane, the
    root of a monotone function.

    Parameters
    ----------
    x, z : array-like of shape (d,)
    level, radius : float
    norm : {1, 2, inf}, default=2

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    >>> from widemargin.projections import project_ball_hyperplane
    >>> project_ball_hyperplane([0.0, 3.0], [1.0, 0.0], 0.6, 1.0)
    array([0.6, 0.8])
    """
    start, normal = checked_vector(x, "x"), checked_vector(z, "z")
    which = checked_norm(norm)
    reach = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[which]
    if start.shape != normal.shape:
        raise ValueError("x and z must have the same length")
    farthest = radius * norm_of(normal, reach)
    if abs(level) > farthest * (1.0 + 1e-12):
        raise ValueError("the hyperplane does not meet the ball")

    def at(tau: float) -> Vector:
        return onto_ball(start + tau * normal, radius, which)

    low, high = -1.0, 1.0
    for _ in range(200):
        if float(at(low) @ normal) <= level:
            break
        low *= 2.0
    for _ in range(200):
        if float(at(high) @ normal) >= level:
            break
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if float(at(middle) @ normal) < level:
            low = middle
        else:
            high = middle
    return at(high)


def onto_ball(x: Vector, radius: float, norm: float) -> Vector:
    """Return the nearest point to x with ‖x‖ ≤ radius; x itself if it is inside."""
    length = norm_of(x, norm)
    if length <= radius:
        return x
    if norm == 2.0:
        return x * (radius / length)
    if np.isinf(norm):
        return np.clip(x, -radius, radius)
    level = core.threshold(np.abs(x), radius, 0.0)
    return np.sign(x) * np.maximum(np.abs(x) - level, 0.0)
