"""Preconditioned conjugate gradients for one right-hand side, or for several at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Enough = Callable[[Array, Array, Any, Any], Any]
"""From the solution, its residual r, r·M⁻¹r now and r·M⁻¹r at the start to whether that will do."""

_FAR_ENOUGH = 0.01
"""Share of the promised decrease that a residual may hide, far from the solution."""

_LOST = 1e-6
"""Share of r·M⁻¹r at the start below which rounding is about to win."""


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array],
    enough: Enough,
    most_steps: int,
    moved: Callable[[Any], None] | None = None,
) -> tuple[Array, Array, int]:
    """Solve A x = right from x = 0; return x, its residual and the number of products.

    Parameters
    ----------
    product : callable
        Returns A times an array of the shape of `right`.
    right : ndarray of shape (n,) or (n, k)
        Each column is a system of its own. One that is solved waits for the others.
    precondition : callable
        Returns M⁻¹ r for an approximation M of A.
    enough : callable
        Says which systems are solved, see `relative_to_start` and `NewtonAccuracy`.
    most_steps : int
    moved : callable, optional
        Called after each product with the multiple of its direction that x has moved by.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.linalg.conjugate_gradients import conjugate_gradients, relative_to_start
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> enough = relative_to_start(1e-12)
    >>> x, residual, steps = conjugate_gradients(A.__matmul__, A @ [1.0, 2.0], np.copy, enough, 10)
    >>> x.round(9), steps
    (array([1., 2.]), 2)
    """
    x, r = np.zeros_like(right), right.copy()
    z = precondition(r)
    direction, rz = z, inner(r, z)
    start, unsolved, steps = rz, rz > 0.0, 0
    while np.any(unsolved) and steps < most_steps:
        steps += 1
        image = product(direction)
        bend = inner(direction, image)
        # A system without curvature along its direction cannot be improved any more.
        unsolved = unsolved & (bend > 0.0)
        length = np.divide(rz, bend, out=np.zeros_like(rz), where=unsolved)
        x += length * direction
        r -= length * image
        if moved is not None:
            moved(length)
        z = precondition(r)
        fresh = inner(r, z)
        unsolved = unsolved & np.logical_not(enough(x, r, fresh, start)) & (fresh > 0.0)
        direction = z + np.divide(fresh, rz, out=np.zeros_like(rz), where=rz > 0.0) * direction
        rz = fresh
    return x, r, steps


def inner(a: Array, b: Array) -> Any:
    """Return a·b, or that of each column."""
    return a @ b if a.ndim == 1 else np.einsum("jl,jl->l", a, b)


def relative_to_start(accuracy: float) -> Enough:
    """Stop where the residual, measured by the preconditioner, fell to this share of the start."""

    def enough(x: Array, r: Array, now: Any, start: Any) -> Any:
        return now <= accuracy**2 * start

    return enough


@dataclass(frozen=True)
class NewtonAccuracy:
    """Stop where a Newton step is as exact as it needs to be.

    Far from the solution a hundredth of the promised decrease is exact enough; near it the residual
    itself enters the duality gap, until ½‖r‖² ≤ accuracy.

    Attributes
    ----------
    right : ndarray
    accuracy : float or ndarray of shape (k,)
    far : float
        A promised decrease above this many times the accuracy is far from the solution.
    """

    right: Array
    accuracy: Any
    far: float

    def __call__(self, x: Array, r: Array, now: Any, start: Any) -> Any:
        """Judge a solution."""
        return self.judge(np.abs(inner(x, self.right)), inner(r, r), now, start)

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """What `judge` compares with, for compiled code."""
        return float(self.accuracy), float(self.far), _FAR_ENOUGH, _LOST

    def judge(self, promised: Any, squares: Any, now: Any, start: Any) -> Any:
        """Judge by |x · right|, r · r, and r·M⁻¹r now and at the start."""
        loose = now <= _FAR_ENOUGH * np.maximum(promised, start)
        tight = 0.5 * np.maximum(squares, now) <= self.accuracy
        return np.where(promised > self.far * self.accuracy, loose, tight | (now <= _LOST * start))
