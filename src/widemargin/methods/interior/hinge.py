"""Primal-dual interior point for the hinge, see `_hinge_path`."""

from __future__ import annotations

from typing import ClassVar

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings
from widemargin.methods.interior._hinge_path import InteriorPointState, advance, begin
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point


class InteriorPoint:
    """Follow the central path of the hinge problem; few steps, whatever C and the data."""

    name = "interior_point"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Support the hinge while the matrix in the weights can be formed."""
        if not problem.loss.linear_dual:
            return (
                f"solver 'interior_point' supports the loss 'hinge', not '{problem.loss.name}'; "
                "the nearest solver that supports it is 'newton'"
            )
        if problem.rows.weights > MACHINE.largest_factorised:
            return (
                f"solver 'interior_point' forms a matrix in the weights and supports at most "
                f"{MACHINE.largest_factorised} of them, not {problem.rows.weights}; "
                "the nearest solver that supports this problem is 'dual_cd'"
            )
        return None

    def start(
        self, problem: BinaryProblem, warm: Point | None, settings: Settings
    ) -> InteriorPointState:
        """Start on the central path at w = 0, or at warm weights if they are better."""
        return begin(problem, warm)

    def advance(self, state: InteriorPointState) -> None:
        """Take one predictor-corrector step."""
        advance(state)
