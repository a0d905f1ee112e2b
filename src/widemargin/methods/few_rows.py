"""Second-order methods where examples are fewer than weights.

The solution is a combination of the rows, so the problem depends on X only through K = X Xᵀ. Any
matrix L with L Lᵀ = K in place of X gives the same dual: with the n x n Cholesky factor the methods
for few weights serve, and a step costs nothing in d.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from widemargin.data.rows import Rows, no_checkpoint
from widemargin.methods.base import Method, Settings
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point


@dataclass(eq=False)
class FewRowsState:
    """The state of the inner method, on the factor of K."""

    problem: BinaryProblem
    factor: NDArray[np.float64]
    inner: Any

    @property
    def point(self) -> Point:
        """The inner point, its weights as the combination of the rows with the same scores."""
        point = self.inner.point
        coefficients = dtrtrs(self.factor.T, point.w, lower=0)[0]
        # Reading off the point must not be interrupted: `run` does it after a stop.
        rows = replace(self.problem.rows, checkpoint=no_checkpoint)
        return Point(rows.combine(coefficients), point.b, point.alpha)

    @property
    def expected_gap(self) -> float:
        """As the inner method expects it."""
        return float(self.inner.expected_gap)

    @property
    def active(self) -> int:
        """As in the inner method."""
        return int(self.inner.active)

    @property
    def passes(self) -> float:
        """One product a row with every other one makes K."""
        return 0.5 * self.problem.rows.count

    @property
    def finished(self) -> bool:
        """As in the inner method."""
        return bool(self.inner.finished)


class FewRows:
    """Run a method for few weights on the factor of K = X Xᵀ."""

    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def __init__(self, method: Method) -> None:
        self._method = method

    @property
    def name(self) -> str:
        """The inner method's name."""
        return self._method.name

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Never: whoever wraps a method has asked it about the reduced problem's size."""
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> FewRowsState:
        """Factorise K and start the inner method on the factor."""
        gram = problem.rows.row_gram()
        # Rows that depend on each other leave K singular; so little on the diagonal changes
        # nothing that the certificate, computed from X, would not show.
        shift = 1e-14 * float(np.trace(gram))
        info = 1
        while info != 0:
            lifted = gram.copy()
            np.einsum("ii->i", lifted)[:] += shift
            factor, info = dpotrf(lifted, lower=1, clean=1)
            shift = 100.0 * shift + 1e-300
        factor = np.ascontiguousarray(factor)
        rows = replace(Rows.of(factor), checkpoint=problem.rows.checkpoint)
        inner_warm = None
        if warm is not None:
            scores = problem.rows.scores(warm.w)
            inner_warm = Point(dtrtrs(factor.T, scores, lower=0, trans=1)[0], warm.b, warm.alpha)
        inner = self._method.start(replace(problem, rows=rows), inner_warm, settings)
        return FewRowsState(problem, factor, inner)

    def advance(self, state: FewRowsState) -> None:
        """Take one step of the inner method."""
        self._method.advance(state.inner)
