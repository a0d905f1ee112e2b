"""What methods of dual descent share: the penalty of a free intercept, and how a gap falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def penalty(cost: NDArray[np.float64], mean_norm: float) -> float:
    """Return ρ: of the size of a row, or larger where costs are so small that b would crawl."""
    mean = float(cost.mean()) if cost.size else 0.0
    return max(mean_norm, 1.0 / (mean * np.sqrt(cost.size)) if mean > 0.0 else 0.0)


def carried_forward(gap: float, last: float, share: float = 1.0) -> float:
    """Return the gap that a sweep saw as it is at its end.

    The sum over the visits is the gap as it was on average half a sweep ago; it is carried forward
    at the rate of the last sweep, to the power of `share`: a sweep takes away no more than 95 %.
    """
    rate = gap / last if last > 0.0 else 1.0
    return float(gap * min(max(rate, 0.05), 1.0) ** share)
