"""What is left to do, predicted from what was seen, and when that is reason enough to change."""

from __future__ import annotations

import math
from collections.abc import Sequence

from widemargin.auto.machine import MACHINE

_FEWEST = 4
"""Steps before which no rate is known."""

_SATURATED = 0.9
"""A relative gap of sweeps above which their rate says little."""

_PUT_RIGHT = 1.0 / 3.0
"""Share of the examples misplaced in the first sweep that is left where sweeps put them right. Of
44 squared hinge fits whose gap was above that after four sweeps, nine were below this: in all
of them sweeps were faster than Newton's method. None of the 29 in which they were slower was below
it within eight sweeps."""

_STANDING = 0.6
"""Share of the examples misplaced in the first sweep that is left where sweeps get nowhere.
Of 74 fits drawn at random whose gap was still above `_SATURATED` then, 28 were above this share. In
all of the 23 among them that any method solved within two seconds, another one was the fastest."""

_TELLING = 8
"""Sweeps after which that is known."""

_MOST_OUTSIDE = 0.9
"""Share of the rows outside of the tube above which the squared loss is a parabola but for a few:
Newton's method has nothing to sort."""

_FARTHEST = 1e4
"""No rate that was seen over some work says anything about more than so many times as much."""


def steps_to_go(gaps: Sequence[float], tol: float) -> float:
    """Extrapolate how many more steps the estimated gap takes at its latest rate of fall.

    The rate is taken over the later half of the steps, because the first ones fall faster than what
    follows. Before it can be known the answer is zero: there is no reason to leave yet.
    """
    if len(gaps) < _FEWEST or not math.isfinite(gaps[-1]):
        return 0.0
    if gaps[-1] <= tol:
        return 1.0
    # Before the first finite gap a method has not shown a rate.
    back = min(_later_half(gaps), sum(map(math.isfinite, gaps)) - 1)
    earlier = gaps[-1 - back]
    if back == 0:
        return 0.0
    if earlier <= gaps[-1]:
        return math.inf
    return math.log(gaps[-1] / tol) * back / math.log(earlier / gaps[-1])


def ahead(gaps: Sequence[float], tol: float) -> float:
    """Predict how many steps a second-order method still takes, in multiples of those it has made.

    `gaps` are the best so far after each step. While D is small beside P, (P − D) / P stays near
    one however fast D rises, so rates are those of (P − D) / D. Once D is above zero only steps
    since then count: (P − D) / D falls from anywhere there, and goes on as it may. No rate that was
    seen over k steps says much about more than a thousand k, and slow beginnings are followed by
    faster steps.
    """
    if not gaps:
        return 0.0
    bounded = gaps[-1] < 1.0
    odds = [math.inf if bounded and gap >= 1.0 else over_dual(gap) for gap in gaps]
    multiple = min(steps_to_go(odds, tol) / len(gaps), 1000.0)
    return min(multiple, 3.0 + 2.0 * math.sqrt(multiple))


def work_ahead(works: Sequence[float], gaps: Sequence[float], tol: float) -> float:
    """Predict the work that a second-order method still takes, if steps cost what the latest did.

    Steps from conjugate gradients get dearer on the way, those on growing samples too.
    """
    if len(gaps) < _FEWEST:
        return 0.0
    back = _later_half(gaps)
    return ahead(gaps, tol) * len(gaps) * (works[-1] - works[-1 - back]) / back


def forecasts(
    works: Sequence[float], gaps: Sequence[float], tol: float, expected: float
) -> tuple[float, float, float] | None:
    """Return the logarithms of what sweeps still cost, in multiples of the work so far.

    By the rate over the later half of the sweeps, by that over all of them, and by what was
    `expected`; None while nothing is known. The first is a rate of (P − D) / D, as in `ahead`.
    """
    if len(gaps) < _FEWEST or not math.isfinite(gaps[-1]):
        return None
    spent = works[-1]
    back = _later_half(gaps)
    now, then = over_dual(gaps[-1]), over_dual(gaps[-1 - back])
    late = _multiple(_digits(now, tol), spent - works[-1 - back], then, now, spent)
    whole = _multiple(_digits(gaps[-1], tol), spent, max(1.0, gaps[0]), gaps[-1], spent)
    return math.log(late), math.log(whole), math.log(max(expected / spent, 1.0))


def sweeps_to_go(
    works: Sequence[float],
    gaps: Sequence[float],
    tol: float,
    expected: float,
    pool: tuple[float, float, float, float] = MACHINE.pool,
) -> float:
    """Predict the work that sweeps still take; zero while nothing is known.

    Three forecasts are pooled, each wrong by a factor of three or more: the rate of fall over the
    later half of the sweeps, which a single estimate can bring to a standstill; that over all of
    them, which the first sweeps flatter; and what sweeps were `expected` to cost in all before the
    first one, or what they have cost since, if that is more. All are taken in multiples of the work
    so far, and their logarithms are added with the weights in `machine.py`, which leave a
    factor of 2.5.

    Parameters
    ----------
    works, gaps : sequences of float
        Work so far and the best gap so far after each sweep.
    tol : float
    expected : float
        Predicted before the first sweep.
    pool : tuple of four floats
        The weights of `machine.py`; those of sweeps by default.
    """
    found = forecasts(works, gaps, tol, expected)
    if found is None:
        return 0.0
    late, whole, before = found
    pooled = pool[0] + pool[1] * late + pool[2] * whole + pool[3] * before
    return works[-1] * math.exp(pooled)


def saturated(gap: float) -> bool:
    """Whether a relative gap of sweeps is so near one that they have shown next to nothing."""
    return gap > _SATURATED


def while_saturated(forecast: float, gap: float, spent: float, expected: float) -> float:
    """Bound what sweeps are predicted to take while the gap is near one.

    D is so small beside P then that sweeps which stand still may be about to fall, as they do where
    nearly all examples can be put right. No more counts than what was `expected` before the first
    sweep and, once that is spent, twice as much as was spent so far: a rival's price is reached
    before sweeps have cost as much.
    """
    return min(forecast, max(expected, 2.0 * spent)) if saturated(gap) else forecast


def standing(misplaced: Sequence[float]) -> bool:
    """Whether sweeps have left nearly as many examples misplaced as they found.

    Such sweeps are not about to fall, however near one the gap is. Never where it is not known.
    """
    first = misplaced[0] if misplaced else 0.0
    return len(misplaced) >= _TELLING and first > 0.0 and min(misplaced) > _STANDING * first


def while_sorting(expected: float, spent: float, misplaced: Sequence[float]) -> float:
    """Bound what sweeps were expected to take, once they are seen to put the examples right.

    Where the share of the `misplaced` ones has fallen to a part of what the first sweep found,
    the costs do not matter any more that made many sweeps likely. No more counts than
    twice what was spent so far.
    """
    first = misplaced[0] if misplaced else 0.0
    sorts = first > 0.0 and min(misplaced) <= _PUT_RIGHT * first
    return min(expected, 2.0 * spent) if sorts else expected


def while_few_are_outside(forecast: float, spent: float, outside: Sequence[float]) -> float:
    """Bound what sweeps are predicted to take where few rows lie outside of the tube.

    The others are left out soon, and what is left is a small problem: its gap falls late, but fast.
    No more counts than what was spent so far: sweeps go on until they have cost as much as a rival.
    """
    return min(forecast, spent) if few_are_outside(outside) else forecast


def few_are_outside(outside: Sequence[float]) -> bool:
    """Whether the rows outside of the tube are few, as the latest sweep has left them."""
    return bool(outside) and outside[-1] <= _PUT_RIGHT


def most_are_outside(outside: Sequence[float]) -> bool:
    """Whether nearly all rows lie outside of the tube, as the latest sweep has left them."""
    return bool(outside) and outside[-1] >= _MOST_OUTSIDE


def over_dual(gap: float) -> float:
    """Return (P − D) / D for a relative gap (P − D) / P; where D <= 0, a billion times the gap."""
    return gap / max(1.0 - gap, 1e-9)


def raised(gaps: Sequence[float], proved: float, again: bool) -> list[float]:
    """Raise estimated gaps so that the last one is the gap that was proved, and their rates stay.

    (P − D) / D is multiplied by the same factor everywhere, which keeps gaps below one there. If it
    is not for the first time, their rates mean nothing: none is left below what was proved. That
    can be after every sweep: only the last gaps, which are the lowest, are looked at.
    """
    if again:
        found = list(gaps)
        for place in range(len(found) - 1, -1, -1):
            if found[place] >= proved:
                break
            found[place] = proved
        return found
    factor = over_dual(proved) / max(over_dual(gaps[-1]), 1e-300)
    odds = [factor * over_dual(gap) for gap in gaps]
    return [max(gap, odd / (1.0 + odd), proved) for gap, odd in zip(gaps, odds, strict=True)]


def _digits(gap: float, tol: float) -> float:
    """Return the natural logarithm of what a gap has to fall by; never zero."""
    return math.log(max(gap / tol, 1.0 + 1e-3))


def _later_half(gaps: Sequence[float]) -> int:
    return min(max(2, len(gaps) // 2), len(gaps) - 1)


def _multiple(digits: float, work: float, earlier: float, gap: float, spent: float) -> float:
    """Extrapolate a rate of fall, in multiples of the work so far."""
    if not math.isfinite(earlier) or earlier <= gap:
        return _FARTHEST
    multiple = digits * work / (math.log(earlier / gap) * spent)
    return min(max(multiple, 1.0 / _FARTHEST), _FARTHEST)


def gives_way(spent: float, to_go: float, price: float) -> bool:
    """Whether sweeps that have cost so much, and predict so much more, should give way to a rival.

    Where both predictions are log-normal, going on and changing at once have the same expected
    logarithm of the cost when the medians are equal, nearly whatever was spent (within 15 % for
    errors of a factor of three in one and 1.7 in the other). What speaks for going on a little is
    that the prediction gets better; what that costs is a share of the rival's price, which the
    prediction may claim the less of, the worse it is.
    """
    return to_go > price and spent * to_go >= MACHINE.evidence * price**2
