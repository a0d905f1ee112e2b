"""Measure what the rounding bounds inside certificates cost a fit.

``python -m benchmarks.rounding_cost --data a9a,w8a --losses hinge --C 0.1,1 --tols 1e-3,1e-6``

Each cell of the speed comparison is fitted with the bounds and with a plain certificate in their
place, the same but for them, by turns. Times are CPU seconds, the least of the repeats.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

from widemargin import LinearSVC, LogisticRegression
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.rounding import ROUNDING_SHARE

from . import problems
from .peers.base import LOSSES

_SHORTEST = 0.05
"""Seconds of fits that make one measurement."""


def plain_certify(self: BinaryProblem, point: Point, accuracy: float = 0.0) -> Any:
    """Certify as `BinaryProblem.certify` does, without a bound on rounding."""
    alpha = self.feasible(point.alpha)
    scores, v = self.rows.scores_and_combination(point.w, alpha, self.y)
    alpha, v, sums = self._scaled(alpha, v)
    totals = [
        (self.loss.total(self.y, self.cost, scores, b), b)
        for b in self.best_intercept(scores, point.b)
    ]
    total, b = min(totals)
    w, primal = point.w, 0.5 * float(point.w @ point.w) + total
    dual = sums.value - 0.5 * float(v @ v)
    wanted = accuracy / ROUNDING_SHARE * primal
    scale = self._weight_scale(w, b, scores, (primal, dual), wanted)
    if scale != 1.0:
        w, b = scale * w, scale * b
        primal = 0.5 * float(w @ w) + self.loss.total(self.y, self.cost, self.rows.scores(w), b)
    return Point(w, b, alpha), Certificate(primal, min(dual, primal))


@contextmanager
def without_bounds() -> Iterator[None]:
    """Replace certificates by plain ones."""
    kept = BinaryProblem.certify
    BinaryProblem.certify = plain_certify  # type: ignore[method-assign]
    try:
        yield
    finally:
        BinaryProblem.certify = kept  # type: ignore[method-assign]


def seconds_of(model: Any, X: Any, y: Any) -> float:
    """Return the CPU seconds of one fit, averaged over as many as are needed to measure it."""
    fits, began = 0, time.process_time()
    while True:
        model.fit(X, y)
        fits += 1
        spent = time.process_time() - began
        if spent >= _SHORTEST:
            return spent / fits


def ratio_of(X: Any, y: Any, loss: str, C: float, tol: float, repeats: int) -> tuple[float, float]:
    """Return the time with the bounds, and its ratio to the time without."""
    settings = {"C": C, "tol": tol, "random_state": 0}
    model = LogisticRegression(**settings) if loss == "logistic" else LinearSVC(loss, **settings)
    proved, plain = math.inf, math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            proved = min(proved, seconds_of(model, X, y))
            with without_bounds():
                plain = min(plain, seconds_of(model, X, y))
    return proved, proved / plain


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
