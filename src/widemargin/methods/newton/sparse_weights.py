"""Proximal Newton for sparse weights: the matrix of each quadratic model is formed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.newton._column_steps import ColumnNewton, ColumnState
from widemargin.methods.newton._elastic_net_model import Model, by_matrix
from widemargin.problems.sparse_weights import SparseProblem

Vector = NDArray[np.float64]


class SparseProximalNewton(ColumnNewton):
    """Coordinate descent and Cholesky factors on the Gram matrix of a working set of columns."""

    name = "proximal_newton"
    serves: ClassVar[type[SparseProblem]] = SparseProblem

    def minimise(
        self, state: ColumnState, model: Model, wanted: float
    ) -> tuple[Vector, float, float]:
        """Form the matrix and minimise the model."""
        matrix = model.columns.rows.gram(model.curvature, model.free)
        z, move = by_matrix(model, state.penalty, wanted, matrix)
        return z, move, 1.0
