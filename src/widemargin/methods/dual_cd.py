"""Dual coordinate descent: random order, shrinking, extrapolation, exact intercept (§2, §9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import core
from widemargin.methods.base import Settings
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_ENTRIES_PER_CALL = 8_000_000
"""Work of one compiled call at most, in stored values: some 20 to 50 ms."""

_VISIT = {"hinge": 30, "squared_hinge": 30, "logistic": 60}
"""Stored values that take as long as what a visit costs beside its row."""

_STIFFNESS = {"hinge": 1.0, "squared_hinge": 2.0, "logistic": 0.25}
"""What an example alone can do to its own margin, in multiples of c_i ‖x_i‖²."""

_SOFT = 0.3
"""Stiffness up to which many examples share what a margin needs, so that the first sweep has to
anticipate those to come."""

_FINE = 1e-7
"""A tolerance below which the rounding in w counts at every check."""

_MOST_NARROW = 10
"""Sweeps over some examples after which all are looked at again, if the few seem done."""

_EXTRAPOLATE_AFTER = 16
"""Visited values per weight after which the search along the sweeps is worth its price."""

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
        self.residual = state.residual
        self.known = True


@dataclass(eq=False)
class DualCDState:
    """Dual variables, and the weights w = Σ α_i y_i x_i that follow from them."""

    problem: BinaryProblem
    settings: Settings
    alpha: Vector
    w: Vector
    b: float
    rho: float
    members: NDArray[np.int64]
    active: int
    residual: float
    before: Moved
    older: Moved
    everyone: NDArray[np.int64]
    """The members, in order, once extrapolations need them."""
    scratch: Vector
    random: np.random.Generator
    shrink_low: float = -np.inf
    shrink_high: float = np.inf
    expected_gap: float = np.inf
    passes: float = 0.0
    finished: bool = False
    visits_per_call: int = 1
    ahead: float = 0.0
    """For the first sweep: see core/sweeps/dual_cd.hpp."""
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

    @property
    def point(self) -> Point:
        """The current point; the intercept is the multiplier's running value."""
        return Point(self.w, self.b + self.rho * self.residual, self.alpha)


class DualCD:
    """Minimise the dual exactly in one α_i at a time, each at the cost of one row."""

    name = "dual_cd"
    serves: ClassVar[type[BinaryProblem]] = BinaryProblem

    def refuses(self, problem: BinaryProblem) -> str | None:
        """Serve every binary problem."""
        return None

    def start(self, problem: BinaryProblem, warm: Point | None, settings: Settings) -> DualCDState:
        """Start at α = 0 or at the warm dual variables."""
        rows = problem.rows
        point = problem.cold_point() if warm is None else warm
        alpha = problem.loss.clip(point.alpha, problem.cost)
        w = rows.combine(alpha, problem.y) if alpha.any() else np.zeros(rows.weights)
        # An example without cost has no say, and its coordinate no curvature.
        members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
        norm = float(rows.norms.mean()) if rows.count else 1.0
        entries = max(1.0, rows.view.nonzeros / max(1, rows.count))
        return DualCDState(
            problem,
            settings,
            alpha,
            w,
            b=point.b if problem.free_intercept else 0.0,
            rho=_penalty(problem, norm) if problem.free_intercept else 0.0,
            members=members,
            active=members.size,
            residual=float(alpha @ problem.y),
            before=Moved(),
            older=Moved(),
            everyone=members[:0],
            scratch=np.empty_like(w),
            random=np.random.default_rng(settings.seed),
            mean_entries=entries,
            count=members.size,
            visits_per_call=max(
                256, int(_ENTRIES_PER_CALL / (entries + _VISIT[problem.loss.name]))
            ),
            ahead=_anticipation(problem, members.size) if warm is None else 0.0,
        )

    def advance(self, state: DualCDState) -> None:
        """Sweep over the active examples, again if they are few, and extrapolate.

        A step is worth at least a quarter of a pass, so that what is done once a step stays small
        beside it and steps can be counted against ``max_iter``.
        """
        problem = state.problem
        # 1) sweep; the multiplier of Σ α_i y_i = 0 takes over what the penalty had to do
        visited, largest, smallest, gap = self._sweeps(state)
        if state.rho > 0.0:
            state.b += state.rho * state.residual
            gap += state.rho * state.residual**2
        # 2) shrink by what it saw
        state.shrink_high = largest if largest > 0.0 else np.inf
        state.shrink_low = smallest if smallest < 0.0 else -np.inf
        settled = state.passes >= _SETTLED
        state.passes += visited / max(1, state.count)

        # 3) extrapolate along the sweeps since the last time, once they have cost more than it
        if settled:
            state.since_extrapolation += visited
            due = state.since_extrapolation * state.mean_entries
            if due >= _EXTRAPOLATE_AFTER * state.w.size:
                if state.before.known:
                    self._extrapolate(state)
                else:
                    self._mark(state)
        elif state.passes >= _SETTLED:
            self._mark(state)

        # 4) judge; open up again when the active examples are done
        state.expected_gap = self._expected_gap(state, gap)
        if state.expected_gap <= state.settings.tol < _FINE:
            self._refresh(state)
        if state.active == state.count:
            state.finished = largest == 0.0 and smallest == 0.0 and state.residual == 0.0
        elif self._done_with_active(state) or state.active == 0 or self._stale(state):
            state.members = np.flatnonzero(problem.cost > 0.0).astype(np.int64)
            state.active = state.count
            state.shrink_high, state.shrink_low = np.inf, -np.inf
            self._mark(state)

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
        return state.rho > 0.0 and state.steps % _REOPEN == 0

    def _sweeps(self, state: DualCDState) -> tuple[int, float, float, float]:
        """Visit every active example, again while they are few.

        Returns the visits, and what the last sweep saw: the extreme gradients and the gap.
        """
        seed = int(state.random.integers(2**63))
        if state.active > state.visits_per_call:
            return self._long_sweep(state, seed)
        visits = 0 if state.rho > 0.0 else min(-(-state.count // 4), state.visits_per_call)
        visited, state.active, state.residual, largest, smallest, gap = core.dual_sweeps(
            *self._arrays(state),
            state.active,
            state.residual,
            state.b,
            state.rho,
            state.shrink_low,
            state.shrink_high,
            visits,
            0.5 * state.settings.tol * state.primal,
            seed,
            state.ahead,
        )
        state.ahead = 0.0
        return visited, largest, smallest, gap

    def _long_sweep(self, state: DualCDState, seed: int) -> tuple[int, float, float, float]:
        """Visit every active example once, in calls short enough for interrupts between them."""
        count = state.active
        blocks = np.arange(-(-count // core.block_length))
        core.shuffle(blocks, blocks.size, seed)
        largest, smallest, gap, position = -np.inf, np.inf, 0.0, 0
        while position < blocks.size:
            position, state.residual, high, low, part = core.dual_sweep(
                *self._arrays(state),
                count,
                state.residual,
                state.b,
                state.rho,
                state.shrink_low,
                state.shrink_high,
                blocks,
                position,
                -(-state.visits_per_call // core.block_length),
                seed,
                state.ahead,
            )
            largest, smallest, gap = max(largest, high), min(smallest, low), gap + part
            if position < blocks.size:
                state.problem.rows.checkpoint()
        state.ahead = 0.0
        state.active = core.compact(state.members, count)
        return count, largest, smallest, gap

    def _extrapolate(self, state: DualCDState) -> None:
        """Go on along the best combination of the last two moves, or else along the last one."""
        problem, before, older = state.problem, state.before, state.older
        head = (*self._arrays(state)[:-1], state.everyone, state.everyone.size)
        length = 0.0
        if older.known and before.known:
            # Who is interrupted from here on looks back to no more than one point.
            older.known = False
            length, older.residual = core.join_moves(
                *head,
                state.residual,
                state.b,
                state.rho,
                before.alpha,
                before.w,
                before.residual,
                older.alpha,
                older.w,
                older.residual,
            )
            problem.rows.checkpoint()
        for beginning, moves in [(older, length), (before, 1.0)][0 if length > 0.0 else 1 :]:
            step, state.residual = core.extrapolate(
                *head,
                state.residual,
                state.b,
                state.rho,
                beginning.alpha,
                beginning.w,
                beginning.residual,
                state.scratch,
            )
            problem.rows.checkpoint()
            if step > 0.0:
                state.drift *= 1.0 + step * moves
                break
        # Long runs add up rounding in w, and long steps blow it up; it is computed afresh in time.
        state.extrapolations += 1
        if state.extrapolations % _REFRESH == 0 or state.drift > _DRIFT * state.settings.tol:
            self._refresh(state)
        self._mark(state)

    def _refresh(self, state: DualCDState) -> None:
        """Compute w from α; earlier points, whose w has other rounding, are no longer known."""
        problem = state.problem
        state.w[:] = problem.rows.combine(state.alpha, problem.y)
        state.residual = float(state.alpha @ problem.y)
        state.drift = _ROUNDING
        state.before.known = state.older.known = False

    def _mark(self, state: DualCDState) -> None:
        """Remember the point that the next extrapolation starts from."""
        if state.passes < _SETTLED:
            return
        if state.everyone.size == 0:
            state.everyone = np.flatnonzero(state.problem.cost > 0.0).astype(np.int64)
        state.before, state.older = state.older, state.before
        state.before.take(state)
        state.since_extrapolation = 0

    def _arrays(self, state: DualCDState) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any]:
        """Return what every compiled call takes first; the active examples come last."""
        problem = state.problem
        return (
            problem.rows.view,
            problem.loss.name,
            problem.y,
            problem.cost,
            problem.rows.norms,
            state.alpha,
            state.w,
            state.members,
        )

    def _expected_gap(self, state: DualCDState, gap: float) -> float:
        """Predict the relative gap at the end of the sweep from what was seen during it.

        The sum over the visits is the gap as it was on average half a sweep ago; it is carried
        forward at the rate of the last sweep. (Half a sweep takes away more than the square root of
        what a whole one does: what an example adds is gone right after its visit.)
        """
        dual = state.problem.loss.dual_total(state.alpha, state.problem.cost) - 0.5 * float(
            state.w @ state.w
        )
        rate = gap / state.last_gap if state.last_gap > 0.0 else 1.0
        state.last_gap = gap
        gap *= min(max(rate, 0.05), 1.0) ** 0.8
        state.primal = max(dual + gap, 0.0)
        return gap / state.primal if state.primal > 0.0 else np.inf


def _anticipation(problem: BinaryProblem, members: int) -> float:
    """Return how many examples the first sweep takes as seen before it begins, or zero for none.

    A tenth of all keeps the guesses of the first examples from being wild, less will do where they
    hardly move their own margins. Zero means that it does not anticipate.
    """
    stiffness = _STIFFNESS[problem.loss.name] * float(problem.cost @ problem.rows.norms)
    if stiffness > _SOFT * members:
        return 0.0
    return min(0.1 * members, max(0.02 * members, 0.5 * stiffness))


def _penalty(problem: BinaryProblem, norm: float) -> float:
    """Return ρ: of the size of a row, or larger where costs are so small that b would crawl."""
    mean_cost = float(problem.cost.mean())
    return max(norm, 1.0 / (mean_cost * np.sqrt(problem.rows.count)))
