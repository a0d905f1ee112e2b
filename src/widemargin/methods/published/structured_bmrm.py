"""The bundle method for any structured model (BMRM, section 1; `qp`): tangents by its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.methods.base import Settings, SupportsAll
from widemargin.methods.published._bundle import BundleState, Tangent, extend
from widemargin.problems.certificate import Point
from widemargin.problems.structured import Outputs, StructuredProblem


@dataclass(eq=False)
class StructuredBMRMState(BundleState):
    """The outputs of a tangent are one for each example."""

    problem: StructuredProblem

    @property
    def point(self) -> Point:
        """The best weights of all steps, and the model's dual point."""
        used = [tangent.outputs for tangent in self.bundle]
        outputs = tuple(zip(*used, strict=True)) if used else ((),) * self.problem.count
        return Point(self.best, None, Outputs(outputs, (self.shares,) * self.problem.count))


class StructuredBMRM(SupportsAll):
    """A tangent at w by the model's oracle, then the minimiser of the bundle."""

    name = "bmrm_qp"
    serves: ClassVar[type[StructuredProblem]] = StructuredProblem

    def start(
        self, problem: StructuredProblem, warm: Point | None, settings: Settings
    ) -> StructuredBMRMState:
        """Start at w = 0 or at the warm weights, with an empty model."""
        w = np.zeros(problem.width) if warm is None else np.array(warm.w)
        return StructuredBMRMState(problem, w, w, active=problem.count)

    def advance(self, state: StructuredBMRMState) -> None:
        """Take the tangent at w into the model, and minimise the model."""
        problem, w = state.problem, state.w
        direction, offset, losses, outputs = np.zeros_like(w), 0.0, 0.0, []
        for i, cost in enumerate(problem.cost):
            output = problem.worst(i, w)
            psi, loss = problem.plane(i, output)
            direction += cost * psi
            offset += float(cost) * loss
            losses += float(cost) * max(0.0, loss - float(w @ psi))
            outputs.append(output)
            problem.checkpoint()
        primal = 0.5 * float(w @ w) + losses
        extend(state, primal, Tangent(direction, offset, outputs), problem.checkpoint)
