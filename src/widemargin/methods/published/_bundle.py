"""The bundle of BMRM for structured losses: tangents of the risk, and the minimiser of their model.

The tangent at w is a = −Σ c_i (f_i(y_i) − f_i(ŷ_i)), b = Σ c_i Δ_i(ŷ_i) with ŷ_i the most violated
outputs. A convex combination of tangents is a dual point that gives each example the same shares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import State
from widemargin.methods.published._simplex_qp import solve_simplex_qp

Array = NDArray[np.float64]


@dataclass(eq=False)
class Tangent:
    """A lower bound on the risk, offset − ⟨w, direction⟩, and the outputs it comes from."""

    direction: Array
    offset: float
    outputs: Any


@dataclass(eq=False)
class BundleState(State):
    """The best weights so far, and the model: its tangents, their shares and its minimiser w."""

    problem: Any
    w: Array
    best: Array
    best_primal: float = np.inf
    model: float = -np.inf
    bundle: list[Tangent] = field(default_factory=list)
    shares: Array = field(default_factory=lambda: np.zeros(0))
    gram: Array = field(default_factory=lambda: np.zeros((0, 0)))


def extend(
    state: BundleState, primal: float, tangent: Tangent, checkpoint: Callable[[], None]
) -> None:
    """Take the tangent at w, where the objective is `primal`, and minimise the model."""
    if primal < state.best_primal:
        state.best_primal, state.best = primal, state.w
    old = state.shares
    offsets = _take(state, tangent)
    # A share for every tangent, also if the limit of time ends the quadratic program.
    start = state.shares = np.append(old, 1.0 if old.size == 0 else 0.0)
    shares = solve_simplex_qp(state.gram, offsets, start, checkpoint)
    _settle(state, shares, offsets)
    state.passes += 2.0
    gap = state.best_primal - state.model
    state.expected_gap = max(gap, 0.0) / state.best_primal if state.best_primal > 0 else np.inf
    state.finished = gap <= 1e-14 * state.best_primal


def _take(state: BundleState, tangent: Tangent) -> Array:
    """Add a tangent to the bundle and its row to the matrix of inner products."""
    size = len(state.bundle) + 1
    gram = np.empty((size, size))
    gram[:-1, :-1] = state.gram
    state.bundle.append(tangent)
    gram[-1] = [float(np.vdot(old.direction, tangent.direction)) for old in state.bundle]
    gram[:, -1] = gram[-1]
    state.gram = gram
    return np.array([old.offset for old in state.bundle])


def _settle(state: BundleState, shares: Array, offsets: Array) -> None:
    """Move to the weights that shares of the tangents stand for; forget those without one."""
    state.model = float(offsets @ shares) - 0.5 * float(shares @ state.gram @ shares)
    w = np.zeros_like(state.w)
    for share, old in zip(shares, state.bundle, strict=True):
        if share > 0.0:
            w += share * old.direction
    state.w = w
    kept = shares > 0.0
    state.bundle = [old for old, keep in zip(state.bundle, kept, strict=True) if keep]
    state.shares, state.gram = shares[kept], state.gram[np.ix_(kept, kept)]
