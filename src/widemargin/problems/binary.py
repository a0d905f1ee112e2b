"""Binary problems: min ½‖w‖² + Σ c_i ℓ(y_i (w·x_i + b)), labels y_i = ±1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.cached import cached_property
from widemargin.data.quick_init import quick_init
from widemargin.data.training_set import TrainingSet
from widemargin.instruction_sets import core
from widemargin.problems.linear import LinearProblem
from widemargin.problems.losses import Loss
from widemargin.problems.threaded import ThreadedLoss, threaded_corner

Vector = NDArray[np.float64]


@quick_init
@dataclass(frozen=True, eq=False)
class BinaryProblem(LinearProblem):
    """A loss over labelled, weighted rows: `y` holds the labels, −1 or +1."""

    kind: ClassVar[str] = "binary problems"
    has_sides: ClassVar[bool] = True

    @classmethod
    def of(cls, data: TrainingSet, positive: int, loss: Loss) -> BinaryProblem:
        """State the one-vs-rest problem of a class."""
        if data.rows.blocked:
            loss = ThreadedLoss.of(loss, data.rows.threads)
        return cls(data.rows, data.signs(positive), data.cost, loss, data.free_intercept)

    @cached_property
    def core(self) -> core.BinaryCore:
        """The compiled kernels on this problem's arrays."""
        return core.BinaryCore(self.rows.view, self.loss.name, self.y, self.cost)

    @cached_property
    def corner(self) -> Any:
        """The compiled kernels of the rounded hinge; where rows are in blocks, on threads."""
        if not self.rows.blocked:
            return self.core
        return threaded_corner(self.y, self.cost, self.rows.threads)

    def sweeps(self, alpha: Vector, w: Vector, b: float, rho: float) -> Any:
        """Return sweeps of coordinate descent, which work on α and w in place."""
        residual = self.residual(alpha)
        return core.DualSweeps(self.core, self.rows.norms, alpha, w, residual, b, rho)

    def represents(self, subset: NDArray[np.int64]) -> bool:
        """Whether both classes are among some examples."""
        # A few hundred mostly have both.
        for some in (subset[:500], subset):
            signs = self.y[some]
            if (signs > 0).any() and (signs < 0).any():
                return True
        return False
