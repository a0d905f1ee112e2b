"""Certified choice of C: a proof that no other C has a much lower cross-validation error.

First a plain search over the grid, for an error to beat. Then from the largest C down: between two
neighbours that are solved exactly enough, `between` bounds the error from below at every C. Where
the bound is too low, the radii say why: points too far apart (more points, which cost no look at
the data), knots not solved exactly enough (solve them on), or knots too far apart (one more,
started from the point between). It holds with no intercept, or with a penalised one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.certificate import Point
from widemargin.run import Status
from widemargin.selection.error_bounds import Between, HeldOut, between
from widemargin.selection.knots import Knot, knot_of
from widemargin.selection.search import Driver, Search

Vector = NDArray[np.float64]

_NARROWEST = 1e-6
"""Intervals of ln C below which it is given up: an example sits on the boundary."""

_MOST = 64
"""Intervals between two knots."""

_FIRST_TOL, _LAST_TOL = 1e-6, 1e-12
"""Relative gaps that knots are solved to."""


@dataclass(frozen=True, eq=False)
class CertifiedChoice:
    """The outcome: the search with all values of C, the bound, and whether it is good enough.

    Attributes
    ----------
    search : Search
    bound : float
        No C from the smallest to the largest has a lower error; zero if it ended before.
    certified : bool
    band : tuple of C, lower bound and error
    solved : int
        Values of C that were solved for the proof.
    """

    search: Search
    bound: float
    certified: bool
    band: tuple[Vector, Vector, Vector]
    solved: int


class _Ended(Exception):  # noqa: N818 - a signal that time is up, not an error
    pass


@dataclass(eq=False)
class _Proof:
    """The knots and the bounds found so far."""

    driver: Driver
    epsilon: float
    held_out: HeldOut = field(init=False)
    pieces: list[tuple[float, ...]] = field(default_factory=list)
    solved: int = 0

    def __post_init__(self) -> None:
        self.held_out = HeldOut.of(self.driver.engine.folds)

    @property
    def needed(self) -> float:
        """What the bound must reach."""
        return 1.0 - self.driver.search.best_score - self.epsilon - 1e-12

    def knot(self, C: float, tol: float, start: list[Point] | None = None) -> Knot:
        """Solve at C."""
        driver = self.driver
        if driver.cut_short:
            raise _Ended
        began = time.perf_counter()
        tol = min(max(tol, _LAST_TOL), _FIRST_TOL)
        solved = driver.engine.solve(C, driver.effort(C, tol), start)
        if not solved.whole:
            raise _Ended
        self.solved += 1
        seconds = time.perf_counter() - began
        if C in driver.search.Cs:
            driver.search.add_work(C, solved.passes, seconds)
        else:
            driver.add(solved, driver.scorer(solved), seconds)
        knot = knot_of(driver.engine, C)
        reached = all(s.status is Status.CONVERGED for s in solved.solutions)
        knot.final = tol <= _LAST_TOL or not reached
        return knot

    def over(self, Cs: list[float]) -> None:
        """Bound the error from the smallest to the largest of rising values of C."""
        above = self.knot(Cs[-1], _FIRST_TOL)
        if len(Cs) == 1:
            self.refine(above, above)
        for C in reversed(Cs[:-1]):
            knot = self.knot(C, _FIRST_TOL)
            self.refine(knot, above)
            above = knot

    def refine(self, a: Knot, b: Knot) -> None:
        """Bound the error between two knots, with more of them where it is needed."""
        todo = [(a, b, a.x, b.x, 2)]
        while todo:
            a, b, low, high, least = todo.pop()
            found = between(a, b, np.linspace(low, high, 3), self.held_out)
            count = found.intervals(self.needed)
            if high - low < _NARROWEST:
                self._note(found, np.ones(2, dtype=bool))
            elif count > 0 and max(count, least) <= _MOST:
                # 1) more points, which cost no look at the data
                count = max(count, least)
                if count > 2:
                    found = between(a, b, np.linspace(low, high, count + 1), self.held_out)
                good = self._note(found, None)
                for first, last in _runs(~good):
                    x, y = float(found.x[first]), float(found.x[last])
                    todo.append((a, b, x, y, 2 * (last - first) if x == low and y == high else 2))
            elif (inexact := _inexact(found)) is not None:
                # 2) the same knots, more exact
                tol = 0.01 * float((inexact.gap / inexact.primal).max())
                inexact.become(self.knot(inexact.C, tol, inexact.points()))
                todo.append((a, b, low, high, 2))
            else:
                # 3) one more knot
                middle = float(found.x[1])
                tol = 0.02 * float(found.at[..., 1].sum() / b.primal.sum())
                knot = self.knot(math.exp(middle), tol, found.start(middle))
                todo.append((a, knot, low, knot.x, 2))
                todo.append((knot, b, knot.x, high, 2))

    def _note(self, found: Between, some: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Keep the bounds of some intervals, by default the good ones; return which."""
        wrong = found.wrong()
        if some is None:
            some = wrong >= self.needed
        table = np.stack([found.x[:-1], found.x[1:], wrong], axis=1)
        self.pieces += [tuple(row) for row in table[some].tolist()]
        return some


def _runs(bad: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last point of each run of bad intervals."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def _inexact(found: Between) -> Knot | None:
    """Return the knot whose own gap is a large part of the radii, if there is one."""
    at = float(found.at.max(axis=2).sum())
    shares = [(float(k.gap.sum()) / at, k) for k in (found.a, found.b) if not k.final]
    worst = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    return worst[1] if worst[0] > 0.25 else None


def certified_choice(driver: Driver, Cs: list[float], epsilon: float) -> CertifiedChoice:
    """Refine values of C until no C between the smallest and the largest can be much better.

    Parameters
    ----------
    driver : Driver
        Its scorer counts errors.
    Cs : list of float
        Rising values of C to begin with.
    epsilon : float
        Errors lower than the best one by at most this are let go.
    """
    search, proof = driver.search, _Proof(driver, epsilon)
    with driver.watch:
        driver.go_on(Cs)
        whole = len(search.Cs) == len(Cs)
        try:
            if whole:
                proof.over(Cs)
        except _Ended:
            whole = False
    search.sort()
    bound = min(piece[2] for piece in proof.pieces) if whole else 0.0
    certified = whole and bound >= proof.needed
    if certified:
        search.reason = f"no C of the range has an error below {100 * bound:.2f} % (certified)"
    elif whole:
        search.reason = (
            f"no C of the range has an error below {100 * bound:.2f} %; nearer to the best error "
            "it cannot be proven in floating point"
        )
    else:
        search.reason = "it ended before the proof"
    return CertifiedChoice(search, bound, certified, _band(proof.pieces, search), proof.solved)


def _band(pieces: list[tuple[float, ...]], search: Search) -> tuple[Vector, Vector, Vector]:
    """Return C, the lower bound and the error, at both ends of each piece."""
    table = np.array(sorted(pieces)).reshape(-1, 3)
    x, lower = table[:, :2].ravel(), np.repeat(table[:, 2], 2)
    errors = [1.0 - float(np.mean(scores)) for scores in search.scores]
    return np.exp(x), lower, np.interp(x, np.log(search.Cs), errors)
