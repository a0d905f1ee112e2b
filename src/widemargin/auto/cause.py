"""The sentences of ``solver_``: why a method was chosen. Nothing reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widemargin.auto.contest import Offer
    from widemargin.auto.shape import BinaryShape

SWEEPS_TELL = "sweeps show how hard the problem is"
WORKED_BEFORE = "worked at the last C"
NEAR = "a step or two from the last C"
LOAN_SPENT = "the steps before were not getting ahead"
FORMULAS = "the loss is not compiled"
ELSEWHERE = "the data are not in memory, and few passes over them are enough"
ONE_BY_ONE = "problems one by one, each by its own choice of a method"
AS_PUBLISHED = "as published"
WORKING_SETS = "working sets need few rows of the kernel matrix"
NO_PENALTY = "without a penalty its curvature is the proof"
FACTOR_OF_KERNEL = "a factor of the kernel matrix costs no more than the steps so far"
MARGINALS = "each sequence has marginals of its own"
CACHED_LABELINGS = "a few labelings of each sequence make its dual problem small"
BOUNDS = "steps stay between the bounds"
OTHERS = "it took the least on another class"
TRIED = "it may take less than what ran on another class"
FEW_PRODUCTS = "few products with the data are expected to be enough"
SPARSE_COLUMNS = "sweeps over columns cost less than a matrix of them"


def cheap_steps(shape: BinaryShape, offer: Offer) -> str:
    """A second-order method costs no more than a few sweeps."""
    if offer.method == "quasi_newton":
        return FEW_PRODUCTS
    if offer.in_row_space:
        return f"{shape.size.rows} rows make a small matrix"
    return f"{shape.size.weights} weights make its steps cheap"


def few_columns(columns: int) -> str:
    """The matrix of a working set is cheap."""
    return f"the matrix of {columns} columns is cheap"


def columns_in_work(columns: int) -> str:
    """The other method is predicted to cost less than what was spent."""
    return f"{columns} columns in the working set"


def few_weights(weights: int) -> str:
    """All weights together make one small matrix."""
    return f"{weights} weights make its steps cheap"


def slow_sweeps(remaining: float, made: int) -> str:
    """Coordinate descent is predicted to need too many more sweeps."""
    count = "more than 1000" if remaining >= 1000 else f"about {remaining:.0f}"
    return f"coordinate descent needed {count} more sweeps after {made}"


def slow_ascent(remaining: float, made: int) -> str:
    """Block ascent on the dual is predicted to need too many more passes."""
    count = "more than 1000" if remaining >= 1000 else f"about {remaining:.0f}"
    return f"block ascent needed {count} more passes after {made}"


def slow_quasi_newton(remaining: float, made: int) -> str:
    """L-BFGS is predicted to need too many more steps."""
    count = "more than 1000" if remaining >= 1000 else f"about {remaining:.0f}"
    return f"L-BFGS needed {count} more steps after {made}"


def interior_point(weights: int) -> str:
    """The interior point takes the same few dozen steps whatever the data."""
    return f"{weights} weights, a few dozen steps at any tolerance"


def after_steps(made: int) -> str:
    """The methods of a sequence give way to one another."""
    return f"after {made} steps"


def folds_side_by_side(folds: int) -> str:
    """A pass over the rows is shared by the folds of a class."""
    return f"{folds} folds share one Newton step"


def classes_side_by_side(classes: int) -> str:
    """A sweep over the rows of a fold is shared by several classes."""
    return f"several of {classes} classes share one sweep"


def stalled(method: str) -> str:
    """A method cannot improve its point any more."""
    return f"{method} could not improve further"
