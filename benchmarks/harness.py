"""Time to reach a true suboptimality ``(P(w) - P*) / P*``: the search, then the comparison.

1) *Search*, kept between runs: each rival climbs its own ladder of tolerances until it has reached
   the tightest target, one fit a level. A fit may take three times what the fastest rival so far
   needed (it cannot win any more), twenty times what widemargin took for the same target, and never
   more than the cap.
2) *Comparison*, always measured anew: widemargin takes turns with the rivals that were fastest in
   the search, and the medians of the rounds are compared. It runs twice: with ``tol`` = target, so
   that its certificate proves the target, and with the loosest ``tol`` of its own ladder that
   reaches the target. The faster of the two stands beside what is proved: so were the rivals'
   tolerances chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from .objective import primal
from .peers import WIDEMARGIN
from .records import Cell, Fit, Optima, Records
from .session import OutOfTimeError, Session, Sessions, WorkerError

CAP_SECONDS = 60.0
OPTIMUM_GAP = 1e-10
OPTIMUM_SECONDS = 600.0
# A rival slower than this multiple of the fastest known is not followed further.
HOPELESS = 3.0
# A rival slower than this multiple of widemargin itself is recorded as slower than that.
FAR = 20.0
# All fits of one rival in one cell together may take this multiple of the cap.
BUDGET = 2.0
# Fits shorter than this are too noisy to give up on.
SHORTEST_LIMIT = 0.3
CONTENDERS = 3
# widemargin's ladder, in multiples of the target.
LOOSER = (30.0, 10.0, 3.0)
# Rivals slower than this multiple of the fastest in the search are not timed again.
CLOSE = 2.0
SHORT_SECONDS = 1.0


@dataclass
class Timing:
    """The comparison in one cell at one target; rivals as {name: (level, median seconds)}."""

    cell: Cell
    target: float
    widemargin: float | None = None
    reached: float | None = None
    rivals: dict[str, tuple[float, float]] = field(default_factory=dict)
    given_up: float | None = None
    note: str = ""
    matched: tuple[float, float] | None = None
    """Of the tolerances tried, the one that reached the target soonest, and its median seconds."""

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest rival and its seconds."""
        if not self.rivals:
            return None
        name = min(self.rivals, key=lambda rival: self.rivals[rival][1])
        return name, self.rivals[name][1]

    @property
    def ratio(self) -> float | None:
        """How many times faster widemargin is than the fastest rival, or more where all gave up."""
        return self._over(self.widemargin)

    @property
    def matched_ratio(self) -> float | None:
        """The same with the tolerance that reaches the target soonest, as the rivals have it."""
        return self._over(self.matched[1] if self.matched else None)

    def _over(self, ours: float | None) -> float | None:
        seconds = self.given_up if self.best is None else self.best[1]
        return None if seconds is None or ours is None else seconds / ours


class Harness:
    """The measurements on one data set at a time."""

    def __init__(
        self,
        sessions: Sessions,
        records: Records,
        optima: Optima,
        targets: Sequence[float],
        cap: float = CAP_SECONDS,
        only: Sequence[str] = (),
    ) -> None:
        self.sessions, self.records, self.optima = sessions, records, optima
        self.targets, self.cap, self.only = sorted(targets, reverse=True), cap, only
        self.ours: dict[tuple[Cell, float], float] = {}

    def certify(self, cell: Cell) -> bool:
        """Let widemargin compute a cell's optimum unless it is known; tell whether it is now."""
        session = self.sessions.found.get(WIDEMARGIN)
        if session is not None and not self.optima.certified(cell):
            with suppress(OutOfTimeError, WorkerError):
                found = session.certify(cell.loss, cell.C, OPTIMUM_GAP, OPTIMUM_SECONDS)
                self.optima.store(cell, *found, "widemargin")
        return self.optima.certified(cell)

    def rivals(self, loss: str) -> list[tuple[Session, dict[str, Any]]]:
        """List the rivals of a loss, as restricted by ``--peers``."""
        found = self.sessions.serving(loss)
        wanted = [(s, p) for s, p in found if any(part in p["name"] for part in self.only)]
        return wanted if self.only else found

    def suboptimality(self, cell: Cell, value: float | None) -> float:
        """Measure the relative distance from the best objective known."""
        if value is None or not math.isfinite(value):
            return math.inf
        best = self.optima[cell]
        return (value - best) / best

    def reaching(self, cell: Cell, peer: str, target: float) -> Fit | None:
        """Give a rival's fastest fit of the search that reached a target."""
        good = [
            fit
            for fit in self.records.of(cell, peer).values()
            if self.suboptimality(cell, fit.primal) <= target
        ]
        return min(good, key=lambda fit: fit.seconds, default=None)

    def ranking(self, cell: Cell, target: float) -> list[Fit]:
        """Rank the rivals at a target by the search, fastest first."""
        names = (peer["name"] for _, peer in self.rivals(cell.loss))
        fits = (self.reaching(cell, name, target) for name in names)
        return sorted((fit for fit in fits if fit), key=lambda fit: fit.seconds)

    def limit(self, cell: Cell, peer: str) -> float:
        """Give the seconds a rival's next fit may take; zero when it has nothing left to reach."""
        limits = [0.0]
        for target in self.targets:
            if self.reaching(cell, peer, target) is None:
                best = self.ranking(cell, target)[:1]
                hopeless = HOPELESS * best[0].seconds if best else math.inf
                hopeless = min(hopeless, FAR * self.ours.get((cell, target), math.inf))
                limits.append(min(self.cap, max(SHORTEST_LIMIT, hopeless)))
        return max(limits)

    def next_step(
        self, cell: Cell, peer: str, levels: Sequence[float]
    ) -> tuple[float, float] | None:
        """Choose a rival's next level and its time limit: whole decades up, then half a step back.

        Steps are two rungs of the ladder. A rung that reaches a target sends the rival back to the
        one it skipped, as long as that may still make it the fastest.
        """
        fits = self.records.of(cell, peer)
        for target in self.targets:
            best = self.ranking(cell, target)[:1]
            for skipped, rung in pairwise((levels[0], *levels)):
                fit = fits.get(rung)
                if fit is not None and self.suboptimality(cell, fit.primal) <= target:
                    if skipped not in fits and fit.seconds <= HOPELESS * best[0].seconds:
                        return skipped, max(SHORTEST_LIMIT, fit.seconds)
                    break
        limit = self.limit(cell, peer)
        if limit == 0.0 or sum(fit.seconds for fit in fits.values()) > BUDGET * self.cap:
            return None
        for level in levels[::2]:
            fit = fits.get(level)
            if fit is None:
                return level, limit
            if fit.primal is None and fit.seconds < 0.99 * limit:
                # It was stopped early by a rival that was fast only against a worse optimum.
                return level, limit
            if fit.primal is None or fit.seconds > limit:
                return None
        return None

    def search(self, cell: Cell, X: csr_matrix, y: np.ndarray) -> Iterator[Fit]:
        """Let every rival climb its ladder and yield each new fit.

        The optimum must be known before: measured against the best of its own fits, the first
        rival would have reached every target at its loosest tolerance.
        """
        for session, peer in self.sessions.serving(cell.loss, WIDEMARGIN):
            for target in self.targets:
                fit = self.attempt(session, peer["name"], cell, target, self.cap, X, y)
                if self.suboptimality(cell, fit.primal) <= target:
                    self.ours[cell, target] = fit.seconds
        for session, peer in self.rivals(cell.loss):
            name = peer["name"]
            while (step := self.next_step(cell, name, peer["levels"])) is not None:
                fit = self.attempt(session, name, cell, *step, X, y)
                self.records.add(fit)
                yield fit

    def attempt(
        self,
        session: Session,
        name: str,
        cell: Cell,
        level: float,
        limit: float,
        X: csr_matrix,
        y: np.ndarray,
        once: bool = False,
    ) -> Fit:
        """Fit once; whatever happens becomes a record."""
        try:
            seconds, w = session.fit(name, cell.loss, cell.C, level, limit, once)
        except OutOfTimeError:
            return Fit(*cell, name, level, limit, None, f"over {limit:.3g} s")
        except WorkerError as error:
            # It would fail again: the record counts as having used up the cap.
            return Fit(*cell, name, level, self.cap, None, str(error))
        return Fit(*cell, name, level, seconds, primal(X, y, cell.loss, cell.C, w))

    def given_up(self, cell: Cell, target: float) -> float | None:
        """Give the seconds after which no rival had reached a target, if none ever did."""
        longest = []
        for _, peer in self.rivals(cell.loss):
            fits = self.records.of(cell, peer["name"]).values()
            stopped = [fit.seconds for fit in fits if fit.primal is None]
            if not fits or self.reaching(cell, peer["name"], target) is not None:
                return None
            # A rival whose whole ladder fell short would not get there in any time.
            longest.append(max(stopped, default=math.inf))
        bound = min(longest, default=math.inf)
        return bound if math.isfinite(bound) else None

    def contenders(self, cell: Cell, target: float) -> list[tuple[Session, str, float]]:
        """Choose the rivals, and their levels, that take part in the comparison.

        Fits of the search close to the fastest are enough. Some rivals draw from a global random
        state and may miss a target at the level that reached it before, so each short fit brings
        the rival's next level with it.
        """
        sessions = {peer["name"]: session for session, peer in self.rivals(cell.loss)}
        chosen = []
        ranking = self.ranking(cell, target)[:CONTENDERS]
        for best in ranking:
            if best.seconds > CLOSE * ranking[0].seconds:
                break
            reaching = sorted(
                (
                    fit
                    for fit in self.records.of(cell, best.peer).values()
                    if self.suboptimality(cell, fit.primal) <= target
                ),
                key=lambda fit: fit.seconds,
            )
            kept = reaching[: 2 if best.seconds < SHORT_SECONDS else 1]
            chosen += [(sessions[fit.peer], fit.peer, fit.level) for fit in kept]
        return chosen

    def loosest(
        self, session: Session, name: str, cell: Cell, target: float, X: csr_matrix, y: np.ndarray
    ) -> float:
        """Find the loosest tolerance of widemargin's ladder that reaches a target."""
        for factor in LOOSER:
            fit = self.attempt(session, name, cell, factor * target, self.cap, X, y, once=True)
            if self.suboptimality(cell, fit.primal) <= target:
                return factor * target
        return target

    def compare(
        self, cell: Cell, target: float, X: csr_matrix, y: np.ndarray, repeats: int
    ) -> Timing:
        """Time widemargin and the fastest rivals in turns."""
        timing = Timing(cell, target, given_up=self.given_up(cell, target))
        runs = []
        for session, peer in self.sessions.serving(cell.loss, WIDEMARGIN):
            loosest = self.loosest(session, peer["name"], cell, target, X, y)
            runs += [(session, peer["name"], level) for level in dict.fromkeys((target, loosest))]
        runs += self.contenders(cell, target)
        measured: list[list[Fit]] = [[] for _ in runs]
        # Round 0 warms up every process and is not counted.
        for _ in range(repeats + 1):
            for (session, name, level), fits in zip(runs, measured, strict=True):
                if not fits or fits[-1].primal is not None:
                    fits.append(self.attempt(session, name, cell, level, self.cap, X, y, once=True))
        for (session, name, level), fits in zip(runs, measured, strict=True):
            seconds = median(fit.seconds for fit in fits[1:] or fits)
            distances = [self.suboptimality(cell, fit.primal) for fit in fits]
            if session.module == WIDEMARGIN:
                worst = max(distances)
                if worst <= target and (timing.matched is None or seconds < timing.matched[1]):
                    timing.matched = (level, seconds)
                if level == target:
                    timing.reached = worst
                    timing.widemargin = seconds if worst <= target else None
                    short = "" if worst <= target else f"reached {worst:.1e}"
                    timing.note = fits[-1].note or short
            # Rivals promise no suboptimality, so half of their runs may miss it by chance.
            elif median(distances) <= target and (
                name not in timing.rivals or seconds < timing.rivals[name][1]
            ):
                timing.rivals[name] = (level, seconds)
        return timing
