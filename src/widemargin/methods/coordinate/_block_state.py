"""What the methods of block dual descent share: dual variables, weights, multipliers, sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.methods.coordinate._multiplier import carried_forward, penalty
from widemargin.problems.certificate import Point
from widemargin.problems.compressed_duals import CompressedDuals, residual_of
from widemargin.problems.multiclass import MulticlassProblem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(eq=False)
class BlockState(State):
    """Dual variables β, and the weights W and the residual r that follow from them."""

    problem: MulticlassProblem
    settings: Settings
    duals: core.BlockDuals
    weights: Matrix
    b: Vector
    residual: Vector
    rho: float
    sweeps: core.BlockSweeps
    """Works on the dual variables, weights and residual in place; holds the active set."""
    count: int
    random: np.random.Generator
    last_gap: float = np.inf
    primal: float = 0.0
    visits_per_call: int = 1
    threshold: float = 0.0

    @property
    def point(self) -> Point:
        """The current point; the intercept is the multiplier's running value."""
        k = self.problem.classes
        # The copy stays in the order of W: turning it over would cost as much as a pass.
        w = self.weights[:, :k].copy().T
        return Point(w, (self.b + self.rho * self.residual)[:k], self.beta().sparse(k))

    def beta(self) -> CompressedDuals:
        """Return a copy of the dual variables."""
        return CompressedDuals.read(self.duals, self.problem.rows.count)

    @classmethod
    def at(
        cls, problem: MulticlassProblem, warm: Point | None, settings: Settings, costly: float
    ) -> BlockState:
        """Start at β = 0 or at the warm dual variables; a visit is `costly` times a product."""
        rows, k = problem.rows, problem.classes
        duals = core.BlockDuals(rows.count, k)
        weights = np.zeros((rows.weights, problem.stride))
        b, residual = np.zeros(problem.stride), np.zeros(problem.stride)
        if warm is not None:
            beta = problem.in_range(warm.alpha)
            duals.write(*beta, k)
            weights = problem.losses_and_combination(warm.w, np.zeros(k), beta)[1]
            if problem.free_intercept:
                b[:k] = warm.b
                residual[:k] = residual_of(beta, problem.label, k)
        norm = float(rows.norms.mean()) if rows.count else 1.0
        rho = penalty(problem.cost, norm) if problem.free_intercept else 0.0
        sweeps = core.BlockSweeps(problem.core, duals, weights, residual, b, rho)
        products = max(1.0, rows.view.nonzeros / max(1, rows.count)) * problem.stride
        return cls(
            problem,
            settings,
            duals,
            weights,
            b,
            residual,
            rho,
            sweeps,
            active=sweeps.active,
            count=sweeps.active,
            random=np.random.default_rng(settings.seed),
            visits_per_call=max(
                64, int(MACHINE.block_products / (products + costly * problem.stride))
            ),
        )

    def sweep(self, visit: Callable[[], bool]) -> float:
        """Visit every active example once, in calls short enough for interrupts between them.

        Returns the gap seen; the multipliers of r(β) = 0 take over what the penalty had to do.
        """
        self.sweeps.begin(int(self.random.integers(2**63)))
        while not visit():
            self.problem.rows.checkpoint()
        self.active = self.sweeps.active
        gap = self.sweeps.gap
        if self.rho > 0.0:
            self.b += self.rho * self.residual
            gap += self.rho * float(self.residual @ self.residual)
        return gap

    def judge(self, gap: float, passes: float = 1.0) -> None:
        """Predict the relative gap from what was seen during the `passes` since the last time."""
        flat = self.weights.reshape(-1)
        dual = self.duals.sum - 0.5 * float(flat @ flat)
        share = 1.0 / max(passes, 1.0)
        self.last_gap, gap = gap, carried_forward(gap, self.last_gap, share)
        self.primal = max(dual + gap, 0.0)
        self.expected_gap = gap / self.primal if self.primal > 0.0 else np.inf
