"""Dual variables of a multiclass problem, as the compiled loops read them, and their residual."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels import core

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


def residual_of(beta: CompressedDuals, label: NDArray[np.int32], classes: int) -> Vector:
    """Return r_j = Σ_i ([y_i = j] Σ_l β_il − [y_i ≠ j] β_ij): zero if intercepts are free."""
    given = np.bincount(label[beta.owners], beta.values, classes)
    return np.asarray(given - np.bincount(beta.classes, beta.values, classes), dtype=np.float64)


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
