"""The largest eigenvalue of a positive semidefinite matrix, from products with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def largest_eigenvalue(
    product: Callable[[Vector], Vector],
    size: int,
    seed: int,
    most_steps: int = 60,
    accuracy: float = 1e-4,
) -> float:
    """Estimate the largest eigenvalue from below, by power iteration from a random vector.

    Parameters
    ----------
    product : callable
        Returns the matrix times a vector.
    size : int
    seed : int
    most_steps : int
    accuracy : float
        Stop when a step changes the estimate by no more than this share.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.linalg.power_iteration import largest_eigenvalue
    >>> round(largest_eigenvalue(np.diag([1.0, 5.0, 2.0]).__matmul__, 3, seed=0), 3)
    5.0
    """
    v = np.random.default_rng(seed).normal(size=size)
    value = 0.0
    for _ in range(most_steps):
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return 0.0
        v = product(v / norm)
        value, before = float(np.linalg.norm(v)), value
        if abs(value - before) <= accuracy * value:
            break
    return value
