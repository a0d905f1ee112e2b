"""``solver="auto"`` for robust problems: the interior point, in a few dozen steps to any tolerance.

Where its matrix is small it is factorised, else conjugate gradients multiply by it. An interior
point that cannot improve any more in floating point hands over to IPPA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.registry import method_named
from widemargin.data.work import Size
from widemargin.problems.robust import RobustProblem


@dataclass(frozen=True)
class RobustShape:
    """A robust problem as the policies see it: its counts, and the methods that support it."""

    size: Size
    served: frozenset[str]
    warm: bool = False

    @classmethod
    def of(cls, problem: RobustProblem, warm: bool) -> RobustShape:
        """Read the counts off a problem, and ask the methods."""
        names = ("interior_point", "reduced_interior_point", "ippa", "isg")
        methods = ((name, method_named(name, RobustProblem)) for name in names)
        served = frozenset(name for name, method in methods if method.refuses(problem) is None)
        return cls(problem.rows.size, served, warm)


class RobustPolicy:
    """Start with the interior point."""

    def shape_of(self, problem: RobustProblem, tol: float, warm: bool) -> RobustShape:
        """Read the counts off a problem."""
        return RobustShape.of(problem, warm)

    def first(self, shape: RobustShape, follows: str) -> Decision:
        """Start with the interior point."""
        return Decision("interior_point", cause.interior_point(shape.size.weights))

    def next(self, shape: RobustShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Hand over when the interior point is done."""
        leg = legs[-1]
        if leg.method != "interior_point" or not leg.finished or "ippa" not in shape.served:
            return None
        return Decision("ippa", cause.stalled(leg.method))
