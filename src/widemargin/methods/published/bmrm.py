"""Bundle methods for regularised risk minimisation (BMRM; `qp` and `ls`).

The empirical risk R(w) = Σ c_i ℓ_i is replaced by the maximum of the tangents seen so far,
⟨w, a_t⟩ + b_t, and w minimises ½‖w‖² plus that. With β_t the dual variables that belong to the t-th
subgradient, a_t = −Xᵀ(yβ_t) and b_t = Σ φ(β_t), so a convex combination of tangents is the dual
point Σ α_t β_t and the model's minimum is a dual value: the method's own gap is our certificate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.methods.published._simplex_qp import solve_simplex_qp
from widemargin.methods.published._subgradient import dual_of_scores
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_IDLE = 30
"""Steps after which a tangent without weight is forgotten."""


@dataclass(eq=False)
class Tangent:
    """A lower bound on the risk: ⟨w, a⟩ + offset, and the dual variables it comes from."""

    a: Vector
    offset: float
    beta: Vector
    idle: int = 0


@dataclass(eq=False)
class BMRMState(State):
    """The best weights so far, the model's minimiser, and the dual point of the model."""

    problem: BinaryProblem
    w: Vector
    b: float
    alpha: Vector
    best: Point
    best_primal: float = np.inf
    model: float = -np.inf
    offset: float = 0.0
    steps: int = 0
    bundle: list[Tangent] = field(default_factory=list)
    shares: Vector = field(default_factory=lambda: np.zeros(0))
    gram: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def point(self) -> Point:
        """The best weights of all steps, and the model's dual point."""
        return Point(self.best.w, self.best.b, self.alpha)


class _BMRM(SupportsAll, ABC):
    """What both variants share: a tangent at w, then a new minimiser of the model."""

    name = "bmrm"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> BMRMState:
        """Start at w = 0, or at the warm weights with an empty model."""
        point = problem.cold_point() if warm is None else warm
        w = np.array(point.w, dtype=np.float64)
        alpha = problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        return BMRMState(problem, w, float(point.b), alpha, Point(w, float(point.b), alpha))

    def advance(self, state: BMRMState) -> None:
        """Take the tangent at w into the model, and minimise the model."""
        problem = state.problem
        # 1) the tangent at w, and the objective there
        scores = problem.rows.scores(state.w)
        beta, b = dual_of_scores(problem, scores, state.b)
        tangent = Tangent(
            -problem.rows.combine(beta, problem.y),
            problem.loss.dual_total(beta, problem.cost),
            beta,
        )
        primal = problem.primal(state.w, b, scores)
        if primal < state.best_primal:
            state.best_primal, state.best = primal, Point(state.w.copy(), b, state.alpha)
        # 2) the model's minimiser; beyond the range of floating point there is none
        if not np.isfinite([primal, float(tangent.a @ tangent.a), tangent.offset]).all():
            state.finished = True
            return
        self._minimise(state, tangent)
        state.b = b
        state.passes += 2.0
        state.steps += 1
        state.active = int(np.count_nonzero(state.alpha))
        gap = state.best_primal - state.model
        state.expected_gap = max(gap, 0.0) / state.best_primal if state.best_primal > 0 else np.inf
        state.finished = gap <= 1e-14 * state.best_primal

    @abstractmethod
    def _minimise(self, state: BMRMState, tangent: Tangent) -> None:
        """Move to the minimiser of the model with one more tangent."""


class BMRMLineSearch(_BMRM):
    """Search only between the old minimiser and the newest tangent: no bundle is kept."""

    name = "bmrm_ls"

    def _minimise(self, state: BMRMState, tangent: Tangent) -> None:
        # max over η of D((1−η)α + ηβ) as the model bounds it: a parabola in η
        if state.steps == 0:
            share = 1.0
        else:
            difference = tangent.a + state.w
            curvature = float(difference @ difference)
            slope = tangent.offset - state.offset + float(state.w @ difference)
            share = min(max(slope / curvature, 0.0), 1.0) if curvature > 0.0 else 0.0
        state.w = (1.0 - share) * state.w - share * tangent.a
        state.alpha = (1.0 - share) * state.alpha + share * tangent.beta
        state.offset = (1.0 - share) * state.offset + share * tangent.offset
        state.model = state.offset - 0.5 * float(state.w @ state.w)


class BMRMQuadraticProgram(_BMRM):
    """Minimise the model exactly, by a quadratic program over the bundle."""

    name = "bmrm_qp"

    def _minimise(self, state: BMRMState, tangent: Tangent) -> None:
        # 1) one more row and column of G = AᵀA
        products = np.array([float(old.a @ tangent.a) for old in state.bundle])
        size = len(state.bundle) + 1
        gram = np.empty((size, size))
        gram[:-1, :-1] = state.gram
        gram[-1, :-1] = gram[:-1, -1] = products
        gram[-1, -1] = float(tangent.a @ tangent.a)
        state.bundle.append(tangent)
        # 2) max ⟨α, b⟩ − ½ αᵀGα over the simplex, from the old solution
        offsets = np.array([old.offset for old in state.bundle])
        start = np.append(state.shares, 1.0 if size == 1 else 0.0)
        shares = solve_simplex_qp(gram, offsets, start, state.problem.rows.checkpoint)
        state.model = float(offsets @ shares) - 0.5 * float(shares @ gram @ shares)
        # 3) its w and its dual point; tangents that have long been idle go
        w, alpha = np.zeros_like(state.w), np.zeros_like(state.alpha)
        for share, old in zip(shares, state.bundle, strict=True):
            old.idle = 0 if share > 0.0 else old.idle + 1
            if share > 0.0:
                w -= share * old.a
                alpha += share * old.beta
        state.w, state.alpha = w, alpha
        kept = np.array([old.idle <= _IDLE for old in state.bundle])
        state.bundle = [old for old, keep in zip(state.bundle, kept, strict=True) if keep]
        state.shares, state.gram = shares[kept], gram[np.ix_(kept, kept)]
