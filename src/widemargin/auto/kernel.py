"""``solver="auto"`` for kernel problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from widemargin.auto import cause
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.machine import MACHINE


class KernelShape(NamedTuple):
    """What the decisions look at."""

    rows: int
    """Of the kernel matrix; zero if it is too large to be factorised."""
    classes: int
    """Trained together."""
    smooth: bool


def _factorised(gram: Any) -> int:
    """Return the rows of a kernel matrix that can be factorised in memory, or zero."""
    rows = int(gram.count)
    small = rows <= MACHINE.largest_factorised and 8.0 * rows**2 <= gram.memory
    return rows if small else 0


class KernelPolicy:
    """Dual descent over working sets; a factor of K once that has cost as much, or stands still."""

    decision: ClassVar[Decision] = Decision("dual_cd", cause.WORKING_SETS)

    def shape_of(self, problem: Any, tol: float, warm: bool) -> KernelShape:
        """Count the rows."""
        return KernelShape(_factorised(problem.gram), 1, bool(problem.loss.smooth))

    def first(self, shape: KernelShape, follows: str) -> Decision:
        """Begin with descent on the dual variables."""
        return self.decision

    def next(self, shape: KernelShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Hand over once, where K can be factorised."""
        leg = legs[-1]
        if shape.rows == 0 or len(legs) > 1:
            return None
        if leg.finished:
            return Decision(self._on_factor(shape), cause.stalled(leg.method), in_row_space=True)
        if leg.passes >= MACHINE.kernel_factor * shape.rows + 100.0:
            return Decision(self._on_factor(shape), cause.FACTOR_OF_KERNEL, in_row_space=True)
        return None

    def _on_factor(self, shape: KernelShape) -> str:
        return "newton" if shape.smooth else "proximal_newton"


class KernelPairsPolicy(KernelPolicy):
    """Every pair of classes by working sets."""

    def shape_of(self, problem: Any, tol: float, warm: bool) -> KernelShape:
        """Count the pairs; their matrices are not factorised."""
        return KernelShape(0, len(problem.parts), bool(problem.parts[0].loss.smooth))


class KernelMulticlassPolicy(KernelPolicy):
    """Exact block steps inside working sets."""

    decision = Decision("block_dual_cd", cause.WORKING_SETS)

    def shape_of(self, problem: Any, tol: float, warm: bool) -> KernelShape:
        """Count the rows and the classes."""
        return KernelShape(_factorised(problem.gram), int(problem.classes), False)

    def _on_factor(self, shape: KernelShape) -> str:
        few = shape.rows * shape.classes <= MACHINE.largest_factorised
        return "proximal_newton" if few else "block_dual_cd"
