"""Step sizes of the incremental methods: the schemes of DRSVM's Table 1, and one that adapts.

A stage is a number of sweeps with one step size, judged at its end. Two things make up the gap that
is left: noise, which is proportional to the step, and drift, the way still to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

SHORTEST, LONGEST = 4, 256
"""Half the sweeps of a stage, at least and at most."""
NEGLIGIBLE = 1e-6
"""Share of the first step at which a geometric round ends; DRSVM's experiments end there, too."""


@dataclass(frozen=True)
class Judgement:
    """What a stage ended with.

    Attributes
    ----------
    gap : float
        P at the average of the stage, less the best lower bound so far.
    noise : float
        The part of it that belongs to the fluctuation of the iterates.
    """

    gap: float
    noise: float


class StepSizes(Protocol):
    """Step and length of the stages, one after the other."""

    step: float
    half: int
    """Half the sweeps of the present stage."""

    def judge(self, judgement: Judgement) -> None:
        """Set both for the next stage."""


class Automatic:
    """Halve the step while noise is what is left, else make the stages longer.

    Where the problem is sharp this is the geometric scheme, with a decay that the data choose;
    where it is not, stages grow as the step falls, as in the 1/k and 1/√k schemes.
    """

    def __init__(self, step: float) -> None:
        self.step, self.half = step, SHORTEST

    def judge(self, judgement: Judgement) -> None:
        """Compare noise with the gap."""
        if judgement.noise > 0.3 * judgement.gap or self.half >= LONGEST:
            self.step *= 0.5
        else:
            self.half *= 2


class Geometric:
    """α_k = ρ^k α_0: for sharp problems (norm 1 or infinity without penalty)."""

    def __init__(self, step: float, decay: float = 0.9) -> None:
        self.step, self.half, self.decay = step, 1, decay

    def judge(self, judgement: Judgement) -> None:
        """Multiply by the decay, whatever the stage brought."""
        self.step *= self.decay


class Restarts(Geometric):
    """Geometric rounds, each with half the rate of the one before and from the same step.

    How fast steps may shrink depends on how sharp the problem is, which nobody knows. Doubling the
    rounds costs at most as much again as the one that is slow enough.
    """

    def __init__(self, step: float) -> None:
        super().__init__(step)
        self.first = step

    def judge(self, judgement: Judgement) -> None:
        """Shrink the step; begin another round where it has become negligible."""
        super().judge(judgement)
        if self.step < NEGLIGIBLE * self.first:
            self.step, self.decay = self.first, self.decay**0.5


class Inverse:
    """α_k = γ / k^power: power 1 under quadratic growth (a penalty), 1/2 for any problem."""

    def __init__(self, step: float, power: float) -> None:
        self.first, self.step, self.half, self.power = step, step, 1, power
        self.stage = 1

    def judge(self, judgement: Judgement) -> None:
        """Go on to the next k."""
        self.stage += 1
        self.step = self.first / self.stage**self.power


def step_sizes(scheme: str, step: float) -> StepSizes:
    """Return the scheme of this name, starting from `step`."""
    if scheme == "automatic":
        return Automatic(step)
    if scheme in ("geometric", "restarts"):
        return Geometric(step) if scheme == "geometric" else Restarts(step)
    if scheme in ("1/k", "1/sqrt(k)"):
        return Inverse(step, 1.0 if scheme == "1/k" else 0.5)
    raise ValueError(
        f"scheme must be 'restarts', 'automatic', 'geometric', '1/k' or '1/sqrt(k)'; got {scheme!r}"
    )
