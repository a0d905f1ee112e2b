"""What a run leaves for the one at the next value of C."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def step_ahead(C: float, last: float, before: float) -> float:
    """Return how far to go on from C `before` to `last`, in steps of that length over log C.

    No further than the known ones are apart: beyond, their errors would count for more.
    """
    if not 0.0 < before != last:
        return 0.0
    return min(math.log(C / last) / math.log(last / before), 1.0)


@dataclass(eq=False)
class Along:
    """What a run at one C leaves for the next: no more than guesses to begin with."""

    scores: list[tuple[Vector, Vector]] = field(default_factory=list)
    """Weights and their scores, as the last two certificates computed them."""
    start: tuple[Vector, Vector] | None = None
    """Weights to start from, and their scores."""
    slopes: list[tuple[float, Vector]] = field(default_factory=list)
    """The sum of the costs, and the slopes of all columns, at the end of the last two runs."""
    guess: tuple[float, Vector] | None = None
    """The sum of the costs, and the slopes that were guessed there."""
    missed: float = np.inf
    """How far the last guess was off."""
    gain: float = np.inf
    """Share of the objective that the last first step gained."""

    def keep_slopes(self, cost: float, slopes: Vector) -> None:
        """Keep the slopes of all columns where the sum of the costs is `cost`."""
        guess = self.guess
        if guess is not None and guess[0] == cost:
            self.missed, self.guess = float(np.abs(slopes - guess[1]).max(initial=0.0)), None
        if self.slopes and self.slopes[-1][0] == cost:
            self.slopes.pop()
        self.slopes = [*self.slopes[-1:], (cost, slopes)]

    def guessed_slopes(self, cost: float) -> tuple[Vector, float] | None:
        """Guess the slopes at another sum of the costs; say how far off they are likely to be.

        They move on linearly in the logarithm of C, no further than the known ones are apart.
        Without experience, the strong rule of Tibshirani et al. says how much they may change.
        """
        if not self.slopes or not 0.5 * cost < self.slopes[-1][0] < cost:
            return None
        (before, earlier), (last, slopes) = self.slopes[0], self.slopes[-1]
        guess = slopes + step_ahead(cost, last, before) * (slopes - earlier)
        self.guess = cost, guess.copy()
        return guess, min(2.0 * self.missed, 2.0 * (1.0 - last / cost))

    def mixed(self, length: float, w: Vector, before: Vector) -> Vector | None:
        """Return w + length (w − before), and keep its scores for the start.

        None where the scores of either are not known.
        """
        now, then = self._scores_of(w), self._scores_of(before)
        if now is None or then is None:
            return None
        ahead = w + length * (w - before)
        self.start = ahead, now + length * (now - then)
        return ahead

    def _scores_of(self, w: Vector) -> Vector | None:
        for known, scores in self.scores:
            if known is w or np.array_equal(known, w):
                return scores
        return None
