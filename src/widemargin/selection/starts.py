"""Where the dual starts at the next C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.binary import BinaryProblem

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
