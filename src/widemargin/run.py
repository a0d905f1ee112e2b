"""The only loop in the package: advance a method, ask for certificates, decide when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from widemargin.blas import one_blas_thread
from widemargin.interrupt import Interrupt
from widemargin.methods.base import Choice, Progress, Settings
from widemargin.problems.certificate import (
    Certificate,
    Duals,
    Intercept,
    Point,
    Weights,
    percentage,
)
from widemargin.problems.problem import Problem


class Status(Enum):
    """Why a run ended; the value is the sentence that says so."""

    CONVERGED = "the tolerance was reached"
    ITERATION_LIMIT = "the iteration limit was reached"
    TIME_LIMIT = "the time limit was reached"
    INTERRUPTED = "it was interrupted"
    STALLED = "no further progress was possible in floating point"


_ADVICE = {
    Status.ITERATION_LIMIT: "; raise max_iter to come nearer",
    Status.TIME_LIMIT: "; raise time_limit to come nearer",
    Status.STALLED: "; scale the features, or ask for less by a larger tol",
}


@dataclass(frozen=True)
class Record:
    """What one check saw; callbacks receive it, the trace keeps it."""

    iteration: int
    method: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    active: int
    passes: float
    seconds: float


Callback = Callable[[Record], Any]
"""Called with each record; returning True stops the run as an interrupt would."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Weights, intercept, dual variables, and the proof of their quality."""

    w: Weights
    b: Intercept
    alpha: Duals
    certificate: Certificate
    status: Status
    tol: float
    iterations: int
    seconds: float
    solver: str
    trace: tuple[Record, ...]

    def __repr__(self) -> str:
        return f"<Solution: {self.message}>"

    @property
    def point(self) -> Point:
        """The answer as a point, to start another run from."""
        return Point(self.w, self.b, self.alpha)

    @property
    def message(self) -> str:
        """One sentence: how it ended, and how good the answer is."""
        gap = self.certificate.relative_gap
        # No optimum is negative, whatever the dual value says so far.
        within = percentage(min(gap, 1.0))
        quality = f"objective within {within} % of the optimum (gap {gap:.1g})"
        steps = f"{self.iterations} iteration{'s' if self.iterations != 1 else ''}"
        if self.status is Status.CONVERGED:
            return f"converged after {steps}: {quality}, tol {self.tol:g}"
        return (
            f"stopped after {steps} because {self.status.value}: {quality}, tol {self.tol:g}"
            f"{_ADVICE.get(self.status, '')}"
        )

    @property
    def passes(self) -> float:
        """Work in passes over the data, over all methods that ran; certificates not counted."""
        return self.trace[-1].passes if self.trace else 0.0

    def history(self) -> dict[str, list[Any]]:
        """Return the trace as columns."""
        return {
            key: [getattr(record, key) for record in self.trace]
            for key in Record.__dataclass_fields__
        }


class _Stop(Exception):  # noqa: N818 - a signal between run and its checkpoints, not an error
    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class _Best:
    """The best primal and the best dual point seen; together they give the smallest gap."""

    def __init__(self) -> None:
        self.point: Point | None = None
        self.certificate = Certificate(np.inf, -np.inf)

    def take(self, point: Point, certificate: Certificate) -> None:
        # Written so that a value that is not a number is replaced by any other.
        better_primal = not certificate.primal >= self.certificate.primal or self.point is None
        better_dual = not certificate.dual <= self.certificate.dual or self.point is None
        old = point if self.point is None else self.point
        w, b = (point.w.copy(order="K"), point.b) if better_primal else (old.w, old.b)
        alpha = point.alpha if better_dual else old.alpha
        self.point = Point(w, b, alpha)
        self.certificate = Certificate(
            certificate.primal if better_primal else self.certificate.primal,
            certificate.dual if better_dual else self.certificate.dual,
        )


@dataclass(frozen=True)
class _Left:
    """What a run still asks of a state when its method gives way to another."""

    point: Point
    active: int
    passes: float
    expected_gap: float

    @classmethod
    def of(cls, state: Any) -> _Left:
        return cls(state.point, state.active, state.passes, state.expected_gap)


def run(
    problem: Problem,
    choice: Choice,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    time_limit: float | None = None,
    callbacks: Sequence[Callback] = (),
    warm: Point | None = None,
    seed: int = 0,
    interrupt: Interrupt | None = None,
    judge_start: bool = True,
) -> Solution:
    """Solve a problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
    choice : Choice
        Names the methods; see `widemargin.methods.choose`.
    tol : float
        Stop when gap / P is at most this.
    max_iter : int
        Sweeps or steps at most, over all methods.
    time_limit : float, optional
        Seconds at most.
    callbacks : sequence of callables
        Each is called with a `Record` after every check; returning True stops the run.
    warm : Point, optional
        Where to start, from a previous `Solution`.
    seed : int
        Of every random choice.
    interrupt : Interrupt, optional
        Shared by the runs of one fit; by default Ctrl-C is caught for this run.
    judge_start : bool
        Ask for the certificate of the warm point, so that the answer is never worse. A caller that
        knows that it cannot be the answer, as on the way to a larger C, saves it.

    Returns
    -------
    Solution
    """
    began = time.perf_counter()
    watch = Interrupt() if interrupt is None else interrupt
    deadline = np.inf if time_limit is None else began + time_limit

    def checkpoint() -> None:
        if watch.requested:
            raise _Stop(Status.INTERRUPTED)
        if time.perf_counter() >= deadline:
            raise _Stop(Status.TIME_LIMIT)

    watched = problem.watched(checkpoint)
    settings = Settings(tol, seed)
    best, trace = _Best(), []
    iteration = last_check = 0
    last_told = began
    check_seconds = spent = 0.0
    hoped = np.inf
    state: Any = None
    method = choice.first(problem, warm, tol)

    def tell(certificate: Certificate) -> None:
        record = Record(
            iteration,
            method.name,
            certificate.primal,
            certificate.dual,
            certificate.gap,
            certificate.relative_gap,
            state.active,
            spent + state.passes,
            time.perf_counter() - began,
        )
        trace.append(record)
        for callback in callbacks:
            if callback(record) is True:
                watch.request()

    def check(point: Point) -> None:
        nonlocal last_check, last_told, check_seconds, hoped
        started = time.perf_counter()
        # Unwatched: a certificate that was begun is finished, so that every answer has one.
        best.take(*problem.certify(point))
        last_check, last_told = iteration, time.perf_counter()
        check_seconds = last_told - started
        hoped = state.expected_gap if state.expected_gap <= tol else np.inf
        tell(best.certificate)

    def due() -> bool:
        """Whether to ask for the certificate that may end the run: never by the clock."""
        if state.finished:
            return True
        if state.expected_gap <= tol:
            # A method that was too hopeful last time is believed again when it hopes for more.
            return state.expected_gap <= 0.5 * hoped or iteration >= last_check + 5
        return iteration >= 2 * last_check + 50

    def observe() -> None:
        """Look at the present point for those who watch; the run does not depend on it."""
        nonlocal last_told, check_seconds
        started = time.perf_counter()
        quiet = started - last_told
        patience = 0.2 if callbacks else 1.0
        if np.isfinite(state.expected_gap) and quiet > max(patience, 20 * check_seconds):
            present, kept = problem.certify(state.point)[1], best.certificate
            tell(Certificate(min(present.primal, kept.primal), max(present.dual, kept.dual)))
            last_told = time.perf_counter()
            check_seconds = last_told - started

    with watch, one_blas_thread():
        try:
            checkpoint()
            state = method.start(watched, warm, settings)
            if warm is not None and judge_start:
                # The answer is never worse than what it was started from.
                check(warm)
                if best.certificate.relative_gap <= tol:
                    raise _Stop(Status.CONVERGED)
            progress = Progress(problem, method.name, tol)
            while True:
                method.advance(state)
                iteration += 1
                if due():
                    check(state.point)
                    if best.certificate.relative_gap <= tol:
                        status = Status.CONVERGED
                        break
                else:
                    observe()
                checkpoint()
                if iteration >= max_iter:
                    status = Status.ITERATION_LIMIT
                    break
                progress.iterations += 1
                progress.passes = state.passes
                progress.active = state.active
                progress.expected.append(state.expected_gap)
                progress.finished = state.finished
                other = choice.next(progress)
                if other is not None:
                    # The old state's memory is free before the certificate and the new one's.
                    state = _Left.of(state)
                    if last_check < iteration:
                        check(state.point)
                    spent, method, state = spent + state.passes, other, None
                    state = method.start(watched, best.point, settings)
                    progress = Progress(problem, method.name, tol)
                elif state.finished:
                    status = Status.STALLED
                    break
        except _Stop as stop:
            status = stop.status
        if best.point is None and state is None:
            state = method.start(problem, warm, settings)
        if best.point is None or (state is not None and last_check < iteration):
            check(state.point)
        if best.certificate.relative_gap <= tol:
            status = Status.CONVERGED
    assert best.point is not None
    return Solution(
        best.point.w,
        best.point.b,
        best.point.alpha,
        best.certificate,
        status,
        tol,
        iteration,
        time.perf_counter() - began,
        choice.explanation,
        tuple(trace),
    )
