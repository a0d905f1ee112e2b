"""Where a run starts at the next C: along the last two solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]


def dual_start(
    problem: BinaryProblem,
    C: float,
    last: tuple[float, Vector],
    before: tuple[float, Vector] | None,
) -> Vector:
    """Return dual variables to start from at C, in their ranges.

    Parameters
    ----------
    problem : BinaryProblem
        At C.
    C : float
    last : tuple of float and ndarray
        The C before, and the dual variables there.
    before : tuple of float and ndarray, optional
        The same for the C before that.

    Notes
    -----
    WARM (§3) takes α times the growth of C, which is exact while no margin has reached one. With
    two solutions known, those of the smooth losses move on linearly in C: exact for the squared
    hinge as long as no margin crosses one, and finite where C no longer matters. On text it saves
    a quarter of the sweeps. The hinge's jump too often from one bound to the other.
    """
    scaled = C / last[0] * last[1]
    if before is None or before[0] == last[0] or not problem.loss.smooth:
        return scaled
    ahead = last[1] + (C - last[0]) / (last[0] - before[0]) * (last[1] - before[1])
    if problem.loss.name == "logistic":
        # Never onto the boundary, where steps are hard to begin.
        return np.clip(ahead, 0.25 * scaled, 0.75 * problem.cost + 0.25 * scaled)
    return problem.loss.clip(ahead, problem.cost)


class Ahead:
    """Moves weights on along the last two solutions; costs one product with the data a C."""

    PASSES = 0.5

    def __init__(self) -> None:
        self._last: tuple[Vector, float, Vector] | None = None

    def of(self, problem: Any, point: Point) -> Point:
        """Return the point moved to where the objective is least on the line."""
        scores = problem.rows.scores(point.w)
        # Before the first solution there is w = 0, the one at C = 0.
        dw, db, slopes = point.w, point.b, scores
        if self._last is not None:
            dw, db, slopes = dw - self._last[0], db - self._last[1], slopes - self._last[2]
        self._last = (point.w, point.b, scores)
        wd, dd = float(point.w @ dw), float(dw @ dw)
        loss, y, cost = problem.loss, problem.y, problem.cost
        t = 0.0
        for _ in range(4):
            first, second = core.derivatives_along(
                loss.name, y, cost, scores, point.b, slopes, db, t
            )
            curvature = second + dd
            if not curvature > 0.0:
                break
            t = min(max(t - (first + wd + t * dd) / curvature, 0.0), 3.0)
        w, b = point.w + t * dw, point.b + t * db
        value = 0.5 * float(w @ w) + loss.total(y, cost, scores + t * slopes, b)
        if value >= problem.primal(point.w, point.b, scores):
            return point
        return Point(w, b, point.alpha)
