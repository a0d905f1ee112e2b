"""What is left to do, predicted from what was seen, and when that is reason enough to change."""

from __future__ import annotations

import math
from collections.abc import Sequence


def steps_to_go(gaps: Sequence[float], tol: float) -> float:
    """Extrapolate how many more steps the estimated gap takes at its latest rate of fall.

    The rate is taken over the later half of the steps, because the first ones fall faster than what
    follows. Before it can be known the answer is zero: there is no reason to leave yet.
    """
    if len(gaps) < 4 or not math.isfinite(gaps[-1]):
        return 0.0
    if gaps[-1] <= tol:
        return 1.0
    back = min(max(2, len(gaps) // 2), len(gaps) - 1)
    earlier = gaps[-1 - back]
    if not math.isfinite(earlier) or earlier <= gaps[-1]:
        return math.inf
    return math.log(gaps[-1] / tol) * back / math.log(earlier / gaps[-1])


def ahead(gaps: Sequence[float], tol: float) -> float:
    """Predict how many steps a method still takes, in multiples of those it has made.

    `gaps` are the best so far after each step. Extrapolations do for slow sweeps what
    conjugate gradients do for steepest descent, so that a linear extrapolation of x times the steps
    so far comes true as about √x of them; and no rate that was seen over k steps says much about
    more than a thousand k.
    """
    if not gaps:
        return 0.0
    multiple = min(steps_to_go(gaps, tol) / len(gaps), 1000.0)
    return min(multiple, 3.0 + 2.0 * math.sqrt(multiple))


def is_due(spent: float, to_go: float, rival: float) -> bool:
    """Whether a method that has spent so much, and predicts so much more, should give way.

    It has to be predicted to lose clearly against the rival's price, and the work behind it has to
    back the prediction. Where it predicts a hundred times as much as the rival, a hundredth of the
    rival's price is evidence enough; where it predicts twice as much, half of that price, so that
    nobody pays much more than the better of the two.
    """
    return to_go > 2.0 * rival and spent * to_go >= rival * rival
