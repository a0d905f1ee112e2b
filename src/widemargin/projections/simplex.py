"""The nearest point of a simplex and of an ℓ₁ ball."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.instruction_sets import core
from widemargin.projections.arguments import positive_radius, refuse_infinite, vector

Vector = NDArray[np.float64]


def project_simplex(x: Any, radius: float = 1.0) -> Vector:
    """Project onto the simplex {a ≥ 0, Σ a_i = radius}.

    The threshold of any subset of the numbers is a lower bound for the threshold of all of them:
    a sample rules out nearly every number, the rest is filtered. Time O(n), no sort.

    Parameters
    ----------
    x : array-like of shape (n,)
    radius : float, default=1

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from widemargin.projections import project_simplex
    >>> project_simplex([0.9, 0.5, -2.0])
    array([0.7, 0.3, 0. ])
    """
    x, radius = vector("x", x), positive_radius(radius)
    if x.size == 0:
        raise ValueError("x is empty: an empty sum cannot be the radius")
    # Pages of zeros that are never written are never touched.
    out = np.zeros(x.size)
    refuse_infinite("x", x, core.project_simplex(x, radius, out))
    return out


def project_l1_ball(x: Any, radius: float = 1.0) -> Vector:
    """Project onto the ball {‖a‖₁ ≤ radius}.

    Parameters
    ----------
    x : array-like of shape (n,)
    radius : float, default=1

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from widemargin.projections import project_l1_ball
    >>> project_l1_ball([-1.2, 0.8, 0.1])
    array([-0.7,  0.3,  0. ])
    >>> project_l1_ball([-0.2, 0.3])
    array([-0.2,  0.3])
    """
    x, radius = vector("x", x), positive_radius(radius)
    out = np.zeros(x.size)
    refuse_infinite("x", x, core.project_l1_ball(x, radius, out))
    return out
