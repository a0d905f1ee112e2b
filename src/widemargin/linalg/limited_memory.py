"""The inverse of a matrix that is known by a few products with it: the two loops of L-BFGS."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy

Array = NDArray[np.float64]


@dataclass(eq=False)
class LimitedMemory:
    """The last moves s and what they changed the gradient by, t: secant pairs H s ≈ t.

    Attributes
    ----------
    most : int
        Pairs that are kept.
    """

    most: int
    pairs: deque[tuple[Array, Array, float]] = field(default_factory=deque)

    def add(self, move: Array, turn: Array) -> None:
        """Keep a pair; one without curvature says nothing."""
        product = float(np.vdot(move, turn))
        if product > 0.0:
            if len(self.pairs) == self.most:
                self.pairs.popleft()
            self.pairs.append((move, turn, product))

    def clear(self) -> None:
        """Forget all pairs."""
        self.pairs.clear()

    def solve(self, right: Array, first: Callable[[Any], Any], scaled: bool = False) -> Array:
        """Return the approximate H⁻¹ right, as a new array.

        `first` returns an approximation of it without any pair, as a new array. Unless it is
        `scaled` already, it is scaled to the last pair.

        Examples
        --------
        >>> import numpy as np
        >>> from widemargin.linalg.limited_memory import LimitedMemory
        >>> memory = LimitedMemory(2)
        >>> memory.add(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
        >>> memory.solve(np.array([4.0, 4.0]), np.copy)
        array([1., 1.])
        """
        if not self.pairs:
            return np.asarray(first(right))
        out, shares = right.copy(), []
        for move, turn, product in reversed(self.pairs):
            share = float(np.vdot(move, out)) / product
            _add(-share, turn, out)
            shares.append(share)
        out = first(out)
        if not scaled:
            move, turn, product = self.pairs[-1]
            out *= product / float(np.vdot(turn, first(turn)))
        for (move, turn, product), share in zip(self.pairs, reversed(shares), strict=True):
            _add(share - float(np.vdot(turn, out)) / product, move, out)
        return np.asarray(out)


def _add(amount: float, move: Array, out: Array) -> None:
    """Add a multiple of a vector, without memory for the product."""
    daxpy(move.reshape(-1), out.reshape(-1), a=amount)
