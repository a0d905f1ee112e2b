"""Coordinate descent on columns, for sparse weights and for smooth losses with ½‖w‖²."""

from __future__ import annotations

from typing import Any, ClassVar

from widemargin.methods.newton._column_sets import ByColumns
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.sparse_weights import SparseProblem


class SparsePrimalCD(ByColumns):
    """Sweeps over the columns of a working set, on quadratic models of the losses."""

    name = "primal_cd"
    serves: ClassVar[type[Any]] = SparseProblem


class PrimalCD(SparsePrimalCD):
    """The same for the squared norm, where every weight counts."""

    serves: ClassVar[type[Any]] = BinaryProblem
