"""Dual descent by working sets on one pair of classes after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings, State
from widemargin.methods.coordinate._kernel_descent import begin, go_on, refusal
from widemargin.problems.certificate import Point
from widemargin.problems.kernel_pairs import KernelPairsProblem

_MOST_ROUNDS = 6
"""Rounds over all pairs after which estimates that no certificate confirms are given up."""


@dataclass(eq=False)
class KernelPairsState(State):
    """Points of the pairs; the state of the one at work."""

    problem: KernelPairsProblem
    settings: Settings
    points: list[Point]
    gaps: list[float]
    turn: int = 0
    inner: Any = None
    rounds: int = 0

    @property
    def point(self) -> Point:
        """The points of all pairs."""
        points = list(self.points)
        if self.inner is not None:
            points[self.turn] = self.inner.point
        return self.problem.joined(points)


class KernelPairsDualCD:
    """Each pair until its own gap is estimated to be closed."""

    name = "dual_cd"
    serves: ClassVar[type[Any]] = KernelPairsProblem

    def refuses(self, problem: KernelPairsProblem) -> str | None:
        """Support what binary kernel problems do."""
        return refusal(problem.parts[0])

    def start(
        self, problem: KernelPairsProblem, warm: Point | None, settings: Settings
    ) -> KernelPairsState:
        """Start at α = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        count = len(problem.parts)
        return KernelPairsState(
            problem,
            settings,
            list(problem.split(point)),
            [np.inf] * count,
            rounds=0 if warm is None else 1,
        )

    def advance(self, state: KernelPairsState) -> None:
        """Solve pairs one after the other, for about one compiled call's work."""
        if state.turn == len(state.points):  # the certificate has not confirmed the estimates
            state.turn, state.rounds = 0, state.rounds + 1
        work = 0.0
        while state.turn < len(state.points) and work < MACHINE.kernel_work:
            part = state.problem.parts[state.turn]
            if state.inner is None:
                warm = state.points[state.turn] if state.rounds else None
                state.inner = begin(part, warm, state.settings.tol * 0.5**state.rounds)
            inner, before = state.inner, state.inner.passes
            go_on(inner)
            work += (inner.passes - before) * part.gram.count**2
            state.gaps[state.turn] = inner.expected_gap
            if inner.expected_gap <= inner.target or inner.finished:
                state.points[state.turn] = inner.point
                state.turn, state.inner = state.turn + 1, None
        done = state.turn == len(state.points)
        state.passes = state.rounds + state.turn / len(state.points)
        state.expected_gap = max(state.gaps) if done else np.inf
        if done:
            state.active = sum(int(np.count_nonzero(point.alpha)) for point in state.points)
        state.finished = done and state.rounds >= _MOST_ROUNDS
