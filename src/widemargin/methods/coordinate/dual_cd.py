"""Dual coordinate descent: random order, shrinking, extrapolation, exact intercept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.methods.base import Settings, State
from widemargin.methods.coordinate._face_steps import FaceSteps
from widemargin.methods.coordinate._multiplier import carried_forward, penalty
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_SOFT = 0.3
"""Stiffness up to which many examples share what a margin needs, so that the first sweep has to
anticipate those to come."""

_FINE = 1e-7
"""A tolerance below which the rounding in w counts at every check."""

_MOST_NARROW = 10
"""Sweeps over some examples after which all are looked at again, if the few seem done."""

_SETTLED = 10
"""Passes before the first search: the first sweeps point nowhere in particular."""

_REOPEN = 20
"""Steps after which all examples are visited again where the intercept is free."""

_REFRESH = 25
"""Extrapolations after which w is computed from α again."""

_ROUNDING, _DRIFT = 1e-15, 1e-3
"""The relative rounding in fresh weights; the share of the tolerance that it may grow to."""


@dataclass(eq=False)
class Moved:
    """A point that an extrapolation may look back to, if it is known.

    Its vectors are made when the first one is due: vectors over the examples are memory.
    """

    alpha: Vector = field(default_factory=lambda: np.empty(0))
    w: Vector = field(default_factory=lambda: np.empty(0))
    residual: float = 0.0
    known: bool = False

    def take(self, state: DualCDState) -> None:
        """Become the present point."""
        if self.alpha.size == 0:
            self.alpha, self.w = np.empty_like(state.alpha), np.empty_like(state.w)
        np.copyto(self.alpha, state.alpha)
        np.copyto(self.w, state.w)
        self.residual = state.sweeps.residual
        self.known = True


@dataclass(eq=False)
class DualCDState(State):
    """Dual variables, and the weights w = Σ α_i y_i x_i that follow from them."""

    problem: BinaryProblem
    settings: Settings
    alpha: Vector
    w: Vector
    sweeps: core.DualSweeps
    """Works on α and w in place; knows Σ α_i y_i, b and the active set."""
    random: np.random.Generator
    before: Moved = field(default_factory=Moved)
    older: Moved = field(default_factory=Moved)
    visits_per_call: int = 1
    count: int = 0
    mean_entries: float = 1.0
    since_extrapolation: int = 0
    extrapolations: int = 0
    drift: float = _ROUNDING
    """An estimate of the relative rounding in w."""
    steps: int = 0
    narrow_sweeps: int = 0
    wanted_gap: float = np.inf
    last_gap: float = np.inf
    primal: float = 0.0
    faces: FaceSteps | None = None
    """Steps on a face of the box, where the problem has them."""

    @property
    def point(self) -> Point:
        """The current point; the intercept is the multiplier's running value."""
        sweeps = self.sweeps
        return Point(self.w, sweeps.b + sweeps.rho * sweeps.residual, self.alpha)


class DualCD:
    """Minimise the dual exactly in one α_i at a time, each at the cost of one row."""

    name = "dual_cd"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Support every compiled loss."""
        if not problem.loss.compiled:
            nearest = "newton" if problem.loss.smooth else "bmrm_qp"
            return (
                f"solver 'dual_cd' needs a compiled loss, which '{problem.loss.name}' is not; "
                f"the nearest solver that supports it is '{nearest}'"
            )
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> DualCDState:
        """Start at α = 0 or at the warm dual variables."""
        rows, free, b = problem.rows, problem.free_intercept, 0.0
        if warm is None:
            alpha, w = np.zeros(rows.count), np.zeros(rows.weights)
        else:
            alpha = problem.loss.clip(warm.alpha, problem.cost)
            w = rows.combine(alpha, problem.y) if alpha.any() else np.zeros(rows.weights)
            b = warm.b if free else 0.0
        rho = 0.0
        if free:
            rho = penalty(problem.cost, float(rows.norms.mean()) if rows.count else 1.0)
        entries = max(1.0, rows.view.nonzeros / max(1, rows.count))
        sweeps = problem.sweeps(alpha, w, b=b, rho=rho)
        if warm is None:
            sweeps.ahead = _anticipation(problem, sweeps.active)
        return DualCDState(
            problem,
            settings,
            alpha,
            w,
            sweeps,
            np.random.default_rng(settings.seed),
            active=sweeps.active,
            mean_entries=entries,
            count=sweeps.active,
            faces=FaceSteps() if problem.has_faces else None,
            visits_per_call=max(
                256, int(MACHINE.call / rows.size.sweep(problem.loss.visit_cost, 1.0))
            ),
        )

    def advance(self, state: DualCDState) -> None:
        """Extrapolate, and sweep over the active examples, again if they are few.

        A step is worth at least a quarter of a pass, so that what is done once a step stays small
        beside it and steps can be counted against ``max_iter``.
        """
        problem, sweeps = state.problem, state.sweeps
        # 1) extrapolate along the sweeps since the last time, once they have cost more than it. Not
        # after the sweep: single margins are off then, and the gap is larger than what it saw
        due = state.since_extrapolation * state.mean_entries
        if state.since_extrapolation > 0 and due >= MACHINE.extrapolate_after * state.w.size:
            if state.before.known:
                self._extrapolate(state)
            else:
                self._mark(state)
        faces, size = state.faces, problem.rows.size
        if faces is not None and faces.due(size, state.active):
            self._solve_face(state, faces)

        # 2) sweep; the multiplier of Σ α_i y_i = 0 takes over what the penalty had to do
        visited, gap = self._sweeps(state), sweeps.gap
        state.active = sweeps.active
        state.misplaced = self._misplaced(state)
        if sweeps.rho > 0.0:
            sweeps.b += sweeps.rho * sweeps.residual
            gap += sweeps.rho * sweeps.residual**2
        settled = state.passes >= _SETTLED
        state.passes += visited / max(1, state.count)
        work = MACHINE.sweep_call + size.sweep(problem.loss.visit_cost, visited)
        problem.meter.add(work)
        if faces is not None:
            faces.spent += work
        if settled:
            state.since_extrapolation += visited
        elif state.passes >= _SETTLED:
            self._mark(state)

        # 3) judge; open up again when the active examples are done
        state.expected_gap = self._expected_gap(state, gap)
        if state.expected_gap <= state.settings.tol < _FINE:
            self._refresh(state)
        if state.active == state.count:
            still = sweeps.largest_gradient == 0.0 == sweeps.smallest_gradient
            state.finished = still and sweeps.residual == 0.0
        elif self._done_with_active(state) or state.active == 0 or self._stale(state):
            sweeps.open()
            state.active = state.count
            self._mark(state)

    @staticmethod
    def _misplaced(state: DualCDState) -> float:
        """Return the share of the examples on the wrong side, or outside of the tube."""
        loss, count = state.problem.loss, max(1, state.count)
        if not loss.of_margins:  # those on the edge, and those that were left out, are counted too
            return float(np.count_nonzero(state.alpha)) / count
        return state.sweeps.misplaced / count if loss.sparse else np.nan

    def _done_with_active(self, state: DualCDState) -> bool:
        """Whether all examples should have a say again: the gap over the active ones is small.

        When opening up did not end the run, the guess was too hopeful, and sweeps over the few are
        cheap: the next time it has to be half as large, or many sweeps later.
        """
        state.narrow_sweeps += 1
        if state.expected_gap > state.settings.tol:
            return False
        if state.expected_gap > state.wanted_gap and state.narrow_sweeps < _MOST_NARROW:
            return False
        state.wanted_gap, state.narrow_sweeps = 0.5 * state.expected_gap, 0
        return True

    def _stale(self, state: DualCDState) -> bool:
        """Whether the intercept may have moved too far since examples were left out."""
        state.steps += 1
        return state.sweeps.rho > 0.0 and state.steps % _REOPEN == 0

    def _sweeps(self, state: DualCDState) -> int:
        """Visit every active example, again while they are few; return the number of visits."""
        sweeps, seed = state.sweeps, int(state.random.integers(2**63))
        count = sweeps.active
        if count <= state.visits_per_call:
            visits = 0 if sweeps.rho > 0.0 else min(-(-state.count // 4), state.visits_per_call)
            return sweeps.sweeps(visits, 0.5 * state.settings.tol * state.primal, seed)
        # Once, in calls short enough for interrupts between them.
        sweeps.begin(seed)
        while not sweeps.sweep(state.visits_per_call):
            state.problem.rows.checkpoint()
        return count

    def _extrapolate(self, state: DualCDState) -> None:
        """Go on along the best combination of the last two moves, or else along the last one."""
        problem, sweeps, before, older = state.problem, state.sweeps, state.before, state.older
        problem.meter.add(problem.rows.size.extrapolation(problem.loss.visit_cost))
        length = 0.0
        if older.known and before.known:
            # After an interrupt below, only one earlier point is valid.
            older.known = False
            length, older.residual = sweeps.join_moves(
                before.alpha, before.w, before.residual, older.alpha, older.w, older.residual
            )
            problem.rows.checkpoint()
        for beginning, moves in [(older, length), (before, 1.0)][0 if length > 0.0 else 1 :]:
            step = sweeps.extrapolate(beginning.alpha, beginning.w, beginning.residual)
            problem.rows.checkpoint()
            if step > 0.0:
                state.drift *= 1.0 + step * moves
                break
        # Long runs add up rounding in w, and long steps blow it up; it is computed afresh in time.
        state.extrapolations += 1
        if state.extrapolations % _REFRESH == 0 or state.drift > _DRIFT * state.settings.tol:
            self._refresh(state)
        self._mark(state)

    def _solve_face(self, state: DualCDState, faces: FaceSteps) -> None:
        """Solve for the dual variables that are at no bound, if these have settled."""
        problem = state.problem
        if not faces.settled(state.alpha, problem.cost):
            return
        if faces.step(problem, state.point, state.sweeps.rho, state.expected_gap):
            self._refresh(state)
            self._mark(state)

    def _refresh(self, state: DualCDState) -> None:
        """Compute w from α; earlier points, whose w has other rounding, are no longer known."""
        problem = state.problem
        state.w[:] = problem.rows.combine(state.alpha, problem.y)
        state.sweeps.residual = problem.residual(state.alpha)
        state.drift = _ROUNDING
        state.before.known = state.older.known = False

    def _mark(self, state: DualCDState) -> None:
        """Remember the point that the next extrapolation starts from."""
        if state.passes < _SETTLED:
            return
        state.before, state.older = state.older, state.before
        state.before.take(state)
        state.since_extrapolation = 0

    def _expected_gap(self, state: DualCDState, gap: float) -> float:
        """Predict the relative gap at the end of the sweep from what was seen during it.

        Half a sweep takes away more than the square root of what a whole one does: what an example
        adds is gone right after its visit.
        """
        dual = state.problem.dual(state.alpha, state.w)
        state.last_gap, seen, gap = gap, gap, carried_forward(gap, state.last_gap, 0.8)
        if seen > 0.0 and not state.problem.loss.smooth and not state.problem.linear_intercept:
            closed = state.sweeps.closed_by_larger(float(state.w @ state.w))
            gap *= max(0.0, 1.0 - closed / seen)
        state.primal = state.problem.magnitude(dual + gap)
        return state.problem.relative(gap, dual + gap)


def _anticipation(problem: BinaryProblem, members: int) -> float:
    """Return how many examples the first sweep takes as seen before it begins, or zero for none.

    A tenth of all keeps the guesses of the first examples from being wild, less will do where they
    hardly move their own margins. Zero means that it does not anticipate.
    """
    stiffness = problem.loss.stiffness * float(problem.cost @ problem.rows.norms)
    if stiffness > _SOFT * members:
        return 0.0
    return min(0.1 * members, max(0.02 * members, 0.5 * stiffness))
