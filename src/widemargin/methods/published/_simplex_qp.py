"""The small quadratic program inside a bundle method: max ⟨α, b⟩ − ½ αᵀGα over the simplex."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def solve_simplex_qp(
    gram: Matrix,
    offsets: Vector,
    start: Vector,
    checkpoint: Callable[[], None] = lambda: None,
) -> Vector:
    """Maximise by an active-set method that starts from a feasible α.

    On the support of α the optimum under Σ α = 1 alone is a linear system; α moves towards it until
    a coordinate reaches zero and leaves the support, or arrives and lets the coordinate with the
    steepest gradient in. Warm starts from the previous bundle need a few systems each; the
    checkpoint is called before every one, and may raise.
    """
    alpha = start.copy()
    support = np.flatnonzero(alpha > 0.0)
    ridge = 1e-14 * max(float(np.trace(gram)) / offsets.size, 1e-300)
    scale = float(np.abs(offsets).max()) + float(np.abs(gram).max())
    for _ in range(20 * offsets.size + 50):
        checkpoint()
        # 1) the optimum on the support
        side = support.size
        system = np.ones((side + 1, side + 1))
        system[:side, :side] = gram[np.ix_(support, support)]
        np.einsum("ii->i", system)[:side] += ridge
        system[side, side] = 0.0
        target = _solved(system, np.append(offsets[support], 1.0))[:side]
        # 2) towards it, as far as the signs allow
        here = alpha[support]
        falling = target < 0.0
        if falling.any():
            lengths = here[falling] / (here[falling] - target[falling])
            length = float(lengths.min())
            moved = here + length * (target - here)
            moved[np.flatnonzero(falling)[lengths <= length]] = 0.0
            alpha[support] = np.maximum(moved, 0.0)
            support = support[alpha[support] > 0.0]
            continue
        alpha[:] = 0.0
        alpha[support] = target / target.sum()
        # 3) which one would help most?
        gradient = offsets - gram @ alpha
        best = int(np.argmax(gradient))
        if gradient[best] <= float(alpha @ gradient) + 1e-13 * scale or alpha[best] > 0.0:
            break
        support = np.append(support, best)
    return alpha


def _solved(system: Matrix, right: Vector) -> Vector:
    """Solve a symmetric system, singular or not; its entries must be finite."""
    try:
        return np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(system)
        kept = np.abs(values) > 1e-15 * float(np.abs(values).max())
        return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ right) / values[kept]))
