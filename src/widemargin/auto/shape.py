"""What a decision may know about a problem: counts, costs, a tolerance, a look at a few rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from widemargin.auto.experience import Known
from widemargin.data.cached import cached_property
from widemargin.data.quick_init import quick_init
from widemargin.data.work import Size
from widemargin.linalg.spectrum import Spectrum
from widemargin.problems.binary import BinaryProblem


@quick_init
@dataclass(frozen=True)
class BinaryShape:
    """A binary problem as the policy sees it.

    Attributes
    ----------
    size : Size
        Counts of rows, weights and stored values.
    smooth : bool
        Whether the loss has second derivatives.
    visit_cost : float
        What a step of coordinate descent takes beside its row.
    stiffness : float
        What an example alone does to its own margin on average: c ‖x‖², times the loss's factor.
    tol : float
    compiled : bool
        Whether coordinate descent supports the loss.
    pieces : bool
        Whether the loss is quadratic on pieces: Newton's method has to sort the examples to them.
    elsewhere : bool
        Whether the rows are not in memory: only products with all of them are cheap.
    spectrum : Spectrum or None
        The eigenvalues that the rows add, where it was worth a look at a few of them.
    known : tuple of Known
        What methods took on other classes of the same fit.
    others : int
        Classes that follow this one and will know what it shows.
    """

    size: Size
    smooth: bool
    visit_cost: float
    stiffness: float
    tol: float
    compiled: bool = True
    pieces: bool = False
    elsewhere: bool = False
    spectrum: Spectrum | None = None
    known: tuple[Known, ...] = ()
    others: int = 0

    def known_of(self, method: str, in_row_space: bool = False) -> Known | None:
        """Return what a method took on other classes, if it ran."""
        for each in self.known:
            if each.method == method and each.in_row_space == in_row_space:
                return each
        return None

    def __hash__(self) -> int:
        """Prices are kept by shape and asked for often: these tell most shapes apart."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.stiffness, self.tol, self.size.rows, self.size.values))

    @classmethod
    def of(cls, problem: BinaryProblem, tol: float) -> BinaryShape:
        """Read the counts off a problem."""
        rows, loss = problem.rows, problem.loss
        mean_cost = float(np.add.reduce(problem.cost)) / max(1, rows.count)
        return cls(
            rows.size,
            loss.smooth,
            loss.visit_cost,
            loss.stiffness * mean_cost * rows.mean_squared_norm,
            tol,
            loss.compiled,
            loss.smooth and loss.curvature_level is not None,
            rows.elsewhere,
        )


@lru_cache(maxsize=256)
def same_shape(shape: BinaryShape) -> BinaryShape:
    """Return the first shape that was equal to this one: what is kept for it is found by identity.

    Comparing all fields takes longer than most that is kept.
    """
    return shape


@dataclass(frozen=True)
class JointShape:
    """A problem in the weights of all classes as a policy sees it.

    Attributes
    ----------
    size : Size
        Counts of rows, weights of one class and stored values.
    classes, stride : int
        Classes, and the same rounded up to whole vectors.
    steps_served : bool
        Whether Newton steps support the problem.
    tol : float
    stiffness : float
        What an example alone does to its own scores on average: c ‖x‖², times the loss's factor.
    elsewhere : bool
        Whether the rows are not in memory: only products with all of them are cheap.
    """

    size: Size
    classes: int
    stride: int
    steps_served: bool
    tol: float
    stiffness: float = 1.0
    elsewhere: bool = False

    @classmethod
    def read(cls, problem: Any, tol: float, steps_served: bool, factor: float) -> Any:
        """Read the counts off a problem whose loss has this factor."""
        rows = problem.rows
        mean_cost = float(problem.cost.mean()) if rows.count else 0.0
        return cls(
            rows.size,
            problem.classes,
            problem.stride,
            steps_served,
            tol,
            factor * mean_cost * rows.mean_squared_norm,
            rows.elsewhere,
        )
