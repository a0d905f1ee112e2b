"""Block dual descent for the joint multiclass problems with a kernel, by working sets.

A working set holds the examples whose blocks of dual variables miss most of the gap. Inside it, one
block after the other is solved exactly, always that which misses most: the step of WALRUS for
Weston-Watkins, and its like for Crammer-Singer. After as many steps as there are members, an exact
line search goes on along the way that they made. Then the change is carried to the scores of all
examples, by one product with the set's rows of K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

_REFRESH = 20
"""Working sets after which the scores are computed from β again: rounding adds up no further."""
_INSIDE = 0.3
"""Share of a working set's gap that descent inside it leaves."""
_VISITS = 50
"""Steps per member of a working set at most, so that a call comes back soon."""


@dataclass(eq=False)
class KernelBlockState(State):
    """β, the scores K A(β), and how much of the gap each block misses."""

    problem: KernelMulticlassProblem
    beta: Matrix
    scores: Matrix
    gaps: Vector
    sets: int = 0

    @property
    def point(self) -> Point:
        """The current point."""
        return Point(self.problem.coefficients(self.beta), 0.0, self.beta.copy())


class KernelBlockDualCD(SupportsAll):
    """Exact steps in all dual variables of one example, inside working sets."""

    name = "block_dual_cd"
    serves: ClassVar[type[Any]] = KernelMulticlassProblem

    def start(
        self, problem: KernelMulticlassProblem, warm: Point | None, settings: Settings
    ) -> KernelBlockState:
        """Start at β = 0 or at the warm dual variables."""
        point = problem.cold_point() if warm is None else warm
        beta = problem.feasible(np.array(point.alpha, dtype=np.float64))
        scores = problem.scores_of(problem.coefficients(beta))
        state = KernelBlockState(problem, beta, scores, np.zeros(problem.gram.count))
        self._judge(state)
        return state

    def advance(self, state: KernelBlockState) -> None:
        """Solve for one working set and carry its change to all scores."""
        problem = state.problem
        gram, n = problem.gram, problem.gram.count
        # 1) the examples that miss most, and their rows of K
        room = n if gram.whole is not None else int(gram.memory / (16.0 * n))
        size = max(1, min(n, MACHINE.joint_set, room))
        places = np.sort(np.argpartition(-state.gaps, size - 1)[:size]).astype(np.int64)
        rows = gram.rows(places)
        # 2) descend inside the set
        before = np.ascontiguousarray(state.beta[places])
        beta, scores = before.copy(), np.ascontiguousarray(state.scores[places])
        own = np.ascontiguousarray(rows[:, places])
        most = _VISITS * size
        steps = problem.core.descend(places, own, beta, scores, _INSIDE, most)
        # 3) carry the change
        change = beta - before
        moved = -change
        label = problem.labels[places]
        np.put_along_axis(moved, label[:, None], change.sum(axis=1)[:, None], axis=1)
        used = np.flatnonzero(change.any(axis=1))
        state.beta[places] = beta
        state.scores += rows[used].T @ moved[used]
        state.sets += 1
        state.passes += (steps * size + size * n) / max(1, n * n)
        if state.sets % _REFRESH == 0:
            state.scores = problem.scores_of(problem.coefficients(state.beta))
        gram.checkpoint()
        self._judge(state)
        state.finished = used.size == 0

    def _judge(self, state: KernelBlockState) -> None:
        """Compute the gap of every block: their sum is the duality gap."""
        problem, scores = state.problem, state.scores
        own = problem.labels[:, None]
        slack = 1.0 + scores - np.take_along_axis(scores, own, axis=1)
        np.put_along_axis(slack, own, 0.0, axis=1)
        linear = np.einsum("ij,ij->i", state.beta, slack)
        positive = np.maximum(slack, 0.0)
        joint = problem.rule == "crammer_singer"
        state.gaps = problem.cost * (positive.max(axis=1) if joint else positive.sum(axis=1))
        state.gaps -= linear
        gap, total = float(state.gaps.sum()), float(state.beta.sum())
        # ½‖W‖² from ⟨β, slack⟩ = Σ β − ‖W‖²
        dual = total - 0.5 * (total - float(linear.sum()))
        state.expected_gap = max(gap, 0.0) / (dual + gap) if dual + gap > 0.0 else np.inf
        state.active = int(np.count_nonzero(state.beta.any(axis=1)))
