"""Dual variables of a multiclass problem, as the compiled loops read them, and their residual."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class CompressedDuals(NamedTuple):
    """β by rows: the entries of example i are those from pointers[i] to pointers[i + 1]."""

    pointers: NDArray[np.int64]
    classes: NDArray[np.int32]
    values: Vector

    @classmethod
    def of(cls, alpha: Any) -> CompressedDuals:
        """Copy a sparse or dense array of shape (n, k), without its zeros."""
        beta = sp.csr_array(alpha, dtype=np.float64, copy=True)
        beta.eliminate_zeros()
        return cls(beta.indptr.astype(np.int64), beta.indices.astype(np.int32), beta.data)

    def sparse(self, classes: int) -> sp.csr_array:
        """Return β as a sparse array of shape (n, k)."""
        narrow = np.int32 if self.values.size < 2**31 else np.int64
        arrays = (self.values, self.classes.astype(narrow), self.pointers.astype(narrow))
        return sp.csr_array(arrays, shape=(self.pointers.size - 1, classes))

    @property
    def owners(self) -> NDArray[np.int64]:
        """The example of each entry."""
        return np.repeat(np.arange(self.pointers.size - 1), np.diff(self.pointers))


def residual_of(beta: CompressedDuals, label: NDArray[np.int32], classes: int) -> Vector:
    """Return r_j = Σ_i ([y_i = j] Σ_l β_il − [y_i ≠ j] β_ij): zero if intercepts are free."""
    given = np.bincount(label[beta.owners], beta.values, classes)
    return np.asarray(given - np.bincount(beta.classes, beta.values, classes), dtype=np.float64)


def without_residual(beta: CompressedDuals, label: NDArray[np.int32], classes: int) -> Vector:
    """Lower some dual variables in place so that the residual vanishes; return what is left of it.

    Lowering β_il for an example of class j takes from r_j and gives to r_l. Class by class, what
    r_j has too much goes to the classes that have too little, out of the mass Σ β_il over the
    examples of class j; each such mass is lowered by one factor.
    """
    pair = label[beta.owners].astype(np.int64) * classes + beta.classes
    for _ in range(3):
        residual = residual_of(beta, label, classes)
        if not np.abs(residual).sum() > 1e-15 * beta.values.sum():
            break
        mass = np.bincount(pair, beta.values, classes * classes).reshape(classes, classes)
        taken = _transport(residual, np.asarray(mass, dtype=np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            keep = np.where(mass > 0.0, 1.0 - taken / mass, 1.0)
        beta.values[:] *= np.clip(keep, 0.0, 1.0).reshape(-1)[pair]
    return residual_of(beta, label, classes)


def _transport(residual: Vector, mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much goes from class to class, at most the mass: directly, or by shortest paths.

    What a class between passes on leaves its own balance as it was. There is a path to some class
    that has too little from every class that has too much: what can be reached without one would
    have given more than it got.
    """
    left, room = residual.copy(), mass.copy()
    taken = np.zeros_like(mass)

    def push(path: list[int], amount: float) -> None:
        for one, other in pairwise(path):
            taken[one, other] += amount
            room[one, other] -= amount
        left[path[0]] -= amount
        left[path[-1]] += amount

    for j in np.flatnonzero(left > 0.0):
        for towards in np.flatnonzero((left < 0.0) & (room[j] > 0.0)):
            push([int(j), int(towards)], min(left[j], -left[towards], room[j, towards]))
    smallest = 1e-16 * float(mass.sum())
    for _ in range(4 * left.size):
        source = int(left.argmax())
        path = _path(source, left, room) if left[source] > smallest else []
        if not path:
            break
        narrow = min(room[one, other] for one, other in pairwise(path))
        push(path, min(left[source], -left[path[-1]], narrow))
    return taken


def _path(source: int, left: Vector, room: NDArray[np.float64]) -> list[int]:
    """Return a shortest path, through what room there is, to a class that has too little."""
    before = np.full(left.size, -1)
    before[source] = source
    front = [source]
    while front:
        found = []
        for one in front:
            fresh = np.flatnonzero((room[one] > 0.0) & (before < 0))
            before[fresh] = one
            short = fresh[left[fresh] < 0.0]
            if short.size:
                path = [int(short[0])]
                while path[-1] != source:
                    path.append(int(before[path[-1]]))
                return path[::-1]
            found.extend(fresh.tolist())
        front = found
    return []
