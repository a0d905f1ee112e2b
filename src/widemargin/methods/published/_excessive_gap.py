"""Pragam's steps (BMRM, algorithm 1), for any dual problem whose range has a projection.

Nesterov's excessive gap technique: a primal w_k and dual variables β_k are moved together so that
P(w_k) − D(β_k) ≤ μ_k D₂, while μ_k falls like 4L/((k+1)(k+2)). L bounds the curvature of the dual.
It is adapted: a step that saw more curvature than L is taken again with a larger one, and L is
tried a little smaller after each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import State
from widemargin.problems.certificate import Point

Array = NDArray[np.float64]


class DualRange(Protocol):
    """Dual variables β in an array of any shape, with D(β) = linear(β) − ½‖w(β)‖²."""

    def project(self, target: Array) -> Array:
        """Return the nearest feasible β."""

    def combine(self, duals: Array) -> tuple[Array, float]:
        """Return w(β) and the linear part of the dual value."""

    def slopes(self, w: Array) -> Array:
        """Return the gradient of linear(β) − ⟨w, w(β)⟩, which is affine in w."""

    def primal(self, w: Array, slopes: Array) -> float:
        """Return P(w)."""

    def point(self, w: Array, duals: Array) -> Point:
        """Return the point of a pair."""

    def active(self, duals: Array) -> int:
        """Return how many examples have dual variables that count."""


@dataclass(eq=False)
class ExcessiveGapState(State):
    """The pair (w_k, β_k), the slopes at w_k, the weights w(β_k), and the smoothing μ_k."""

    range: DualRange
    w: Array
    slopes: Array
    duals: Array
    image: Array
    linear: float
    mu: float
    lipschitz: float

    @property
    def point(self) -> Point:
        """The current pair."""
        return self.range.point(self.w, self.duals)


def start(dual: DualRange, before: Array, lipschitz: float) -> ExcessiveGapState:
    """Start by β₀ = v(β₋₁), w₀ = w(β₋₁) from a feasible β₋₁ and a guess of L."""
    w, _ = dual.combine(before)
    slopes = dual.slopes(w)
    lipschitz = max(lipschitz, 1e-300)
    while True:
        duals = dual.project(before + slopes / lipschitz)
        image, linear = dual.combine(duals)
        if _curves_less(image, w, duals - before, lipschitz):
            break
        lipschitz *= 2.0
    state = ExcessiveGapState(dual, w, slopes, duals, image, linear, 2.0 * lipschitz, lipschitz)
    _judge(state)
    return state


def advance(state: ExcessiveGapState) -> None:
    """Take one step of the excessive gap technique."""
    dual = state.range
    # 1) the maximiser of the smoothed dual at w
    smoothed = dual.project(state.slopes / state.mu)
    smoothed_image, _ = dual.combine(smoothed)
    lipschitz = 0.9 * state.lipschitz
    while True:
        # 2) between β_k and the maximiser; τ²/(1−τ) = μ/L is what keeps the gap under μ D₂
        ratio = state.mu / lipschitz
        tau = 0.5 * (np.sqrt(ratio * ratio + 4.0 * ratio) - ratio)
        between = (1.0 - tau) * state.duals + tau * smoothed
        image = (1.0 - tau) * state.image + tau * smoothed_image
        slopes = dual.slopes(image)
        # 3) a projected gradient step
        duals = dual.project(between + slopes / lipschitz)
        new_image, linear = dual.combine(duals)
        state.passes += 2.0
        if _curves_less(new_image, image, duals - between, lipschitz):
            break
        lipschitz *= 2.0
    # 4) w between w_k and w(β); its slopes follow
    state.w = (1.0 - tau) * state.w + tau * image
    state.slopes = (1.0 - tau) * state.slopes + tau * slopes
    state.duals, state.image, state.linear = duals, new_image, linear
    state.mu *= 1.0 - tau
    state.lipschitz = lipschitz
    state.passes += 1.0
    _judge(state)


def _judge(state: ExcessiveGapState) -> None:
    primal = state.range.primal(state.w, state.slopes)
    gap = primal - (state.linear - 0.5 * float(np.vdot(state.image, state.image)))
    state.expected_gap = max(gap, 0.0) / primal if primal > 0.0 else np.inf
    state.active = state.range.active(state.duals)
    state.finished = gap <= 1e-15 * primal


def _curves_less(image: Array, before: Array, step: Array, lipschitz: float) -> bool:
    """Whether ‖w(step)‖² ≤ L ‖step‖², up to the rounding of the weights.

    What is no number ends the search for a larger L.
    """
    way = image - before
    rounding = 1e-13**2 * float(np.vdot(image, image))
    bound = lipschitz * float(np.vdot(step, step)) * (1.0 + 1e-12)
    return not float(np.vdot(way, way)) > bound + rounding
