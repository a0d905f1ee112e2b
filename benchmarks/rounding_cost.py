"""Measure what the rounding bounds inside certificates cost a fit.

``python -m benchmarks.rounding_cost --data a9a,w8a --losses hinge --C 0.1,1 --tols 1e-3,1e-6``

Each cell of the speed comparison is fitted; at every certificate a plain one, the same but for the
bounds, is computed at the same point, before it and after it by turns. What the bounds cost is the
difference, as a share of a fit with plain certificates. Times are CPU seconds, the median of the
repeats: whole fits with and without bounds differ by less than two fits alike do on a busy machine.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from statistics import median
from typing import Any

from widemargin import LinearSVC, LogisticRegression
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.rounding import ACCURACY, ROUNDING_SHARE

from . import problems
from .peers.base import LOSSES


def plain_certify(self: BinaryProblem, point: Point, accuracy: float = ACCURACY) -> Any:
    """Certify as `BinaryProblem.certify` does, without a bound on rounding.

    The points that are tried and taken are the same, so that the fits take the same path.
    """
    alpha = self.feasible(point.alpha)
    scores, v = self.rows.scores_and_combination(point.w, alpha, self.y)
    alpha, v, sums = self._scaled(alpha, v)
    b, primal = plain_primal(self, point.w, point.b, scores)
    w, dual = point.w, sums.value - 0.5 * float(v @ v)
    wanted = accuracy / ROUNDING_SHARE
    scale = self._weight_scale(w, b, scores, (primal, dual), wanted * abs(primal))
    if scale != 1.0:
        moved = scale * w
        best, lower = plain_primal(self, moved, scale * b, self.rows.scores(moved))
        if lower - dual <= wanted * abs(lower):
            w, b, primal = moved, best, lower
    return Point(w, b, alpha), Certificate(primal, min(dual, primal))


def plain_primal(problem: BinaryProblem, w: Any, b: float, scores: Any) -> tuple[float, float]:
    """Return the best intercept at hand and the primal value there."""
    candidates = problem.best_intercept(scores, b)
    totals = [(problem.loss.total(problem.y, problem.cost, scores, b), b) for b in candidates]
    total, best = min(totals)
    return best, 0.5 * float(w @ w) + total


class Seconds:
    """CPU seconds of the certificates of a fit, with the bounds and without."""

    proved = 0.0
    plain = 0.0


@contextmanager
def both_certificates(plain_first: bool) -> Iterator[Seconds]:
    """Compute a plain certificate beside every other one, and time both."""
    certify, seconds = BinaryProblem.certify, Seconds()

    def timed(self: BinaryProblem, point: Point, accuracy: float = ACCURACY) -> Any:
        def plainly() -> None:
            began = time.process_time()
            plain_certify(self, point, accuracy)
            seconds.plain += time.process_time() - began

        if plain_first:
            plainly()
        began = time.process_time()
        answer = certify(self, point, accuracy)
        seconds.proved += time.process_time() - began
        if not plain_first:
            plainly()
        return answer

    BinaryProblem.certify = timed  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        BinaryProblem.certify = certify  # type: ignore[method-assign]


def ratio_of(X: Any, y: Any, loss: str, C: float, tol: float, repeats: int) -> tuple[float, float]:
    """Return the time of a fit, and its ratio to that of one with plain certificates."""
    settings = {"C": C, "tol": tol, "random_state": 0}
    model = LogisticRegression(**settings) if loss == "logistic" else LinearSVC(loss, **settings)
    fits: list[float] = []
    ratios: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(fits) < 2 * repeats:
            with both_certificates(plain_first=len(fits) % 2 == 1) as seconds:
                began = time.process_time()
                model.fit(X, y)
                spent = time.process_time() - began - seconds.plain
            fits.append(spent)
            ratios.append(spent / (spent - seconds.proved + seconds.plain))
    return median(fits), median(ratios)


def main() -> None:
    """Measure the cells and print a line for each, the geometric mean and the worst."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rounding_cost", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", default=",".join(problems.SPEED))
    parser.add_argument("--losses", default=",".join(LOSSES))
    parser.add_argument("--C", default="0.1,1,100")
    parser.add_argument("--tols", default="1e-3,1e-6")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    ratios: dict[tuple[str, ...], float] = {}
    for name in options.data.split(","):
        try:
            X, y = problems.load(name)
        except problems.MissingDataError as error:
            print(f"{name}: {error}")
            continue
        cells = product(options.losses.split(","), options.C.split(","), options.tols.split(","))
        for loss, C, tol in cells:
            spent, ratio = ratio_of(X, y, loss, float(C), float(tol), options.repeats)
            ratios[name, loss, C, tol] = ratio
            print(
                f"{name:20} {loss:14} C={C:4} tol={tol:5} {spent:9.4f} s  {ratio:.3f}", flush=True
            )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        worst = max(ratios, key=lambda cell: ratios[cell])
        print(f"{len(ratios)} cells: geometric mean {mean:.3f}")
        print(f"worst {ratios[worst]:.3f}: {' '.join(worst)}")


if __name__ == "__main__":
    main()
