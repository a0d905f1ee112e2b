"""The bundle method for sequences (BMRM, appendix E; `qp`): the tangent by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.methods.base import Settings, SupportsAll
from widemargin.methods.published._bundle import BundleState, Tangent, extend
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import Labelings, SequenceProblem


@dataclass(eq=False)
class SequenceBMRMState(BundleState):
    """The outputs of a tangent are the labels of all rows."""

    problem: SequenceProblem

    @property
    def point(self) -> Point:
        """The best weights of all steps, and the model's dual point."""
        labels = [tangent.outputs for tangent in self.bundle]
        return Point(self.best, None, Labelings.mixture(labels, self.shares, self.problem.lengths))


class SequenceBMRM(SupportsAll):
    """A tangent at w, then the minimiser of the model, by a quadratic program over the bundle."""

    name = "bmrm_qp"
    serves: ClassVar[type[SequenceProblem]] = SequenceProblem

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> SequenceBMRMState:
        """Start at w = 0 or at the warm weights, with an empty model."""
        w = np.zeros(problem.shape) if warm is None else np.array(warm.w)
        return SequenceBMRMState(problem, w, w, active=problem.count)

    def advance(self, state: SequenceBMRMState) -> None:
        """Take the tangent at w into the model, and minimise the model."""
        problem = state.problem
        labels, excess, _ = problem.best_labelings(state.w)
        primal = 0.5 * float(np.vdot(state.w, state.w)) + float(problem.cost @ excess)
        one = Labelings.mixture([labels], np.ones(1), problem.lengths)
        direction, offset = problem.combine(one)
        extend(state, primal, Tangent(direction, offset, labels), problem.rows.checkpoint)
