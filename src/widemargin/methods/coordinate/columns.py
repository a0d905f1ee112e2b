"""Coordinate descent on columns, for sparse weights and for smooth losses with ½‖w‖²."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.newton._column_steps import ColumnNewton, ColumnState
from widemargin.methods.newton._elastic_net_model import Model, by_columns
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.sparse_weights import SparseProblem

Vector = NDArray[np.float64]


class SparsePrimalCD(ColumnNewton):
    """Sweeps over the columns of a working set, on quadratic models of the losses."""

    name = "primal_cd"
    serves: ClassVar[type[Any]] = SparseProblem

    def minimise(
        self, state: ColumnState, model: Model, wanted: float
    ) -> tuple[Vector, float, float]:
        """Sweep over the columns until the model is minimised."""
        z, move, sweeps = by_columns(model, state.penalty, wanted)
        return z, move, float(sweeps)


class PrimalCD(SparsePrimalCD):
    """The same for the squared norm, where every weight counts."""

    serves: ClassVar[type[Any]] = BinaryProblem
