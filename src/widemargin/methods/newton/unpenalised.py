"""Newton's method for logistic regression without a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.unpenalised import Unpenalised

_HALVINGS = 40
"""Steps shorter than this many halvings change nothing in floating point."""

_ROUNDING = 1e-15
"""Share of the total below which a decrease is rounding."""

_SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must reach."""


@dataclass(eq=False, kw_only=True)
class UnpenalisedState(State):
    """Weights, intercept, and the total loss there."""

    problem: Unpenalised
    settings: Settings
    w: Any
    b: Any
    scores: Any
    total: float
    first: float

    @property
    def point(self) -> Point:
        """The current weights; the certificate fills in the dual variables."""
        return Point(self.w, self.b, self.problem.cold_point().alpha)


class UnpenalisedNewton(SupportsAll):
    """Full Newton steps with a pseudo-inverse and halving; from zero it stays in the rows' span."""

    serves: ClassVar[type[Any]] = Unpenalised
    name = "newton"

    def start(
        self, problem: Unpenalised, warm: Point | None, settings: Settings
    ) -> UnpenalisedState:
        """Begin at the warm weights, or at zero."""
        cold = problem.cold_point()
        w, b = (cold.w, cold.b) if warm is None else (np.array(warm.w), warm.b)
        scores = problem.scores(w)
        total = problem.total(scores, b)
        first = problem.total(np.zeros_like(scores), cold.b)
        return UnpenalisedState(
            problem=problem,
            settings=settings,
            w=w,
            b=b,
            scores=scores,
            total=total,
            first=first,
            active=problem.rows.count,
        )

    def advance(self, state: UnpenalisedState) -> None:
        """Do one Newton step."""
        problem = state.problem
        here = problem.curvature_at(state.scores, state.b)
        state.passes += 3.0
        step, decrease = here.step, here.decrement**2
        along, shift = problem.unpacked(step)
        slopes = problem.scores(along)
        length = 1.0
        for _ in range(_HALVINGS):
            w, b = state.w + length * along, state.b + length * shift
            scores = state.scores + length * slopes
            total = problem.total(scores, b)
            if total <= state.total - _SUFFICIENT * length * decrease:
                break
            length *= 0.5
        else:
            # Close to the optimum a full step is right although the total cannot tell.
            state.finished = True
            return
        state.w, state.b, state.scores, state.total = w, b, problem.scores(w), total
        state.expected_gap = 0.5 * decrease / max(total, 1e-300)
        # Separable classes: the total goes to zero, and the weights to infinity.
        gone = total <= state.settings.tol * state.first and problem.separated(state.scores, b)
        state.finished = gone or decrease <= _ROUNDING * total
