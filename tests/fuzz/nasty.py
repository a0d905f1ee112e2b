"""Random problems of the kinds that break numerical code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Random = np.random.Generator

LAYOUTS = ("C", "F", "csr_matrix", "csr_array", "csc_matrix", "int64", "read-only", "strided")


@dataclass(frozen=True, eq=False)
class Data:
    """Examples, labels and weights, and what was done to them."""

    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    story: str


def data_of(random: Random, classes: int) -> Data:
    """Return random data with some of the traps; every class occurs."""
    n = max(int(random.choice([2, 3, 4, 5, 8, 12, 20, 40])), classes)
    d = int(random.choice([1, 1, 2, 3, 5, 10, 60]))
    X = random.normal(size=(n, d))
    story = [f"{n} x {d}"]
    for name, trap in TRAPS.items():
        if random.random() < 0.2:
            X = trap(random, X)
            story.append(name)
    # Squares of all numbers must stay far from the ends of floating point.
    X = np.clip(X, -1e60, 1e60)
    y = labels_of(random, X, classes)
    single = random.random() < 0.2
    if single:
        X = X.clip(-1e15, 1e15).astype(np.float32)
    layout = str(random.choice(LAYOUTS))
    story.append(layout + " float32" * single)
    return Data(in_layout(X, layout), y, weights_of(random, y, story), ", ".join(story))


def _duplicates(random: Random, X: NDArray[Any]) -> NDArray[Any]:
    return X[random.integers(max(1, len(X) // 2), size=len(X))]


def _zeros(random: Random, X: NDArray[Any], axis: int) -> NDArray[Any]:
    shape = (len(X), 1) if axis == 0 else (1, X.shape[1])
    return X * (random.random(shape) < 0.7)


def _scales(random: Random, X: NDArray[Any], axis: int) -> NDArray[Any]:
    shape = (len(X), 1) if axis == 0 else (1, X.shape[1])
    return X * 10.0 ** random.uniform(-8.0, 8.0, size=shape)


def _shift(random: Random, X: NDArray[Any]) -> NDArray[Any]:
    grid = np.rint(np.clip(X, -1e6, 1e6) * 1024.0) / 1024.0
    return grid + 2.0 ** random.integers(0, 41, size=(1, X.shape[1]))


TRAPS: dict[str, Any] = {
    "duplicates": _duplicates,
    "zero rows": lambda random, X: _zeros(random, X, 0),
    "zero columns": lambda random, X: _zeros(random, X, 1),
    "sparse": lambda random, X: X * (random.random(X.shape) < 0.3),
    "whole numbers": lambda random, X: np.rint(3.0 * np.clip(X, -1e9, 1e9)),
    "equal columns": lambda random, X: np.repeat(X[:, :1], X.shape[1], axis=1),
    "scaled columns": lambda random, X: _scales(random, X, 1),
    "scaled rows": lambda random, X: _scales(random, X, 0),
    "scaled": lambda random, X: X * 10.0 ** random.uniform(-8.0, 8.0),
    "shifted": _shift,
    "one far row": lambda random, X: np.vstack([X[:1] * 1e6, X[1:]]),
    "tiny columns": lambda random, X: X * np.where(random.random(X.shape[1]) < 0.5, 1e-13, 1.0),
}


def labels_of(random: Random, X: NDArray[Any], classes: int) -> NDArray[Any]:
    """Return labels: by a rule, at random, or one example against all others."""
    n = len(X)
    way = random.integers(3)
    if way == 0:
        scores = X @ (random.normal(size=X.shape[1]) / np.maximum(np.abs(X).max(axis=0), 1e-300))
        y = np.argsort(np.argsort(scores)) * classes // n
    elif way == 1:
        y = random.integers(classes, size=n)
    else:
        y = np.zeros(n, dtype=np.int64)
    y[random.permutation(n)[:classes]] = np.arange(classes)
    return np.array([-5, -2, 3, 4])[y] if random.random() < 0.3 else y


def weights_of(random: Random, y: NDArray[Any], story: list[str]) -> NDArray[np.float64] | None:
    """Return no weights, weights over twelve decades, or some that are zero."""
    way = random.integers(4)
    if way < 2:
        return None
    weight = 10.0 ** random.uniform(-6.0, 6.0, size=y.size)
    story.append("weights")
    if way == 3:
        kept = weight.copy()
        weight[random.random(y.size) < 0.3] = 0.0
        for label in np.unique(y):  # a class without weight is refused
            if not weight[y == label].any():
                weight[y == label] = kept[y == label]
    return weight


def in_layout(X: NDArray[Any], name: str) -> Any:
    """Return the same numbers, laid out otherwise."""
    if name == "F":
        return np.asfortranarray(X)
    if name in ("csr_matrix", "csr_array", "csc_matrix"):
        return getattr(sp, name)(X)
    if name == "int64":
        S = sp.csr_matrix(X)
        S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
        return S
    if name == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if name == "strided":
        return np.repeat(X, 2, axis=0)[::2]
    return np.ascontiguousarray(X)
