"""Weights of float32 examples as float32, with the certificate of what is handed out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet, join_intercept, split_intercept
from widemargin.problems.linear import LinearProblem
from widemargin.run import Solution, Status


def rounded(problem: Any, solution: Solution, data: TrainingSet) -> Solution | None:
    """Return the solution with weights that float32 can hold, and their own primal value.

    None if that would lose the tolerance, or double the objective: the weights then stay float64.

    Parameters
    ----------
    problem : BinaryProblem or MulticlassProblem
    solution : Solution
    data : TrainingSet
    """
    coef, intercept = split_intercept(
        solution.w, np.asarray(solution.b), data.scaling, data.rows.shift
    )
    coef, intercept = _single(coef), _single(intercept)
    w, b = join_intercept(
        np.atleast_2d(coef), np.atleast_1d(intercept), data.scaling, data.rows.shift
    )
    w = np.reshape(w, np.shape(solution.w))
    shift: Any = b if np.ndim(solution.b) else float(b[0])
    if isinstance(problem, LinearProblem):
        bound = problem.primal_below(w, shift, enough(solution))
        return judged(solution, w, shift, bound.upper, bound.allowance)
    return judged(solution, w, shift, problem.primal_at(w, shift))


def enough(solution: Solution) -> float:
    """Return the largest primal value of rounded weights that `judged` takes."""
    certificate = solution.certificate
    if solution.status is not Status.CONVERGED:
        return 2.0 * certificate.primal
    return certificate.dual / (1.0 - solution.tol) if solution.tol < 1.0 else np.inf


def judged(
    solution: Solution, w: Any, b: Any, primal: float, allowance: float = 0.0
) -> Solution | None:
    """Return the solution with rounded weights and their primal value; None if that loses too much.

    Where columns lie far from zero, an intercept in float32 can be worthless. The residual that a
    free intercept leaves in the dual variables is priced by √P, with room for twice the P.
    `allowance` is what the primal value has for the rounding of its own sums.
    """
    before = solution.certificate
    certificate = replace(before, primal=primal, rounding=before.rounding + allowance)
    # The proof of the rounded weights may be the tighter one; outside of bounds there is none.
    reached = certificate.relative_gap <= solution.tol
    near = primal < np.inf and primal <= 2.0 * before.primal
    if not (reached or (solution.status is not Status.CONVERGED and near)):
        return None
    status = Status.CONVERGED if reached else solution.status
    return replace(solution, w=w, b=b, certificate=certificate, status=status)


def _single(values: Any) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # infinite weights lose the tolerance
        return np.asarray(values, dtype=np.float32).astype(np.float64)
