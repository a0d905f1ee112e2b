"""Where a run starts at the next C: along the last two solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.stacked import StackedProblem, lane_squares

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


@dataclass(frozen=True, eq=False)
class Known:
    """Signed dual variables of stacked problems at one C, and the weights that they combine to."""

    C: float
    alpha: Vector
    combination: Vector


def stacked_start(problem: StackedProblem, last: Known, before: Known | None) -> Known:
    """Return where to start stacked problems: ahead on the line, or at a multiple of the last.

    The line is that of `dual_start`; its weights come from the known ones, and only examples that
    it leads out of their range are read. Lane by lane the point with the larger dual value is
    taken: where a path is known roughly, or bends, the line overshoots.
    """
    scaled = problem.C / last.C * last.alpha
    if before is None or before.C in (last.C, problem.C) or last.C == problem.C:
        return Known(problem.C, scaled, problem.C / last.C * last.combination)
    ratio = (problem.C - last.C) / (last.C - before.C)
    ahead = _beyond(last.alpha, before.alpha, ratio)
    combination = _beyond(last.combination, before.combination, ratio)
    # 1) back into the ranges; never onto the logistic's boundary, where steps are hard to begin
    inside = ahead.copy()
    if problem.loss.name == "logistic":
        low, high = 0.25 * scaled, 0.25 * scaled + 0.75 * problem.C * problem.signed_cost
        np.clip(inside, np.minimum(low, high), np.maximum(low, high), out=inside)
    else:
        problem.bring_into_range(inside)
    np.subtract(inside, ahead, out=ahead)
    moved = np.flatnonzero(ahead.any(axis=1))
    if 3 * moved.size > problem.rows.count:
        combination = problem.combine(inside)
    elif moved.size:
        taken = problem.rows.take(moved)
        taken.view.stacked_accumulate(
            np.ascontiguousarray(ahead[moved]), combination, 0, moved.size, problem.threads
        )
    # 2) lane by lane the better one
    if problem.loss.name == "squared_hinge":
        sums = problem.dual_sums(last.alpha)
        linear = sums[0] + sums[1]
        curved = lane_squares(last.combination) + 2.0 * sums[3]
        t = np.divide(linear, curved, out=np.ones_like(linear), where=curved > 0.0)
        worse = problem.dual_values(inside, combination) < 0.5 * t * linear
        if worse.any():
            inside[:, worse] = t[worse] * last.alpha[:, worse]
            combination[:, worse] = t[worse] * last.combination[:, worse]
    return Known(problem.C, inside, combination)


def _beyond(last: Vector, before: Vector, ratio: float) -> Vector:
    """Return last + ratio (last − before)."""
    moved = last - before
    moved *= ratio
    moved += last
    return moved


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
