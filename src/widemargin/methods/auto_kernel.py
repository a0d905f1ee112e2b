"""``solver="auto"`` for kernel problems."""

from __future__ import annotations

from typing import Any

from widemargin.methods.base import Method, Progress
from widemargin.methods.block_frank_wolfe import KernelPairwiseFrankWolfe
from widemargin.methods.kernel_dual_cd import KernelDualCD
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem


class AutoKernel:
    """Dual descent over working sets serves both hinges at every size."""

    @property
    def explanation(self) -> str:
        """What was chosen, and why."""
        return "dual_cd (working sets need few rows of the kernel matrix)"

    def first(self, problem: KernelProblem, warm: Point | None, tol: float) -> Method:
        """Return the method, or refuse the problem by a sentence."""
        return _willing(KernelDualCD(), problem)

    def next(self, progress: Progress) -> Method | None:
        """Never hand over."""
        return None


class AutoKernelMulticlass:
    """Pairwise steps have a linear rate, and each row of K is used for a whole block."""

    @property
    def explanation(self) -> str:
        """What was chosen, and why."""
        return "pairwise_frank_wolfe (a linear rate, one row of the kernel matrix a block)"

    def first(self, problem: KernelMulticlassProblem, warm: Point | None, tol: float) -> Method:
        """Return the method, or refuse the problem by a sentence."""
        return _willing(KernelPairwiseFrankWolfe(), problem)

    def next(self, progress: Progress) -> Method | None:
        """Never hand over."""
        return None


def _willing(method: Method, problem: Any) -> Method:
    reason = method.refuses(problem)
    if reason is not None:
        raise ValueError(reason)
    return method
