"""The dual variables that a quadratic model of sparse weights has at its minimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.columns import Columns
from widemargin.methods.newton._elastic_net_model import Penalty

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Foreseen:
    """The dual variables of a model at its minimiser: α − h y (X d + move), and what bounds them.

    Those that belong to the new weights violate |v_j| ≤ ρ by what the model left out as well, and
    every violation costs as much as scaling all of them down; these violate it by what is `left`
    of minimising the model, but for clipping, and lose what the model left out squared.
    """

    alpha: Vector
    curvature: Vector
    moves: Vector
    columns: Columns
    z: Vector
    left: float
    missed: float
    """How far the objective is from what the model foretold: about what these fall short of it."""

    def duals(self, problem: Any) -> tuple[Vector, float]:
        """Return them within their ranges, and the norm of what that changed."""
        alpha = self.alpha - self.curvature * problem.y * self.moves
        clipped = np.asarray(problem.loss.clip(alpha, problem.cost))
        return clipped, float(np.linalg.norm(clipped - alpha))

    def slopes(self, penalty: Penalty, outside: Vector, turned: Vector | float) -> Vector:
        """Bound the slopes that belong to them; of columns outside, those given.

        Clipping may have `turned` each by so much.
        """
        places, z = self.columns.places, self.z
        most = penalty.rho + self.left
        slopes = outside.copy()
        there = np.sign(z) * most + penalty.ridge * z
        slopes[places] = np.where(z == 0.0, np.clip(slopes[places], -most, most), there)
        return slopes + np.copysign(turned, slopes)

    def allows(self, penalty: Penalty, outside: Vector, gap: float) -> bool:
        """Whether what the model left and missed, and slopes outside it, allow for a gap."""
        if self.missed > gap:
            return False
        others = np.abs(outside)
        others[self.columns.places] = 0.0
        violation = max(self.left, float(others.max(initial=0.0)) - penalty.rho)
        return violation * penalty.of(self.z) <= gap
