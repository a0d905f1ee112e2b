"""What the first classes of a one-vs-rest fit show the others.

The problems of all classes share rows, costs and tolerance: what a method took on one of them, it
takes on the others up to a factor of 1.4, where predictions are off by two or more. So the first
class is solved alone, and where it pays, a second one by another method; the others begin with what
was the cheapest. What they know is the same whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widemargin.auto.decision import Decision, Leg


@dataclass(frozen=True)
class Known:
    """What a method took on another class.

    `work` is what was spent on it, and what it had left to do by its own rate if it was not
    `finished`; infinite where it could not improve further.
    """

    method: str
    in_row_space: bool
    work: float
    finished: bool = True


def known_from(
    policy: Any,
    shape: Any,
    decisions: Sequence[Decision],
    legs: Sequence[Leg],
    work: float,
    converged: bool,
) -> list[Known]:
    """Return what each method of a run took, which has cost so much in all."""
    totals: dict[tuple[str, bool], float] = {}
    last: dict[tuple[str, bool], Leg] = {}
    spent = sum(leg.work for leg in legs[:-1])
    for decision, leg in zip(decisions, legs, strict=True):
        key = decision.method, decision.in_row_space
        more = max(work - spent, leg.work) if leg is legs[-1] else leg.work
        totals[key] = totals.get(key, 0.0) + more
        last[key] = leg
    return [
        Known(*key, total, True)
        if converged and last[key] is legs[-1]
        else Known(*key, total + policy.left(shape, last[key], total), False)
        for key, total in totals.items()
    ]


def merged(known: Sequence[Known], more: Sequence[Known]) -> tuple[Known, ...]:
    """Return what is known of each method: the latest run, or the latest that finished."""
    found: dict[tuple[str, bool], Known] = {}
    for each in (*known, *more):
        key = each.method, each.in_row_space
        if key not in found or each.finished or not found[key].finished:
            found[key] = each
    return tuple(found.values())


def worth_trying(price: float, error: float, best: float, times: int) -> bool:
    """Whether to try what is predicted at a price on one problem, for `times` more like it.

    A prediction is log-normal around its price, with a standard deviation of `error`. What trying
    costs more than the `best` known method is weighed against what it saves if it turns out to be
    the cheaper one, on all those that follow.
    """
    if not 0.0 < price < math.inf or not best < math.inf:
        return False
    mean = price * math.exp(0.5 * error**2)
    far = math.log(best / price) / error
    saved = best * _normal(far) - mean * _normal(far - error)
    return times * saved > mean - best


def _normal(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


class Experience:
    """What is known about the problems of a fit, while the first ones are solved one by one.

    Parameters
    ----------
    count : int
        Problems of the fit.
    """

    def __init__(self, count: int) -> None:
        self.known: tuple[Known, ...] = ()
        self.left = count
        self.alone = count > 2
        """Whether the next problem is solved before those that follow."""
        self.concluded: tuple[Any, Decision] | None = None
        """Once nothing is added any more: the shape of all that are left, and how they begin."""

    def show(self, choice: Any) -> None:
        """Show what is known to the choice of a problem, before its run."""
        choice.learn(self)

    def note(self, choice: Any, work: float, converged: bool) -> None:
        """Take note of a run; after the first ones nothing is added any more."""
        if not self.alone:
            return
        self.left -= 1
        self.known = merged(self.known, choice.shown(work, converged))
        self.alone = choice.tries_another(self.known, self.left)
