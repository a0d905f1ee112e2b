"""Dual variables at their bounds exactly, where the tolerance allows it.

At the optimum of the hinge, α_i = 0 where the margin is above one, and α_i = c_i where it is below.
Methods stop before that: descent leaves small values, interior points leave no zeros at all.
Which examples are support vectors should not depend on the method, so α is put where the margins of
the certified weights say, the rest is moved to keep Σ α_i y_i = 0, and the dual value is computed
anew. It is kept only if the certificate still holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.data.block_work import ALONE, CHUNK, Threads
from widemargin.instruction_sets import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point

Vector = NDArray[np.float64]

_WIDEST = 0.3
"""Margins further than this from one are decided, whatever the tolerance."""

_TINY = 1e-6
"""A dual variable this close to a bound, relative to the cost, lies on it."""

_STEPS = 30
"""Newton steps that find the shift of the free dual variables; three are common."""

_ROUNDING = 1e-15
"""What Σ α_i y_i = 0 may miss, relative to the costs: half of what adding them up does."""


def settled(
    problem: BinaryProblem, point: Point, certificate: Certificate, limit: float
) -> tuple[Vector, Certificate]:
    """Return α with as many entries at their bounds as a relative gap of `limit` allows.

    Parameters
    ----------
    problem : BinaryProblem
        With the dual linear in a box: the hinge.
    point : Point
        The answer, feasible.
    certificate : Certificate
        Its certificate.
    limit : float
        The relative gap that must not be exceeded.
    """
    found, between = (point.alpha, certificate), _between(problem, point.alpha)
    if _as_few_as_weights(problem, between):
        if between == _between(problem, point.alpha, _TINY):
            return found
        return _without_traces(problem, point.alpha, certificate, limit) or found
    margins = problem.rows.scores(point.w)
    _threads(problem).multiply(margins, problem.y, margins, point.b)
    # Within a gap of tol, margins are off by the order of its square root.
    band = min(float(np.sqrt(limit)), _WIDEST)
    for width in (band, 0.1 * band):
        new = _tried(problem, margins, point.alpha, width, certificate)
        if new is None or not new[1].relative_gap <= limit:
            break
        found = new
        if _as_few_as_weights(problem, _between(problem, new[0])):
            break
    if found[0] is point.alpha:
        new = _tried(problem, margins, point.alpha, min(10.0 * band, _WIDEST), certificate)
        if new is not None and new[1].relative_gap <= limit:
            found = new
    return found


def _without_traces(
    problem: BinaryProblem, alpha: Vector, certificate: Certificate, limit: float
) -> tuple[Vector, Certificate] | None:
    """Return α without what making Σ αy = 0 hold has left on examples at their bounds.

    None if the certificate needs these traces.
    """
    new = _tried(problem, np.ones_like(alpha), alpha, _WIDEST, certificate)
    return new if new is not None and new[1].relative_gap <= limit else None


def _tried(
    problem: BinaryProblem, margins: Vector, alpha: Vector, width: float, certificate: Certificate
) -> tuple[Vector, Certificate] | None:
    """Return α with all margins outside of a band decided, and its certificate."""
    placed = _at_bounds(problem, margins, alpha, width)
    if placed is None:
        return None
    return placed, problem.with_duals(certificate, placed)


def _between(problem: BinaryProblem, alpha: Vector, near: float = 0.0) -> int:
    """Return how many entries lie between the bounds, those next to one of them left out."""
    return int(_threads(problem).count_between(alpha, problem.cost, near))


def _as_few_as_weights(problem: BinaryProblem, between: int) -> bool:
    """Whether no more entries lie between the bounds than a vertex of the optimal set has."""
    return between <= problem.rows.weights + problem.free_intercept


def _threads(problem: BinaryProblem) -> Threads:
    return problem.rows.threads or ALONE


def _at_bounds(
    problem: BinaryProblem, margins: Vector, alpha: Vector, width: float
) -> Vector | None:
    """Return α with margins further than `width` from one decided, or None if Σ αy = 0 fails."""
    placed, pool = np.empty_like(alpha), _threads(problem).pool
    total, free = core.place_at_bounds(
        pool, problem.y, problem.cost, margins, alpha, placed, (width, _TINY), CHUNK
    )
    if not problem.free_intercept:
        return placed
    moved = _shifted(placed[free], problem.y[free], problem.cost[free], -total)
    if moved is None:
        return None
    placed[free] = moved
    return placed


def _shifted(alpha: Vector, y: Vector, most: Vector, target: float) -> Vector | None:
    """Return clip(α − θ y) for the θ that makes Σ y_i α_i the target, or None if none is found."""
    theta, size = 0.0, float(most.sum()) + abs(target)
    for _ in range(_STEPS):
        found = np.minimum(np.maximum(alpha - theta * y, 0.0), most)
        excess = float(y @ found) - target
        inside = np.count_nonzero((found > 0.0) & (found < most))
        if abs(excess) <= _ROUNDING * size:
            return found
        if inside == 0:
            return None
        theta += excess / inside
    return None
