"""The only loop in the package: advance a method, ask for certificates, decide when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.data.quick_init import quick_init
from widemargin.given_way import Left, Paused
from widemargin.interrupt import Interrupt
from widemargin.linalg.blas import one_blas_thread
from widemargin.methods.base import Choice, Method, Progress, Settings
from widemargin.problems.certificate import (
    BestPoint,
    Certificate,
    Intercept,
    Point,
    Weights,
)
from widemargin.problems.problem import Problem
from widemargin.problems.rounding import ROUNDING_SHARE
from widemargin.solution import Record as Record
from widemargin.solution import Solution as Solution
from widemargin.solution import Status as Status

Callback = Callable[[Record], Any]
"""Called with each record; returning True stops the run as an interrupt would."""


class _Stop(Exception):  # noqa: N818 - a signal between run and its checkpoints, not an error
    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


@quick_init
@dataclass(frozen=True)
class _Limits:
    """What a run may spend."""

    iterations: int
    seconds: float | None


class _Run:
    """One run: its limits, the method at work, the best point, and what is told about it."""

    def __init__(
        self,
        problem: Problem,
        choice: Choice,
        limits: _Limits,
        settings: Settings,
        watch: Interrupt,
        callbacks: Sequence[Callback],
        keep: Callable[[Weights, Intercept], object] | None = None,
    ) -> None:
        self.problem, self.choice, self.limits = problem, choice, limits
        self.settings, self.watch, self.callbacks = settings, watch, callbacks
        self.keep = keep
        self.began = self.last_told = time.perf_counter()
        self.deadline = np.inf if limits.seconds is None else self.began + limits.seconds
        self.watched: Any = problem.watched(self.checkpoint)
        # Where a pass over the data takes long, none is begun when the time is up, and certificates
        # are watched too; their work is not the method's.
        rows = getattr(problem, "rows", None)
        self.elsewhere = rows is not None and bool(rows.elsewhere)
        self.judge: Any = problem.watched(self.checkpoint) if self.elsewhere else problem
        self.best, self.trace = BestPoint(), list[Record]()
        self.iteration = self.last_check = 0
        self.check_seconds = self.passes_before = self.work_before = 0.0
        self.hoped, self.finite, self.ended = np.inf, True, False
        self.state: Any = None
        self.method: Any = None
        self.paused: Paused | None = None
        self.progress = Progress(problem, "", settings.tol)

    def checkpoint(self) -> None:
        """Leave what is under way if it was interrupted or the time is up."""
        late = time.perf_counter() >= self.deadline
        if (self.watch.requested or late) and not self.ended:
            raise _Stop(Status.INTERRUPTED if self.watch.requested else Status.TIME_LIMIT)

    def loop(self, warm: Point | None, judge_start: bool) -> Status:
        """Advance methods until something ends the run; say what."""
        try:
            if self.elsewhere:
                self.checkpoint()
            self.method = self.choice.first(self.judge, warm, self.settings.tol)
            self.checkpoint()
            self._begin(warm)
            # The answer is never worse than what it was started from.
            if warm is not None and judge_start and self._check(warm):
                return Status.CONVERGED
            while self.limits.iterations > 0:
                ended = self._step()
                if ended is not None:
                    return ended
            return Status.ITERATION_LIMIT
        except _Stop as stop:
            return stop.status

    def finish(self, status: Status, warm: Point | None) -> Status:
        """Make sure that there is a best point with its certificate, whatever ended the run."""
        if self.elsewhere:
            status = self._finish_elsewhere(status, warm)
        else:
            self.ended = True  # a state may read the data once more to say where it is
            if self.best.point is None and self.state is None:
                if warm is not None:  # nothing was begun: the start is the answer
                    self.best.take(*self.problem.certify(warm))
                else:
                    self.state = self.method.start(self.problem, warm, self.settings)
            if self.best.point is None or self._moved():
                self._check(self.state.point, self._owned)
        gap = self.best.certificate.relative_gap
        return Status.CONVERGED if gap <= self.settings.tol else status

    def _finish_elsewhere(self, status: Status, warm: Point | None) -> Status:
        """Make sure of the same with one pass over the data at most, if the time is up."""
        late = (Status.TIME_LIMIT, Status.INTERRUPTED)
        if status not in late and self._moved():
            try:
                self._check(self.state.point)
            except _Stop as stop:
                status = stop.status
        if self.best.point is None:
            self._judge_what_there_is(status in late, warm)
        elif status in late and self._hopes_for_more():
            self._take(self.state.point, np.inf)
        return status

    def _hopes_for_more(self) -> bool:
        """Whether there is a point that is expected to be better than the best one known."""
        gap = self.best.certificate.relative_gap
        return self._moved() and self.state.expected_gap < gap

    def _judge_what_there_is(self, late: bool, warm: Point | None) -> None:
        """Certify where the run is, or what it was to start from."""
        start = self.problem.cold_point() if warm is None else warm
        # Whatever rounding may cost: to know it better takes further passes.
        accuracy = np.inf if late else ROUNDING_SHARE * self.settings.tol
        point = start if self.state is None else self.state.point
        if self._take(point, accuracy).dual == -np.inf:  # dual variables that bound nothing
            alpha = self.problem.cold_point().alpha
            self._take(Point(point.w, point.b, alpha) if self.finite else start, accuracy)
        elif not self.finite:
            self._take(start, accuracy)

    def _take(self, point: Point, accuracy: float) -> Certificate:
        """Certify a point after the end of the run; keep it if it is the best."""
        self.ended = True
        judged, certificate = self.problem.certify(point, accuracy)
        self.finite = bool(np.isfinite(certificate.primal))
        if self.finite or self.best.point is None:
            self.best.take(judged, certificate)
        if self.state is not None and self.finite:
            self._tell(certificate)
        return certificate

    def _moved(self) -> bool:
        """Whether there is a point that was not judged."""
        return self.state is not None and self.last_check < self.iteration

    def _begin(self, point: Point | None) -> None:
        """Start the method that was chosen."""
        self.work_before = self.watched.meter.nanoseconds
        self.state = self.method.start(self.watched, point, self.settings)
        self.progress = Progress(self.problem, self.method.name, self.settings.tol)

    def _step(self) -> Status | None:
        """Advance once and decide how to go on; return why the run ends, if it does."""
        # Whoever keeps the steps sees every one.
        left = self.limits.iterations - self.iteration
        self.state.allowed = left if self.keep is None else 1
        self.method.advance(self.state)
        self.iteration += self.state.made
        if self.keep is not None:
            point = self.state.point
            self.keep(point.w, point.b)
        if not self._due():
            self._observe()
        elif self._check(self.state.point, self._owned):
            return Status.CONVERGED
        elif not self.finite:
            return Status.STALLED
        elif self.best.certificate.is_spoilt(self.settings.tol):
            if not getattr(self.method, "rounds_duals", False):
                return Status.STALLED
            self.state.finished = True  # another method may prove more
        self.checkpoint()
        if self.iteration >= self.limits.iterations:
            return Status.ITERATION_LIMIT
        state, progress = self.state, self.progress
        progress.iterations += 1
        progress.passes, progress.active = state.passes, state.active
        progress.finished, progress.misplaced = state.finished, state.misplaced
        progress.work = self.watched.meter.nanoseconds - self.work_before
        progress.expected.append(state.expected_gap)
        other = self.choice.next(progress)
        if other is not None:
            self._hand_over(other)
        elif state.finished:
            return Status.STALLED
        return None

    def _hand_over(self, other: Method) -> None:
        """Go on with another method from the best point, or where it was paused if that is near."""
        # The old state's memory is free before the certificate and the new one's, unless it is
        # only paused.
        old, paused = self.state, self.paused
        self.paused = Paused(self.method, old) if self.choice.pauses else None
        self.state = Left(old.point, old.active, old.passes, old.expected_gap)
        del old
        if self._moved():
            self._check(self.state.point)
        self.passes_before += self.state.passes
        self.method, self.state = other, None
        if paused is not None and paused.goes_on(other, self.best.certificate.relative_gap):
            self._resume(paused.state)
        else:
            self._begin(self.best.point)

    def _resume(self, state: Any) -> None:
        """Go on from a state that was paused."""
        self.work_before = self.watched.meter.nanoseconds
        self.passes_before -= state.passes
        self.state = state
        self.progress = Progress(self.problem, self.method.name, self.settings.tol)

    def _due(self) -> bool:
        """Whether to ask for the certificate that may end the run: never by the clock."""
        gap = self.state.expected_gap
        if self.state.finished:
            return True
        if gap <= self.settings.tol:
            # A method that was too hopeful last time is believed again when it hopes for more.
            return gap <= 0.5 * self.hoped or self.iteration >= self.last_check + 5
        return self.iteration >= 2 * self.last_check + 50

    @property
    def _owned(self) -> bool:
        """Whether the method's weights may be computed again in their place, and kept at the end.

        Nobody but the state refers to them.
        """
        return bool(getattr(self.method, "leaves_weights", False))

    def _check(self, point: Point, owned: bool = False) -> bool:
        """Certify a point; return whether the best one now meets the tolerance."""
        started = time.perf_counter()
        # In memory a certificate that was begun is finished, so that every answer has one.
        certify = self.judge.certify
        if owned:
            certify = getattr(self.judge, "certify_in_place", certify)
        judged, certificate = certify(point, ROUNDING_SHARE * self.settings.tol)
        self.finite = bool(np.isfinite(certificate.primal))
        lost = self.finite and certificate.dual == -np.inf  # dual variables that bound nothing
        if lost or (not self.finite and self.best.point is None):
            cold = self.problem.cold_point()
            cold = Point(judged.w, judged.b, cold.alpha) if lost else cold
            judged, certificate = self.judge.certify(cold)
        if self.finite or self.best.point is None:
            # A state that ends here leaves its weights, if nobody else has them.
            left = owned and (self.ended or certificate.relative_gap <= self.settings.tol)
            self.best.take(judged, certificate, copy=not left)
        self.last_check, self.last_told = self.iteration, time.perf_counter()
        self.progress.proved = self.best.certificate.relative_gap
        self.check_seconds = self.last_told - started
        hopes = self.state.expected_gap <= self.settings.tol
        self.hoped = self.state.expected_gap if hopes else np.inf
        self._tell(self.best.certificate)
        return self.best.certificate.relative_gap <= self.settings.tol

    def _observe(self) -> None:
        """Report the present point to callbacks; the run does not depend on it."""
        if not self.callbacks and hasattr(self.judge, "certify_in_place"):
            return  # a certificate that is not in place takes memory, and nobody listens
        now, price = time.perf_counter(), self.check_seconds
        if self.elsewhere and price == 0.0:
            price = (now - self.began) / max(1.0, self.passes_before + self.state.passes)
        quiet = now - self.last_told > max(0.2 if self.callbacks else 1.0, 20 * price)
        if quiet and np.isfinite(self.state.expected_gap):
            # Told, not kept: what is told goes by the clock, and the answer must not.
            present = self.judge.certify(self.state.point, ROUNDING_SHARE * self.settings.tol)[1]
            kept = self.best.certificate
            self._tell(Certificate(min(present.primal, kept.primal), max(present.dual, kept.dual)))
            self.last_told = time.perf_counter()
            self.check_seconds = self.last_told - now

    def _tell(self, certificate: Certificate) -> None:
        record = Record(
            self.iteration,
            self.method.name,
            certificate.primal,
            certificate.dual,
            certificate.gap,
            certificate.relative_gap,
            self.state.active,
            self.passes_before + self.state.passes,
            time.perf_counter() - self.began,
        )
        self.trace.append(record)
        for callback in self.callbacks:
            if callback(record) is True:
                self.watch.request()


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
    keep: Callable[[Weights, Intercept], object] | None = None,
) -> Solution:
    """Solve a problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
    choice : Choice
        Names the methods; see `widemargin.auto.registry`.
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
    keep : callable, optional
        Called with weights and intercept after every step, to write them down.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin.auto.registry import choice_of
    >>> from widemargin.data.training_set import TrainingSet
    >>> from widemargin.problems.binary import BinaryProblem
    >>> from widemargin.problems.losses import LOSSES
    >>> from widemargin.run import run
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> data = TrainingSet.of(scale(X), y, C=1.0, fit_intercept=True)
    >>> problem = BinaryProblem.of(data, 1, LOSSES["hinge"])
    >>> solution = run(problem, choice_of("dual_cd", BinaryProblem), tol=1e-3)
    >>> print(solution.certificate)
    primal 26.5..., dual 26.5..., within ... % of the optimum
    >>> solution.status.value
    'the tolerance was reached'
    """
    watch = Interrupt() if interrupt is None else interrupt
    limits, settings = _Limits(max_iter, time_limit), Settings(tol, seed)
    this = _Run(problem, choice, limits, settings, watch, callbacks, keep)
    with watch, one_blas_thread():
        status = this.finish(this.loop(warm, judge_start), warm)
    point = this.best.point
    assert point is not None
    work = this.watched.meter.nanoseconds
    # Their memory is free, whoever still refers to the run. The watched problem refers to the run,
    # and would keep the data until the next look for cycles.
    this.state = this.paused = this.watched = this.judge = None
    return Solution(
        point.w,
        point.b,
        point.alpha,
        this.best.certificate,
        status,
        tol,
        this.iteration,
        time.perf_counter() - this.began,
        choice.explanation,
        tuple(this.trace),
        this.finite,
        work,
    )
