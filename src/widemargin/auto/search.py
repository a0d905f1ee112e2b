"""Decisions of a search over C: side by side or one by one, and how exactly folds are solved."""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.auto import cause
from widemargin.auto.decision import Decision
from widemargin.auto.machine import MACHINE
from widemargin.data.work import Size

SOLVED_TO = 0.1
"""Folds are solved to this times the tolerance of the search."""

_SMALL_TOL = 1e-7
"""Folds of small problems are solved to at most this: where digits cost nothing, they keep the
choice from depending on where a run ended."""

_COARSE = 10.0
"""Times the tolerance of the search: enough where C is beyond the best one and scores far below."""

_FAR_BELOW, _EXAMPLES_BELOW = 0.002, 5
"""Accuracy below the best one by which a C is out of the question, and so many examples more."""


@dataclass(frozen=True)
class SearchShape:
    """A search as the decisions see it.

    Attributes
    ----------
    size : Size
        Counts of all rows.
    folds : int
    lines : int
        Weight vectors per fold: one for two classes, else one per class.
    lanes : bool
        Whether the methods for problems side by side support the loss.
    free_intercept : bool
    joint : bool
        Whether the classes are trained at once.
    counted : bool
        Whether the score counts errors.
    certified : bool
        Whether the choice is to be proven, which needs the solutions of single runs.
    shared : bool
        Whether the folds share their rows; a transformer within each fold gives it its own.
    elsewhere : bool
        Whether the rows are not in memory.
    whole : bool
        Whether every fold trains all weight vectors; a fold may lack a class.
    """

    size: Size
    folds: int
    lines: int
    lanes: bool
    free_intercept: bool
    joint: bool = False
    counted: bool = True
    certified: bool = False
    shared: bool = True
    elsewhere: bool = False
    whole: bool = True


@dataclass(frozen=True)
class Accuracy:
    """How exactly folds are solved.

    Attributes
    ----------
    tol : float
        Relative gap.
    coarse_tol : float, optional
        The gap that is enough beyond the best C, within `MACHINE.coarse_steps` steps; None where
        every C is solved to `tol`.
    slack : float
        A C is out of the question whose score is below the best one by more than this.
    """

    tol: float
    coarse_tol: float | None = None
    slack: float = 0.0


def engine(shape: SearchShape, solver: str) -> Decision:
    """Decide how the problems of all folds and classes are solved at one C."""
    if shape.lanes and shape.whole and not shape.joint and not shape.elsewhere:
        few = shape.size.weights <= MACHINE.largest_averaged
        together = solver == "newton" or (solver == "auto" and few)
        if together and shape.shared:
            return Decision("fold_lanes", cause.folds_side_by_side(shape.folds))
        if solver in ("auto", "dual_cd") and _lanes_of_classes(shape):
            return Decision("class_lanes", cause.classes_side_by_side(shape.lines))
    return Decision("separate", cause.ONE_BY_ONE)


def _lanes_of_classes(shape: SearchShape) -> bool:
    """Whether the classes of a fold may be swept side by side."""
    weights = shape.size.weights * shape.folds * shape.lines
    several = shape.lines >= MACHINE.lane_classes and weights <= MACHINE.most_matrices
    return several and not shape.free_intercept and not shape.certified


def small(shape: SearchShape) -> bool:
    """Whether digits cost nothing: folds are solved closely, and the final fit begins anew.

    It is then the fit of the estimator at that C, bit by bit.
    """
    together = max(2, shape.lines) if shape.joint else 1
    return shape.size.values * together <= MACHINE.small_problem


def accuracy(shape: SearchShape, tol: float, needed: float | None = None) -> Accuracy:
    """Decide how exactly folds are solved in a search with this tolerance.

    Or to a gap that is ``needed`` at every C.
    """
    if needed is not None:
        return Accuracy(min(SOLVED_TO * tol, needed))
    if small(shape):
        return Accuracy(min(SOLVED_TO * tol, _SMALL_TOL))
    if not shape.counted or shape.certified:
        return Accuracy(SOLVED_TO * tol)
    slack = _FAR_BELOW + _EXAMPLES_BELOW / shape.size.rows
    return Accuracy(SOLVED_TO * tol, min(_COARSE * tol, 0.5), slack)


def reads_weights(method: str) -> bool:
    """Whether a method starts from weights: sweeps start from dual variables alone."""
    return method != "dual_cd"
