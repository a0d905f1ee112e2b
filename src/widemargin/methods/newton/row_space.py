"""Second-order methods where examples are fewer than weights.

The solution is a combination of the rows, so the problem depends on X only through K = X Xᵀ. Any
matrix L with L Lᵀ = K in place of X gives the same dual: with the n x n Cholesky factor the methods
for few weights apply, and the cost of a step does not depend on d.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data import work
from widemargin.data.rows import Rows, no_checkpoint
from widemargin.linalg.cholesky import Factor, cholesky
from widemargin.methods.base import Settings
from widemargin.methods.newton._on_factor import OnFactor, OnFactorState
from widemargin.problems.certificate import Point
from widemargin.problems.problem import OnRows

Matrix = NDArray[np.float64]


@dataclass(eq=False)
class RowSpaceState(OnFactorState):
    """The state of the inner method, on the factor of K."""

    factor: Factor

    @property
    def point(self) -> Point:
        """The inner point, its weights as the combination of the rows with the same scores."""
        point = self.inner.point
        # Reading off the point must not be interrupted: `run` does it after a stop.
        rows = replace(self.problem.rows, checkpoint=no_checkpoint)
        w = np.array([self._combined(rows, inner) for inner in np.atleast_2d(point.w)])
        return Point(w.reshape(*point.w.shape[:-1], -1), point.b, point.alpha)

    def _combined(self, rows: Rows, inner: Matrix) -> Matrix:
        w = rows.combine(self.factor.solve_half(inner))
        # The factor is that of K with jitter, and K itself was rounded: one step of iterative
        # refinement makes the scores those of the inner point. At a large cost that is digits.
        missing = self.factor.stored.T @ inner - rows.scores(w)
        w += rows.combine(self.factor.solve(missing))
        return w

    @property
    def passes(self) -> float:
        """Half a pass per row for K, then the inner method's work on the smaller factor."""
        n = self.problem.rows.count
        smaller = n * n / max(1, self.problem.rows.view.nonzeros)
        return 0.5 * n + smaller * float(self.inner.passes)


class RowSpace(OnFactor):
    """Run a method for few weights on the factor of K = X Xᵀ, for one class or for all at once."""

    serves: ClassVar[type[OnRows]] = OnRows

    def refuses(self, problem: OnRows) -> str | None:
        """Never: the caller has asked the inner method about the reduced problem."""
        return None

    def start(self, problem: OnRows, warm: Point | None, settings: Settings) -> RowSpaceState:
        """Factorise K and start the inner method on the factor."""
        factor = _factor_of(problem.rows)
        lower = factor.stored.T
        rows = replace(Rows.of(lower), checkpoint=problem.rows.checkpoint, meter=problem.rows.meter)
        inner_warm = None
        if warm is not None:
            scores = np.array([problem.rows.scores(w) for w in np.atleast_2d(warm.w)]).T
            w = factor.solve_half(scores, transposed=True).T
            inner_warm = Point(w.reshape(*warm.w.shape[:-1], -1), warm.b, warm.alpha)
        inner = self._method.start(problem.over(rows), inner_warm, settings)
        return RowSpaceState(problem, inner, factor)


def _factor_of(rows: Rows) -> Factor:
    """Return the factor of K, kept for the problems of other classes and costs on these rows.

    It is metered as if it was computed: what a run counts must not depend on what ran before it.
    """
    before = rows.meter.nanoseconds
    factor: Factor = rows.kept("factor of the products", lambda: _computed_factor(rows))
    if rows.meter.nanoseconds == before:
        rows.meter.add(rows.size.row_gram())
    rows.meter.add(work.factor(rows.count))
    return factor


def _computed_factor(rows: Rows) -> Factor:
    # Rows that depend on each other leave K singular; so little on the diagonal changes
    # nothing that the certificate, computed from X, would not show.
    factor = cholesky(rows.row_gram(), singular=True)
    if factor is None:
        raise ValueError("the products of the rows overflow; scale the features")
    return Factor(factor.root().T)
