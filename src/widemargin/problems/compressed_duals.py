"""Dual variables of a multiclass problem, as the compiled loops read them, and their residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.instruction_sets import core
from widemargin.problems.rounding import exact_sums, exact_sums_error, growth

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

    @classmethod
    def read(cls, duals: core.BlockDuals, examples: int) -> CompressedDuals:
        """Copy the dual variables of the compiled loops."""
        pointers = np.empty(examples + 1, dtype=np.int64)
        beta = cls(pointers, np.empty(duals.total, dtype=np.int32), np.empty(duals.total))
        duals.read(*beta)
        return beta

    def sparse(self, classes: int) -> sp.csr_array:
        """Return β as a sparse array of shape (n, k)."""
        narrow = np.int32 if self.values.size < 2**31 else np.int64
        arrays = (self.values, self.classes.astype(narrow), self.pointers.astype(narrow))
        return sp.csr_array(arrays, shape=(self.pointers.size - 1, classes))

    @property
    def owners(self) -> NDArray[np.int64]:
        """The example of each entry."""
        return np.repeat(np.arange(self.pointers.size - 1), np.diff(self.pointers))


@dataclass(frozen=True, eq=False)
class ByExample:
    """Compressed rows that are cut as an array over the examples is: ``numbers[begin:end]``."""

    pointers: NDArray[np.int64]
    classes: NDArray[np.int32]
    values: Vector

    def __getitem__(self, at: slice) -> ByExample:
        pointers = self.pointers[at.start : at.stop + 1]
        first, last = int(pointers[0]), int(pointers[-1])
        return ByExample(pointers - first, self.classes[first:last], self.values[first:last])


def residual_of(beta: CompressedDuals, label: NDArray[np.int32], classes: int) -> Vector:
    """Return r_j = Σ_i ([y_i = j] Σ_l β_il − [y_i ≠ j] β_ij): zero if intercepts are free."""
    places = np.concatenate([label[beta.owners], beta.classes])
    return exact_sums(places, np.concatenate([beta.values, -beta.values]), classes)[0]


def residual_error(beta: CompressedDuals) -> float:
    """Return how far an entry of `residual_of` can be off."""
    return exact_sums_error(2 * beta.values.size, 2.0 * float(beta.values.sum()))


def kept_in_sum(beta: CompressedDuals, cost: Vector) -> None:
    """Lower rows with several entries, in place, until their exact sums are at most the costs."""
    counts = np.diff(beta.pointers)
    sums = np.bincount(beta.owners, beta.values, counts.size)
    share = growth(counts + 6.0)
    over = (counts > 1) & (sums * (1.0 + share) > cost)
    if over.any():
        factor = np.ones(counts.size)
        factor[over] = cost[over] / sums[over] * (1.0 - 2.0 * share[over])
        beta.values[:] *= np.minimum(factor, 1.0)[beta.owners]


def without_residual(beta: CompressedDuals, label: NDArray[np.int32], classes: int) -> Vector:
    """Lower some dual variables in place so that the residual vanishes; return what is left of it.

    Lowering β_il for an example of class j takes from r_j and gives to r_l. What r_j has too much
    goes to the classes that have too little, directly or through others, out of the mass Σ β_il
    over the examples of class j; see core/projections/class_transport.hpp.
    """
    for _ in range(3):
        residual = residual_of(beta, label, classes)
        if not np.abs(residual).sum() > 1e-15 * beta.values.sum():
            break
        core.lower_residual(*beta, label, residual)
    return residual_of(beta, label, classes)
