"""Where a run starts at the next C: along the last two solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.lanes import LanesProblem, lane_squares
from widemargin.problems.losses import Line
from widemargin.problems.multiclass import MulticlassProblem

Vector = NDArray[np.float64]


def dual_start(
    problem: BinaryProblem | MulticlassProblem,
    C: float,
    last: tuple[float, Any],
    before: tuple[float, Any] | None,
) -> Any:
    """Return dual variables to start from at C, in their ranges.

    Parameters
    ----------
    problem : BinaryProblem or MulticlassProblem
        At C.
    C : float
    last : tuple of float and ndarray or sparse array
        The C before, and the dual variables there.
    before : tuple, optional
        The same for the C before that.

    Notes
    -----
    WARM (§3) takes α times the growth of C, which is exact while no margin has reached one. With
    two solutions known, those of the smooth losses move on linearly in C: exact for the squared
    hinge as long as no margin crosses one, and finite where C no longer matters. On text it saves
    a quarter of the sweeps. The hinge's jump too often from one bound to the other.
    """
    scaled = C / last[0] * last[1]
    if before is None or before[0] == last[0]:
        return scaled
    if not isinstance(problem, BinaryProblem) or not problem.loss.smooth:
        return scaled
    ahead = last[1] + (C - last[0]) / (last[0] - before[0]) * (last[1] - before[1])
    if not problem.loss.sparse:
        # Never onto the boundary, where steps are hard to begin.
        return np.clip(ahead, 0.25 * scaled, 0.75 * problem.cost + 0.25 * scaled)
    return problem.loss.clip(ahead, problem.cost)


def sparse_start(length: float, last: Vector, before: Vector) -> Vector:
    """Return weights to start from, so many steps further: those not zero move on linearly.

    Those that would change their signs stay where they are.
    """
    ahead = last + length * (last - before)
    return np.where(ahead * last > 0.0, ahead, last)


@dataclass(frozen=True, eq=False)
class Known:
    """Signed dual variables of all lanes at one C, and the weights that they combine to."""

    C: float
    alpha: Vector
    combination: Vector


def lanes_start(problem: LanesProblem, last: Known, before: Known | None) -> Known:
    """Return where to start problems side by side: ahead on the line, or at a multiple of the last.

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
    # 1) back into the ranges; never onto a boundary where steps are hard to begin
    inside = ahead.copy()
    if not problem.loss.sparse:
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
        taken.view.lane_accumulate(
            np.ascontiguousarray(ahead[moved]), combination, 0, moved.size, problem.threads
        )
    # 2) lane by lane the better one
    if problem.loss.dual_quadratic is not None:
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
    """Moves a start on along the last solutions, whose scores it has to know.

    Newton's method leaves them, and those of a mixture are the mixed ones; after other methods they
    cost a pass. The scores of the start are left to the method that takes it.

    The weights move along the line through the last two solutions to the least objective. With
    three known, there is also the parabola through them over ln C, and a parabola for the dual
    variables beside the line of `dual_start`. The weights with the smaller P and the dual variables
    with the larger D are taken; both are known but for what was clipped, since dual variables
    combine to weights and their mixtures to the same mixtures.
    """

    def __init__(self) -> None:
        self.passes = 0.0
        self._past: list[_Past] = []

    def of(
        self, problem: BinaryProblem, last: tuple[float, Point], C: float, alpha: Vector
    ) -> Point:
        """Return where to start at C.

        Parameters
        ----------
        problem : BinaryProblem
            At C.
        last : tuple of float and Point
            The C before, and the solution there.
        C : float
        alpha : ndarray
            Dual variables to start from, if nothing better is found.
        """
        w, b = last[1].w, float(last[1].b)
        now = _Past(np.log(last[0]), w, b, self._scores(problem, w), last[1].alpha)
        self._past = [*self._past[-2:], now]
        found, scores, value = self._on_line(problem, alpha)
        problem.rows.remember(found.w, scores)
        if len(self._past) < 3:
            return found
        curved, scores, at = self._on_parabola(problem, float(np.log(C)))
        if at < value:
            problem.rows.remember(curved.w, scores)
        earlier, latest = np.exp([past.place for past in self._past[-2:]])
        ratio = (C - latest) / (latest - earlier)
        image = now.w + ratio * (now.w - self._past[-2].w)
        better = problem.dual(curved.alpha, curved.w) > problem.dual(alpha, image)
        chosen = curved if at < value else found
        return Point(chosen.w, chosen.b, curved.alpha if better else alpha)

    def _scores(self, problem: BinaryProblem, w: Vector) -> Vector:
        """Return the scores of a solution, and count the pass if they were not known."""
        known = problem.rows.known_scores(w)
        self.passes = 1.0 if known is None else 0.0
        return problem.rows.scores(w) if known is None else known

    def _on_line(self, problem: BinaryProblem, alpha: Vector) -> tuple[Point, Vector, float]:
        """Return the point of the least objective on the line, its scores and the objective."""
        now = self._past[-1]
        # Before the first solution there is w = 0, the one at C = 0.
        dw, db, slopes = now.w, now.b, now.scores
        if len(self._past) > 1:
            before = self._past[-2]
            dw, db, slopes = dw - before.w, db - before.b, slopes - before.scores
        wd, dd = float(now.w @ dw), float(dw @ dw)
        line = Line(problem.y, problem.cost, now.scores, now.b, slopes, db)
        t = 0.0
        for _ in range(4):
            first, second = problem.loss.derivatives_along(line, t)
            curvature = second + dd
            if not curvature > 0.0:
                break
            t = min(max(t - (first + wd + t * dd) / curvature, 0.0), 3.0)
        w, b, scores = now.w + t * dw, now.b + t * db, now.scores + t * slopes
        value = problem.primal(w, b, scores)
        rest = problem.primal(now.w, now.b, now.scores)
        if value >= rest:
            return Point(now.w, now.b, alpha), now.scores, rest
        return Point(w, b, alpha), scores, value

    def _on_parabola(self, problem: BinaryProblem, at: float) -> tuple[Point, Vector, float]:
        """Return the point on the parabola through the last three, its scores and objective."""
        places = [past.place for past in self._past]
        shares = []
        for k, place in enumerate(places):
            others = [other for j, other in enumerate(places) if j != k]
            shares.append(
                (at - others[0]) * (at - others[1]) / ((place - others[0]) * (place - others[1]))
            )
        parts = list(zip(shares, self._past, strict=True))
        w = np.asarray(sum(share * past.w for share, past in parts))
        b = sum(share * past.b for share, past in parts)
        scores = np.asarray(sum(share * past.scores for share, past in parts))
        alpha = np.asarray(sum(share * past.alpha for share, past in parts))
        point = Point(w, b, problem.loss.clip(alpha, problem.cost))
        return point, scores, problem.primal(w, b, scores)


@dataclass(frozen=True, eq=False)
class _Past:
    """A solution with its scores, and ln C."""

    place: float
    w: Vector
    b: float
    scores: Vector
    alpha: Vector
