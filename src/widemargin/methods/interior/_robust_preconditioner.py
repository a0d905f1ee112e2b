"""A preconditioner for the robust interior point with many weights: the heaviest rows exactly.

Near the solution the few examples whose pieces meet outweigh all others. Their part Σ g_i x_i x_iᵀ
is solved exactly together with the constraint's block, a diagonal with one rank for norm 2, through
the matrix of their inner products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.linalg.cholesky import cholesky
from widemargin.methods.interior._norm_cones import RoundCone
from widemargin.problems.robust import RobustProblem

Vector = NDArray[np.float64]

_HEAVY = 0.02
"""A row counts if its curvature, against the rest of the diagonal, is at least this."""


class HeaviestRows:
    """(B + Σ g_i (x_i, 1)(x_i, 1)ᵀ)⁻¹, B the constraint's block with a constant diagonal."""

    def __init__(
        self, problem: RobustProblem, curvature: Vector, corner: float, cone: RoundCone
    ) -> None:
        rows = problem.rows
        d, free = rows.weights, problem.free_intercept
        self.cone, self.corner, self.free = cone, corner, free
        self.diagonal = np.full(d, problem.l2 + 1e-300)
        # B's own answer to a row: `held` times the row, and `bent` times the direction of the rank
        probe = rows.combine(curvature, problem.y)
        weight = curvature * rows.norms
        answer = cone.solve_with(self.diagonal, corner, probe, 0.0)[0]
        held = float(answer @ probe) / max(float(probe @ probe), 1e-300)
        order = np.argsort(-weight, kind="stable")[: MACHINE.largest_factorised]
        chosen = np.sort(order[held * weight[order] > _HEAVY])
        self.usable = False
        if chosen.size == 0:
            return
        self.rows = rows.take(chosen)
        rest = float(curvature.sum() - curvature[chosen].sum())
        self.diagonal_b = max(rest, 1e-6 * float(curvature.sum()), 1e-300)
        self.root = np.sqrt(curvature[chosen])
        gram = self._answers(self.rows.row_gram())
        if free:
            gram += 1.0 / self.diagonal_b
        matrix = gram * self.root * self.root[:, None]
        np.einsum("ii->i", matrix)[:] += 1.0
        self.factor = cholesky(matrix)
        self.usable = self.factor is not None

    def _answers(self, gram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return all x_i · B⁻¹ x_j from all x_i · x_j: B⁻¹ is constant but for one direction."""
        direction = self.cone.leaning()
        size = float(direction @ direction)
        if size <= 0.0:
            answer = self.cone.solve_with(self.diagonal, self.corner, np.ones_like(direction), 0.0)
            return gram * float(answer[0][0])
        along = self.cone.solve_with(self.diagonal, self.corner, direction, 0.0)[0]
        across = np.zeros_like(direction)
        place = int(np.argmin(np.abs(direction)))
        across[place] = 1.0
        across -= direction * (float(direction[place]) / size)
        held = self.cone.solve_with(self.diagonal, self.corner, across, 0.0)[0]
        constant = float(held @ across) / max(float(across @ across), 1e-300)
        bent = (float(along @ direction) / size - constant) / size
        scores = self.rows.scores(direction)
        return constant * gram + bent * np.outer(scores, scores)

    def solve(self, right: Vector) -> Vector:
        """Return the answer to (w, b, λ)."""
        assert self.factor is not None
        out = self._block(right)
        d = self.diagonal.size
        scores = self.rows.scores(out[:d]) + (float(out[d]) if self.free else 0.0)
        share = self.root * self.factor.solve(self.root * scores)
        taken = np.zeros_like(right)
        taken[:d] = self.rows.combine(share)
        taken[d] = float(share.sum()) if self.free else 0.0
        return out - self._block(taken)

    def _block(self, right: Vector) -> Vector:
        d = self.diagonal.size
        out = np.zeros_like(right)
        out[d] = right[d] / self.diagonal_b if self.free else 0.0
        out[:d], out[d + 1] = self.cone.solve_with(
            self.diagonal, self.corner, right[:d], float(right[d + 1])
        )
        return out
