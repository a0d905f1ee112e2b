"""What rounding can do to the certificates of problems in lanes: all of it from sums at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.losses import Loss
from widemargin.problems.rounding import UNDERFLOW, Magnitudes, growth

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_SAFE = 1.0 + 1e-6
_RESCALED = 64.0
"""Roundings by changes of C between two products with the data, at most."""


class Costs(NamedTuple):
    """Sums over the costs of each lane, at C = 1."""

    up: Vector
    down: Vector
    norm: Vector
    largest: Vector

    @classmethod
    def of(cls, signed_cost: Matrix) -> Costs:
        """Add up the costs of the positive and of the negative examples."""
        size = np.abs(signed_cost)
        up = np.maximum(signed_cost, 0.0).sum(axis=0)
        down = np.maximum(-signed_cost, 0.0).sum(axis=0)
        return cls(up, down, np.sqrt(np.einsum("il,il->l", size, size)), size.max(axis=0))

    def at(self, C: float) -> Costs:
        """Return the sums at another C."""
        return Costs(*(C * part for part in self))


def sum_error(count: int) -> float:
    """Return the relative error of a compiled sum over so many examples, a lane each."""
    return growth(count / 32.0 + 128.0)


def loss_errors(
    loss: Loss,
    size: Magnitudes,
    costs: Costs,
    length: Vector,
    b: tuple[Vector, Vector],
    losses: Vector,
) -> Vector:
    """Return what rounding can hide of the loss of each lane; b comes with its own errors."""
    share = growth(size.longest + 3.0)
    per_norm = share * length * size.frobenius
    fixed = share * np.abs(b[0]) + b[1] + (size.longest + 3.0) * UNDERFLOW
    mass = costs.up + costs.down
    # |ℓ′|² ≤ 2hℓ where ℓ ≥ 0 bends by h at most
    each = 1.42 * (np.sqrt(costs.largest) * per_norm + np.sqrt(mass) * fixed)
    bend = loss.stiffness
    steep = np.sqrt(2.0 * bend * losses) * each + 0.5 * bend * each * each
    if loss.bounded:
        steep = np.minimum(steep, costs.norm * per_norm + mass * fixed)
    return np.asarray(_SAFE * steep + sum_error(size.count) * losses)


def dual_errors(
    loss: Loss, size: Magnitudes, costs: Costs, sums: Matrix, squared: Vector
) -> Vector:
    """Return what rounding can have added to D of each lane, but for the residual.

    The sums are those of `LanesProblem.dual_sums`, `squared` are ‖v‖².
    """
    linear = sums[0] + sums[1]
    if loss.dual_quadratic is None:
        terms = growth(48.0) * (costs.up + costs.down) + sum_error(size.count) * np.abs(sums[2])
    else:
        terms = sum_error(size.count) * (linear + sums[3])
    # ‖α‖ ≤ Σα, and ≤ ‖c‖ or √(4 c_max Σ α²/(4c))
    norm = costs.norm if loss.bounded else np.sqrt(4.0 * costs.largest * sums[3])
    norm = _SAFE * np.minimum(linear, norm)
    off = growth(size.count + 8.0 + _RESCALED) * norm * size.frobenius
    off += size.count * np.sqrt(size.width) * UNDERFLOW
    own = _SAFE * np.sqrt(squared + size.width * UNDERFLOW)
    quadratic = growth(size.width + 8.0 + _RESCALED) * squared + _SAFE * (own + off) * off
    return np.asarray(terms + quadratic + size.count * UNDERFLOW)


def prices(loss: Loss, costs: Costs, residual: Vector, norm: Vector, longest: float) -> Vector:
    """Return what the residuals of free intercepts can be worth.

    `norm` is above the norm of each lane's optimal weights, `longest` above that of every row.
    """
    out = np.zeros_like(residual)
    for lane in np.flatnonzero(residual > 0.0):
        up, down = float(costs.up[lane]), float(costs.down[lane])
        if up > 0.0 and down > 0.0:
            reach = loss.intercept_reach(up, down) + 1e-6 + float(norm[lane]) * longest
            out[lane] = _SAFE * reach * residual[lane]
        else:
            out[lane] = np.inf
    return out
