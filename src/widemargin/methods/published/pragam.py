"""Pragam: primal-adjoint gap minimisation for the hinge (BMRM paper, Algorithm 1).

Nesterov's excessive gap technique: a primal w_k and a dual α_k are moved together so that
P(w_k) − D(α_k) ≤ μ_k D₂ with D₂ = ½ Σ c_i², while μ_k falls like 4L/((k+1)(k+2)). L bounds the
curvature of the dual, σ₁(X)². It is adapted: a step that saw more curvature than L is taken
again with a larger one, and L is tried a little smaller after each step. With a free intercept
the projections keep Σ α_i y_i = 0 as well (Pragam-b).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]


@dataclass(eq=False)
class PragamState(State):
    """The pair (w_k, α_k), what the data say about it, and the smoothing μ_k."""

    problem: BinaryProblem
    w: Vector
    b: float
    alpha: Vector
    image: Vector
    """Xᵀ(yα)."""
    scores: Vector
    """Xw."""
    mu: float
    lipschitz: float
    largest_lipschitz: float
    gap: float = np.inf

    @property
    def point(self) -> Point:
        """The current pair."""
        return Point(self.w, self.b, self.alpha)


class Pragam:
    """Two projections and three products per step; the gap falls like 1/k².

    Parameters
    ----------
    adapt : bool
        Whether L is adapted; else it is σ₁(X)² by power iteration, as in the paper's analysis.
    """

    name = "pragam"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def __init__(self, adapt: bool = True) -> None:
        self._adapt = adapt

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Support the hinge."""
        if problem.loss.linear_dual:
            return None
        return (
            f"solver 'pragam' supports the loss 'hinge', not '{problem.loss.name}'; "
            "the nearest solver that supports it is "
            + ("'dual_of_dual'" if problem.loss.dual_quadratic else "'newton'")
        )

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> PragamState:
        """Start by α₀ = v(α₋₁), w₀ = w(α₋₁), from α₋₁ = 0 or the warm dual variables."""
        rows, y = problem.rows, problem.y
        point = problem.cold_point() if warm is None else warm
        before = problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        w = rows.combine(before, y)
        scores = rows.scores(w)
        if self._adapt:
            lipschitz = max(float(rows.norms.max(initial=0.0)), 1e-300)
        else:
            lipschitz = max(problem.largest_curvature(settings.seed), 1e-300)
        while True:
            alpha = problem.feasible(before + (1.0 - y * scores) / lipschitz)
            image = rows.combine(alpha, y)
            if not self._adapt or _curves_less(image - w, alpha - before, lipschitz):
                break
            lipschitz *= 2.0
        state = PragamState(
            problem, w, float(point.b), alpha, image, scores, 2.0 * lipschitz, lipschitz, lipschitz
        )
        self._judge(state)
        return state

    def advance(self, state: PragamState) -> None:
        """Take one step of the excessive gap technique."""
        problem = state.problem
        rows, y = problem.rows, problem.y
        # 1) α_μ(w), the maximiser of the smoothed dual at w
        smoothed = problem.feasible((1.0 - y * state.scores) / state.mu)
        smoothed_image = rows.combine(smoothed, y)
        lipschitz = 0.9 * state.lipschitz if self._adapt else state.lipschitz
        while True:
            # 2) β between α_k and α_μ; τ²/(1−τ) = μ/L is what keeps the gap under μ D₂
            ratio = state.mu / lipschitz
            tau = 0.5 * (np.sqrt(ratio * ratio + 4.0 * ratio) - ratio)
            beta = (1.0 - tau) * state.alpha + tau * smoothed
            image = (1.0 - tau) * state.image + tau * smoothed_image
            scores = rows.scores(image)
            # 3) α_{k+1} = v(β), a projected gradient step
            alpha = problem.feasible(beta + (1.0 - y * scores) / lipschitz)
            new_image = rows.combine(alpha, y)
            state.passes += 2.0
            if not self._adapt or _curves_less(new_image - image, alpha - beta, lipschitz):
                break
            lipschitz *= 2.0
        # 4) w_{k+1} between w_k and w(β); its scores follow
        state.w = (1.0 - tau) * state.w + tau * image
        state.scores = (1.0 - tau) * state.scores + tau * scores
        state.alpha, state.image = alpha, new_image
        state.mu *= 1.0 - tau
        state.lipschitz = lipschitz
        state.largest_lipschitz = max(state.largest_lipschitz, lipschitz)
        state.passes += 1.0
        self._judge(state)

    def _judge(self, state: PragamState) -> None:
        problem = state.problem
        if problem.free_intercept:
            state.b = problem.loss.best_intercept(problem.y, problem.cost, state.scores, state.b)
        primal = problem.primal(state.w, state.b, state.scores)
        state.gap = primal - problem.dual(state.alpha, state.image)
        state.expected_gap = max(state.gap, 0.0) / primal if primal > 0.0 else np.inf
        state.active = int(np.count_nonzero(state.alpha))
        state.finished = state.gap <= 1e-15 * primal


def _curves_less(image: Vector, step: Vector, lipschitz: float) -> bool:
    """Whether ‖Xᵀ(y step)‖² ≤ L ‖step‖²: L was large enough for this step.

    What is no number is not more than any L, so that no search for a larger one goes on for ever.
    """
    return not float(image @ image) > lipschitz * float(step @ step) * (1.0 + 1e-12)
