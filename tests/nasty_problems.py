"""Random problems near the edge of floating point: small, so that they can be judged exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Nasty(NamedTuple):
    """Examples, labels, weights and arguments of a fit."""

    X: Any
    y: Any
    weight: Any
    C: float
    tol: float
    fit_intercept: bool


LAYOUTS: list[Any] = [
    lambda X: X,
    sp.csr_array,
    np.asfortranarray,
    lambda X: X.astype(np.float32),
    lambda X: sp.csr_matrix(X.astype(np.float32)),
]


def nasty(seed: int, classes: int = 2) -> Nasty:
    """Return a random problem: scales, shifts, duplicates, zeros, weights over many decades."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(classes, 14)), int(random.choice([1, 1, 2, 3, 5, 20]))
    X = random.normal(size=(n, d))
    kind = random.integers(6)
    if kind == 0:
        X = X * 10.0 ** random.uniform(-8, 8, size=d)
    elif kind == 1:
        X = X * 10.0 ** random.uniform(-8, 8)
    elif kind == 2:
        X = np.round(X * 1024.0) / 1024.0 + 2.0 ** random.integers(0, 41)
    elif kind == 3:
        X = random.integers(-3, 4, size=(n, d)).astype(float)
    elif kind == 4:
        X[:, random.integers(d)] = 1.7e9 + random.integers(0, 3600, size=n)
    if random.random() < 0.3:
        X[random.integers(n)] = X[random.integers(n)]
    if random.random() < 0.2:
        X[random.integers(n)] = 0.0
    if random.random() < 0.2:
        X[:, random.integers(d)] = 0.0
    y = random.integers(classes, size=n)
    y[:classes] = np.arange(classes)
    weight = 10.0 ** random.uniform(-6, 6, size=n) if random.random() < 0.3 else None
    C = float(10.0 ** random.uniform(-6, 6)) if random.random() < 0.7 else 1.0
    X = LAYOUTS[random.integers(len(LAYOUTS))](X)
    tol = float(random.choice([1e-2, 1e-4, 1e-6, 1e-9]))
    return Nasty(X, y, weight, C, tol, bool(random.random() < 0.7))
