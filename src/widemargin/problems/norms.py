"""The norms 1, 2 and infinity: values, duals, and the distance to a ball of the dual norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

NORMS = (1.0, 2.0, np.inf)


def norm_of(w: Vector, norm: float) -> float:
    """Return ‖w‖ in the norm 1, 2 or infinity."""
    return float(np.linalg.norm(w, norm)) if w.size else 0.0


def dual_norm(norm: float) -> float:
    """Return the norm p with 1/norm + 1/p = 1."""
    return {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[norm]


def steepest(w: Vector, norm: float) -> Vector:
    """Return the direction of length one in the dual norm along which w·x grows by ‖w‖."""
    if norm == 1.0:
        return np.sign(w)
    if norm == 2.0:
        length = norm_of(w, 2.0)
        return w / length if length > 0.0 else np.zeros_like(w)
    direction = np.zeros_like(w)
    place = int(np.argmax(np.abs(w)))
    direction[place] = np.sign(w[place])
    return direction


@dataclass(frozen=True, eq=False)
class DualBall:
    """Squared Euclidean distances of one vector v to balls of the norm dual to `norm`.

    The magnitudes are sorted once; each distance costs O(log d) after that.
    """

    norm: float
    length: float
    """‖v‖ in the dual norm."""
    magnitudes: Vector
    sums: Vector
    squares: Vector

    @classmethod
    def around(cls, v: Vector, norm: float) -> DualBall:
        """Prepare the distances of v."""
        length = norm_of(v, dual_norm(norm))
        if norm == 2.0:
            return cls(norm, length, np.empty(0), np.empty(0), np.empty(0))
        magnitudes = np.sort(np.abs(v))[::-1]
        return cls(
            norm,
            length,
            magnitudes,
            np.concatenate([[0.0], np.cumsum(magnitudes)]),
            np.concatenate([[0.0], np.cumsum(magnitudes**2)]),
        )

    def squared_distance(self, radius: float) -> float:
        """Return the squared distance of v to the ball of this radius around zero."""
        if radius >= self.length:
            return 0.0
        if self.norm == 2.0:
            return (self.length - radius) ** 2
        if self.norm == 1.0:
            # The ball is a cube: what sticks out of it, entry by entry.
            out = int(np.searchsorted(-self.magnitudes, -radius))
            return max(
                0.0,
                float(self.squares[out] - 2.0 * radius * self.sums[out] + out * radius * radius),
            )
        # The ball is ℓ_1's: the projection lowers every magnitude by θ, down to zero.
        if radius <= 0.0:
            return float(self.squares[-1])
        theta, kept = self._lowered(radius)
        return float(kept * theta * theta + self.squares[-1] - self.squares[kept])

    def lowering(self, radius: float) -> float:
        """Return the θ by which a projection onto ℓ_1's ball lowers every magnitude."""
        return self._lowered(radius)[0]

    def _lowered(self, radius: float) -> tuple[float, int]:
        """Return θ, and how many magnitudes are above it."""
        counts = np.arange(1, self.magnitudes.size + 1)
        kept = max(1, int(np.count_nonzero(self.magnitudes * counts > self.sums[1:] - radius)))
        return float(self.sums[kept] - radius) / kept, kept
