"""An exact line search along a Newton direction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.certificate import Point
from widemargin.problems.linear import LinearProblem
from widemargin.problems.losses import Line

Vector = NDArray[np.float64]

_LEAST_SHARE = 0.01
"""Smallest distance from either end, as a share of the interval."""

_HALF = 0.5
"""Share of the objective at zero that the first step from there leaves, or less."""


def line_search(
    derivatives: Callable[[float], tuple[float, float]],
    penalty: tuple[float, float],
    at_zero: float,
) -> float:
    """Return a step at which the slope is at most a tenth of what it was, trying 1 first.

    Parameters
    ----------
    derivatives : callable
        Gives first and second derivative of the loss along the direction p at a step.
    penalty : tuple of two floats
        w·p and ‖p‖², which the derivatives of ½‖w‖² are made of.
    at_zero : float
        The slope of the objective at step zero, negative.
    """
    low, high, t = 0.0, np.inf, 1.0
    below, above, width = at_zero, np.inf, np.inf
    for _ in range(40):
        first, second = derivatives(t)
        first, second = first + penalty[0] + t * penalty[1], second + penalty[1]
        if abs(first) <= 0.1 * abs(at_zero):
            return t
        if first > 0.0:
            high, above = t, first
        else:
            low, below = t, first
        t = t - first / second if second > 0.0 else np.inf
        if low < t < high:
            continue
        if np.isfinite(high):
            # By halves where the secant before has not halved the interval.
            secant = high - low <= 0.5 * width
            t, width = low + (_share(below, above) if secant else 0.5) * (high - low), high - low
        else:
            t = 2.0 * low
    return t


def best_multiple(problem: LinearProblem, w: Vector, b: float, scores: Vector) -> float:
    """Return the multiple of warm weights with the least primal value; zero if none descends.

    The weights that sweeps leave early point in a good direction, but are often so long that zero
    has a smaller primal value. A line search from zero reads the scores, not the data.
    """
    line = Line(problem.y, problem.cost, np.zeros_like(scores), 0.0, scores, b)
    at_zero = problem.loss.derivatives_along(line, 0.0)[0]
    if not at_zero < 0.0:
        return 0.0
    derivatives = partial(problem.loss.derivatives_along, line)
    return line_search(derivatives, (0.0, float(w @ w)), at_zero)


def worthwhile_multiple(problem: LinearProblem, warm: Point, b: float, scores: Vector) -> float:
    """Return the multiple of warm weights to take steps from: the best one, or zero.

    At zero all examples have the same curvature per cost: the first step solves a least squares
    problem, and more than halves the objective wherever the data say much. Weights at which it is
    above that half, and at which their dual variables do not prove that half of it has to stay, are
    no better: their scores spread the curvatures, and the steps from there take longer.

    The combination of the dual variables is taken to be the weights, as sweeps leave them.
    """
    length = best_multiple(problem, warm.w, b, scores)
    there = problem.primal(length * warm.w, length * b, length * scores)
    nowhere = problem.primal(np.zeros_like(warm.w), 0.0, np.zeros_like(scores))
    proved = problem.dual(problem.loss.clip(warm.alpha, problem.cost), warm.w)
    return length if there <= _HALF * nowhere or proved >= _HALF * there else 0.0


def _share(below: float, above: float) -> float:
    """Return where in an interval a straight line between the slopes at its ends is zero.

    Slopes that rise by far on a short way are found much sooner than by halving.
    """
    share = below / (below - above)
    return min(max(share, _LEAST_SHARE), 1.0 - _LEAST_SHARE) if 0.0 < share < 1.0 else 0.5
