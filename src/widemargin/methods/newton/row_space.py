"""Second-order methods where examples are fewer than weights.

The solution is a combination of the rows, so the problem depends on X only through K = X Xᵀ. Any
matrix L with L Lᵀ = K in place of X gives the same dual: with the n x n Cholesky factor the methods
for few weights apply, and the cost of a step does not depend on d.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from widemargin.data import work
from widemargin.data.rows import Rows, no_checkpoint
from widemargin.linalg.cholesky import Factor, cholesky
from widemargin.methods.base import Settings
from widemargin.methods.newton._on_factor import OnFactor, OnFactorState
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point


@dataclass(eq=False)
class RowSpaceState(OnFactorState):
    """The state of the inner method, on the factor of K."""

    factor: Factor

    @property
    def point(self) -> Point:
        """The inner point, its weights as the combination of the rows with the same scores."""
        point = self.inner.point
        coefficients = self.factor.solve_half(point.w)
        # Reading off the point must not be interrupted: `run` does it after a stop.
        rows = replace(self.problem.rows, checkpoint=no_checkpoint)
        w = rows.combine(coefficients)
        # The factor is that of K with jitter, and K itself was rounded: one step of iterative
        # refinement makes the scores those of the inner point. At a large cost that is digits.
        missing = self.factor.upper.T @ point.w - rows.scores(w)
        w += rows.combine(self.factor.solve(missing))
        return Point(w, point.b, point.alpha)

    @property
    def passes(self) -> float:
        """Half a pass per row for K, then the inner method's work on the smaller factor."""
        n = self.problem.rows.count
        smaller = n * n / max(1, self.problem.rows.view.nonzeros)
        return 0.5 * n + smaller * float(self.inner.passes)


class RowSpace(OnFactor):
    """Run a method for few weights on the factor of K = X Xᵀ."""

    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Never: the caller has asked the inner method about the reduced problem."""
        return None

    def start(
        self, problem: BinaryProblem, warm: Point | None, settings: Settings
    ) -> RowSpaceState:
        """Factorise K and start the inner method on the factor."""
        # Rows that depend on each other leave K singular; so little on the diagonal changes
        # nothing that the certificate, computed from X, would not show.
        factor = cholesky(problem.rows.row_gram(), singular=True)
        if factor is None:
            raise ValueError("the products of the rows overflow; scale the features")
        lower = np.tril(factor.upper.T)
        factor = Factor(lower.T)
        problem.meter.add(work.factor(len(lower)))
        rows = replace(Rows.of(lower), checkpoint=problem.rows.checkpoint, meter=problem.rows.meter)
        inner_warm = None
        if warm is not None:
            scores = problem.rows.scores(warm.w)
            inner_warm = Point(factor.solve_half(scores, transposed=True), warm.b, warm.alpha)
        inner = self._method.start(replace(problem, rows=rows), inner_warm, settings)
        return RowSpaceState(problem, inner, factor)
