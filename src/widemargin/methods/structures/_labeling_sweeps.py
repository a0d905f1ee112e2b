"""What the Frank-Wolfe methods over sentences share: compiled shares of labelings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import Labelings, SequenceProblem

Matrix = NDArray[np.float64]


@dataclass(eq=False)
class LabelingState(State):
    """The weights, and the compiled shares of labelings that they are made of."""

    problem: SequenceProblem
    settings: Settings
    weights: Matrix
    sweeps: Any
    """Compiled, with `linear`, the linear part of the dual value, and `gap`, as last seen."""
    random: np.random.Generator
    last_gap: float = np.inf
    """What the visits of the pass before saw."""
    last_primal: float = 0.0
    """The primal value at its end: its norm is that of all weights, which takes a while."""
    depth: float = 1.0
    """What the gap among the labels that are kept may be of that."""
    hopes: int = 0
    """Passes after which the gap was thought to be small enough."""

    @property
    def point(self) -> Point:
        """The weights and the labelings with a share."""
        count, length = self.sweeps.sizes()
        duals = Labelings(
            np.empty(self.problem.count + 1, np.int64), np.empty(count), np.empty(length, np.int32)
        )
        self.sweeps.save(duals.pointers, duals.share, duals.labels)
        return Point(self.weights, None, duals)

    @property
    def dual(self) -> float:
        """The dual value of the shares."""
        flat = self.weights.reshape(-1)
        return float(self.sweeps.linear) - 0.5 * float(flat @ flat)

    @property
    def primal(self) -> float:
        """The primal value, as far as the gaps of the sentences' last visits tell; 0 at first."""
        gap = float(self.sweeps.gap)
        return self.dual + gap if np.isfinite(gap) else 0.0

    @property
    def estimate(self) -> float:
        """The relative gap by the last visits."""
        primal = self.primal
        return float(self.sweeps.gap) / primal if primal > 0.0 else np.inf


class LabelingSweeps(SupportsAll):
    """What methods that visit one sentence after the other have in common."""

    serves: ClassVar[type[SequenceProblem]] = SequenceProblem
    leaves_weights: ClassVar[bool] = True
    """Nobody else refers to the weights of a state: a run that ends need not copy them."""

    @staticmethod
    def opened(
        problem: SequenceProblem, weights: Matrix, sweeps: Any, settings: Settings
    ) -> dict[str, Any]:
        """Compute the products of each sentence's rows; return the fields of a state."""
        for begin, end in problem.pieces():
            sweeps.prepare(begin, end, problem.threads)
        return {
            "problem": problem,
            "settings": settings,
            "weights": weights,
            "sweeps": sweeps,
            "random": np.random.default_rng(settings.seed),
            "active": problem.count,
        }
