"""Proximal Newton for sparse weights: the matrix of each quadratic model is formed."""

from __future__ import annotations

from typing import ClassVar

from widemargin.methods.newton._column_sets import ByMatrix
from widemargin.problems.sparse_weights import SparseProblem


class SparseProximalNewton(ByMatrix):
    """Coordinate descent and Cholesky factors on the Gram matrix of a working set of columns."""

    name = "proximal_newton"
    serves: ClassVar[type[SparseProblem]] = SparseProblem
