"""Certified choice of C: a proof that no other C has a much lower cross-validation error.

Let w be any weights and α be feasible at C̃, v = Σ α_i y_i x_i and G = P(w) − D(α). At C = r C̃ the
point rα is feasible, and strong convexity of both objectives puts the solution into a ball:

    ‖w*(C) − (w + r v)/2‖² ≤ gap(w, rα) − ¼ ‖w − r v‖².

With w = v that is ‖w* − (1+r)/2 v‖² ≤ ((1−r)/2)² ‖v‖² + r G. A held-out example x whose scores
s = w·x and t = v·x are on the same side keeps it while |(s + r t)/2| exceeds ‖x‖ times the ball's
radius, which is an interval of ln r around 0, in closed form:

    |ln r + ½ ln(A/B)| < arcosh(K/√(AB)),    A = ‖v‖² − t²/‖x‖²,    B = ‖w‖² − s²/‖x‖²,
                                              K = st/‖x‖² + ‖w‖² + ‖v‖² − w·v − 2G.

Examples on the wrong side at C̃ are errors at every C of their interval: that bounds the error from
below between the values of C that were solved. Gaps where the bound is too low are halved until
none is left. It holds with no intercept, or with a penalised one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.interrupt import Interrupt
from widemargin.selection.folds import Engine, Folds, SeparateFolds, StackedFolds
from widemargin.selection.scoring import accuracy
from widemargin.selection.search import Limits, Search, automatic_Cs, effort_at

Vector = NDArray[np.float64]

_NARROWEST = 1e-5
"""Intervals of ln C below which halving is given up: an example sits on the boundary."""

_TIGHT, _TIGHTEST = 1e-5, 1e-10


@dataclass(frozen=True, eq=False)
class Anchor:
    """A solved C: how far in ln C, down and up, each held-out example is surely wrong.

    Both are negative where it is not sure at all.
    """

    x: float
    down: Vector
    up: Vector
    error: float


@dataclass(frozen=True, eq=False)
class CertifiedChoice:
    """The outcome: the search with all values of C, the bound, and whether it is good enough."""

    search: Search
    bound: float
    certified: bool
    band: tuple[Vector, Vector, Vector]
    solved: int


@dataclass(frozen=True, eq=False)
class Image:
    """One fold's solution: of each class ‖w‖², ‖v‖², w·v and G, and the held-out scores of both."""

    ww: Vector
    vv: Vector
    wv: Vector
    gap: Vector
    by_w: Vector
    by_v: Vector


def reach(image: Image, codes: NDArray[Any], norms: Vector) -> tuple[Vector, Vector]:
    """Return how far in ln C, down and up, each example is surely wrong; −1 where it is not.

    Parameters
    ----------
    image : Image
    codes : ndarray of shape (n,)
        Places of the true classes.
    norms : ndarray of shape (n,)
        Squared norms of the examples.
    """
    count, k = image.by_w.shape
    parts = (image.ww, image.vv, image.wv, image.gap)
    if k == 1:
        # One problem against zero: positive where the wrong side is ahead.
        side = np.where(codes == 1, -1.0, 1.0)[:, None]
        lead_w, lead_v = side * image.by_w, side * image.by_v
        ww, vv, wv, gap = (np.broadcast_to(part, (count, 1)) for part in parts)
    else:
        # Class j against the true one, c. The radii of their balls add up, and by Cauchy's
        # inequality (R_j + R_c)² ≤ (1 + θ) R_j² + (1 + 1/θ) R_c².
        own = np.arange(count), codes
        lead_w = image.by_w - image.by_w[own][:, None]
        lead_v = image.by_v - image.by_v[own][:, None]
        root = np.sqrt(np.maximum(image.ww, 1e-300))
        theta = root[codes][:, None] / root
        ww, vv, wv, gap = (
            (1.0 + theta) * part + (1.0 + 1.0 / theta) * part[codes][:, None] for part in parts
        )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 1.0 / norms[:, None]
        # Rounding must not make an example surer than it is.
        product = lead_w * lead_v * scale * (1.0 - 1e-9)
        A = np.maximum(vv - lead_v**2 * scale * (1.0 - 1e-9), 1e-12 * vv)
        B = np.maximum(ww - lead_w**2 * scale * (1.0 - 1e-9), 1e-12 * ww)
        K = product + ww + vv - wv - 2.0 * gap
        cosine = K / np.sqrt(A * B)
        width = np.arccosh(np.maximum(cosine, 1.0))
        shift = 0.5 * np.log(A / B)
        down, up = width + shift, width - shift
        sure = (lead_w > 0.0) & (lead_v > 0.0) & (cosine > 1.0) & (down > 0.0) & (up > 0.0)
    rows = np.arange(count)
    best = np.argmax(np.where(sure, width, -1.0), axis=1)
    known = sure[rows, best]
    # A row of zeros has the score zero at every C, and is given to the first class.
    empty = norms <= 0.0
    always = np.where(codes == 0, -1.0, np.inf)
    return (
        np.where(empty, always, np.where(known, down[rows, best], -1.0)),
        np.where(empty, always, np.where(known, up[rows, best], -1.0)),
    )


def lowest(a: Anchor, b: Anchor, mass: Vector) -> tuple[float, float]:
    """Return the lowest bound on the error between two anchors, and the ln C where it is.

    An example that is wrong at either anchor is missing from the bound between the end of its
    reach from the left and the beginning of its reach from the right.
    """
    wrong = (a.up > 0.0) | (b.down > 0.0)
    total = float(mass[wrong].sum())
    left = a.x + np.maximum(a.up[wrong], 0.0)
    right = b.x - np.maximum(b.down[wrong], 0.0)
    missing = left <= right
    if not missing.any():
        return total, a.x
    weight = mass[wrong][missing]
    places = np.concatenate([left[missing], right[missing]])
    change = np.concatenate([weight, -weight])
    # Ends count as missing still: beginnings come first where they coincide.
    order = np.lexsort((change < 0.0, places))
    height = np.cumsum(change[order])
    worst = int(np.argmax(height))
    return total - float(height[worst]), float(places[order][worst])


def images(engine: Engine) -> list[Image]:
    """Return the images of the present solutions, fold by fold."""
    if isinstance(engine, StackedFolds):
        return _stacked_images(engine)
    assert isinstance(engine, SeparateFolds)
    return _separate_images(engine)


def _stacked_images(engine: StackedFolds) -> list[Image]:
    table = _Table(engine.folds)
    for group in engine.groups:
        problem, solution = group.problem, group.solution
        assert problem is not None
        assert solution is not None
        point, primals, duals = problem.certify_lanes(solution.point)
        v, by_w = problem.combine(point.alpha), problem.scores(point.w)
        by_v = problem.scores(v)
        for lane, fold in enumerate(group.members):
            table.put(
                fold,
                group.place,
                point.w[:, lane],
                v[:, lane],
                primals[lane],
                duals[lane],
                by_w[engine.folds.splits[fold][1], lane],
                by_v[engine.folds.splits[fold][1], lane],
            )
    return table.images()


def _separate_images(engine: SeparateFolds) -> list[Image]:
    table = _Table(engine.folds)
    for task in engine.tasks:
        assert task.solution is not None
        w, certificate = task.solution.w, task.solution.certificate
        problem = task.unit.rescaled(task.C)
        v = problem.rows.combine(task.solution.alpha, problem.y)
        test = engine.folds.rows.take(np.ascontiguousarray(engine.folds.splits[task.fold][1]))
        table.put(
            task.fold,
            task.place,
            w,
            v,
            certificate.primal,
            certificate.dual,
            test.scores(w),
            test.scores(v),
        )
    return table.images()


class _Table:
    """Collects the images of all folds and classes."""

    def __init__(self, folds: Folds) -> None:
        self._cells: list[dict[int, tuple[Any, ...]]] = [{} for _ in folds.splits]

    def put(
        self,
        fold: int,
        place: int,
        w: Vector,
        v: Vector,
        primal: float,
        dual: float,
        by_w: Vector,
        by_v: Vector,
    ) -> None:
        # A gap below the rounding of P is not known to be smaller than that.
        gap = max(primal - dual, 1e-14 * abs(primal))
        self._cells[fold][place] = (w @ w, v @ v, w @ v, gap, by_w, by_v)

    def images(self) -> list[Image]:
        found = []
        for cells in self._cells:
            columns = list(zip(*(cells[place] for place in sorted(cells)), strict=True))
            ww, vv, wv, gap = (np.array(column, dtype=np.float64) for column in columns[:4])
            by_w, by_v = (np.column_stack(column) for column in columns[4:])
            found.append(Image(ww, vv, wv, gap, by_w, by_v))
        return found


def certified_choice(
    folds: Folds, engine: Engine, values: Vector | None, epsilon: float, limits: Limits
) -> CertifiedChoice:
    """Refine values of C until no C between the smallest and the largest can be much better.

    Parameters
    ----------
    folds : Folds
    engine : Engine
    values : ndarray, optional
        Values of C to begin with; by default powers of two from the smallest that matters to 1024.
    epsilon : float
        Errors lower than the best one by at most this are let go.
    limits : Limits
    """
    search, scorer = Search(), accuracy(folds)
    codes = [folds.codes[test] for _, test in folds.splits]
    norms = [folds.rows.norms[test] for _, test in folds.splits]
    mass = _masses(folds)
    anchors: list[Anchor] = []
    watch, began = Interrupt(), time.perf_counter()
    share = [1.0]

    def look(x: float, half: float) -> bool:
        """Solve at one C, tightly enough for reaches of `half`; tell whether to go on."""
        spent = time.perf_counter() - began
        left = None if limits.time_limit is None else limits.time_limit - spent
        if anchors and (watch.requested or (left is not None and left <= 0.0)):
            return False
        started = time.perf_counter()
        tol = min(max(0.01 * half**2 * share[0], _TIGHTEST), _TIGHT)
        solved = engine.solve(math.exp(x), effort_at(limits, math.exp(x), left, watch, tol))
        if not solved.whole and anchors:
            return False
        found = images(engine)
        share[0] = float(min(np.min(i.ww) for i in found) / np.max(solved.primal))
        scores = scorer(solved)
        search.add(engine, solved, scores, time.perf_counter() - started)
        lengths = [reach(i, c, n) for i, c, n in zip(found, codes, norms, strict=True)]
        down, up = (np.concatenate(part) for part in zip(*lengths, strict=True))
        anchors.append(Anchor(x, down, up, 1.0 - float(np.mean(scores))))
        return solved.whole

    with watch:
        start = automatic_Cs(engine) if values is None else iter(values)
        xs = sorted(math.log(C) for C in start)
        going = True
        for x in xs:
            going = going and look(x, 0.35)
        intervals = _certify(anchors, mass)
        while going:
            best = min(anchor.error for anchor in anchors)
            todo = [
                (a, b)
                for a, b, low, _ in intervals
                if low < best - epsilon - 1e-12 and b.x - a.x > _NARROWEST
            ]
            if not todo:
                break
            for a, b in todo:
                going = going and look(0.5 * (a.x + b.x), 0.25 * (b.x - a.x))
            anchors.sort(key=lambda anchor: anchor.x)
            intervals = _certify(anchors, mass)
    anchors.sort(key=lambda anchor: anchor.x)
    search.sort()
    best = min(anchor.error for anchor in anchors)
    bound = min((low for _, _, low, _ in intervals), default=0.0)
    covered = going and bool(intervals)
    bound = bound if covered else 0.0
    certified = covered and bound >= best - epsilon - 1e-12
    search.reason = (
        f"no C of the range has an error below {100 * bound:.2f} % (certified)"
        if certified
        else f"it ended before the proof: the bound is {100 * bound:.2f} %"
    )
    return CertifiedChoice(search, bound, certified, _band(intervals), len(anchors))


def _masses(folds: Folds) -> Vector:
    """Return each held-out example's share of the error: the mean over folds of weighted means."""
    shares = []
    for _, test in folds.splits:
        weight = np.ones(test.size) if folds.weight is None else folds.weight[test]
        shares.append(weight / max(float(weight.sum()), 1e-300) / len(folds.splits))
    return np.concatenate(shares)


def _certify(anchors: list[Anchor], mass: Vector) -> list[tuple[Anchor, Anchor, float, float]]:
    return [(a, b, *lowest(a, b, mass)) for a, b in pairwise(anchors)]


def _band(
    intervals: list[tuple[Anchor, Anchor, float, float]],
) -> tuple[Vector, Vector, Vector]:
    """Return C, the lower bound and the error, at the anchors and where the bound is lowest."""
    rows = []
    for a, b, low, x in intervals:
        rows.append((a.x, low, a.error))
        rows.append((min(max(x, a.x), b.x), low, 0.5 * (a.error + b.error)))
        rows.append((b.x, low, b.error))
    table = np.array(sorted(rows, key=lambda row: row[0])) if rows else np.empty((0, 3))
    return np.exp(table[:, 0]), table[:, 1], table[:, 2]
