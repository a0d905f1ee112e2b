"""The first approximation of a Hessian, which the secant pairs of L-BFGS correct."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data import work
from widemargin.linalg.cholesky import Factor
from widemargin.methods.newton._factors import penalised_factor, sample_pays, sampled_factor
from widemargin.problems.binary import BinaryProblem

Vector = NDArray[np.float64]

_FEW = 3.0
"""Steps that tell how good a metric is, and that the next one takes at the least."""

_LEAST_GAP = 1e-16
"""No gap can be told from zero below this."""


@dataclass(eq=False)
class Metric:
    """The identity, the variances of the columns, or a factor of the Hessian at some point.

    The nearer that point is, the fewer steps a factor takes. A new one is worth its price once the
    steps since the last have cost a share of it and would, at the rate at which the gap has fallen
    since then, cost all of it. Whatever the rate does after that, no more than the price is lost.
    """

    scale: Vector | None = None
    factor: Factor | None = None
    began: float = 0.0
    """The work before its first step."""
    gaps: list[float] = field(default_factory=list)
    """The relative gaps before each of its steps."""

    @property
    def is_plain(self) -> bool:
        """Whether it is the identity."""
        return self.scale is None and self.factor is None

    def solve(self, right: Vector) -> Vector:
        """Return the approximate inverse times a vector, as a new array."""
        if self.factor is None:
            return right.copy() if self.scale is None else right * self.scale
        free = self.factor.side > right.size
        return self.factor.solve(np.append(right, 0.0) if free else right)[: right.size]

    def is_due(self, problem: BinaryProblem, gap: float, active: int, tol: float) -> bool:
        """Whether a factor at the present point is worth its price; to be asked before each step.

        Parameters
        ----------
        gap : float
            The relative gap at the point.
        active : int
            Examples that have curvature there.
        tol : float
            The relative gap that is wanted.
        """
        size, tol = problem.rows.size, max(tol, _LEAST_GAP)
        if math.isfinite(gap):
            self.gaps.append(gap)
        if size.weights > MACHINE.largest_factorised or not tol < gap < math.inf:
            return False
        rows = min(active, MACHINE.factor_rows * size.weights) if sample_pays(problem) else active
        price = size.gram(float(rows)) + work.factor(size.weights)
        spent = problem.meter.nanoseconds - self.began
        few = _FEW * size.quasi_newton_step()
        if spent < max(MACHINE.tried_instead * price, few):
            return False
        return spent * self._steps_to_go(tol) >= price + few

    def _steps_to_go(self, tol: float) -> float:
        """Extrapolate the steps that are left, in multiples of those made.

        The first steps with a factor are the fastest, because it is that of the point where they
        start: if those of the later half are slower, their rate counts.
        """
        gaps, made = self.gaps, max(1, len(self.gaps) - 1)
        back = [made] if self.factor is None else [made, (made + 1) // 2]
        known = [steps for steps in back if steps < len(gaps)]
        falls = [math.log(gaps[-1 - steps] / gaps[-1]) / steps for steps in known]
        slowest = min(falls, default=0.0)
        return math.log(gaps[-1] / tol) / (slowest * made) if slowest > 0.0 else math.inf

    def renewed(self, problem: BinaryProblem, curvature: Vector) -> Metric:
        """Return the metric of a new factor, or of the last one where that fails."""
        if sample_pays(problem):
            factor = sampled_factor(problem, curvature)
        else:
            matrix = problem.rows.gram(curvature, problem.free_intercept)
            factor = penalised_factor(problem, matrix)
        return Metric(self.scale, factor or self.factor, problem.meter.nanoseconds, self.gaps[-1:])
