"""L-BFGS on the primal (Liu and Nocedal, 1989), for losses with a continuous derivative.

At the weights w the dual variables α_i = −c_i ℓ′ are feasible, and the gap there is ½‖∇P(w)‖²: the
gradient that the method needs anyway is its certificate. A step takes two products with the data,
as one of the conjugate gradients of a Newton step does, but each of them moves the weights. Where
few products do, that is less than any matrix costs.

A free intercept is eliminated: it is the best one for the weights at every step, so that the dual
variables keep its constraint, and gradients are those of min over b of P(w, b).

After a first step along the gradient, columns are scaled by their variance under the curvatures,
where examples are no fewer than weights. Where they are fewer, the curvature beyond the penalty's
is that of X Xᵀ: sparse or many columns make rows next to orthogonal, and a scaling of columns would
only spoil that.

Steps that turn out to be many pay for a factor of the Hessian, which takes the place of the scales:
see `widemargin.methods.newton._metric`. So fits cost no more than a small multiple of what they do
with the cheaper of both.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from widemargin.methods.base import Settings
from widemargin.methods.newton._line_search import best_multiple
from widemargin.methods.newton._secant_steps import QuasiNewtonState, begin, step
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point


class QuasiNewton:
    """Quasi-Newton steps on the primal objective, with an exact line search."""

    name = "quasi_newton"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve the losses that have second derivatives."""
        if not problem.loss.smooth:
            return (
                "solver 'quasi_newton' needs a loss with second derivatives, which "
                f"'{problem.loss.name}' has not; the nearest solver that supports it is 'dual_cd'"
            )
        return None

    def start(
        self, problem: BinaryProblem, warm: Point | None, settings: Settings
    ) -> QuasiNewtonState:
        """Start at w = 0, or at the best multiple of the warm weights."""
        w, b = np.zeros(problem.rows.weights), 0.0
        scores = np.zeros(problem.rows.count)
        if warm is not None and warm.w.any():
            scores = problem.rows.scores(warm.w)
            b = warm.b if problem.free_intercept else 0.0
            length = best_multiple(problem, warm.w, b, scores)
            w, b, scores = length * warm.w, length * b, length * scores
        return begin(problem, w, b, scores, settings)

    def advance(self, state: QuasiNewtonState) -> None:
        """Search along the quasi-Newton direction."""
        step(state)
        if state.problem.has_sides and state.problem.loss.curvature_level is not None:
            # What examples are worth depends on their side: a policy may want to know.
            margins = state.problem.y * (state.scores + state.b)
            state.misplaced = float(np.count_nonzero(margins < 0.0)) / max(1, margins.size)
