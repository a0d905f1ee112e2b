"""Columns far from zero: ``python -m tests.fuzz.shifts --fits 3000 --times 300 --seed S``.

With a free intercept the answer does not depend on where the columns begin. Each fit on X + 2^e is
compared with the one on X (a grid of 2^-10, so that both are exact); and the defaults have to
converge on times in seconds. Prints the counts; the exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
from tests.fuzz.nasty import Random, in_layout

from widemargin import LinearSVC, LogisticRegression

LAYOUTS = ("C", "F", "csr_matrix", "csr_array", "int64")
_TOL = 1e-4
COARSE = "its own intercept is too coarse"
"""A weight of one beside 2^40 needs an intercept whose last digit is worth 1e-4."""


def main() -> int:
    """Run both campaigns."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.shifts")
    parser.add_argument("--fits", type=int, default=3000)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args()
    failures: Counter[str] = Counter()
    for number in range(options.fits):
        what = shifted(np.random.default_rng([options.seed, number]))
        if what:
            failures[what.split(":")[0]] += 1
            print(f"fit {number}: {what}", flush=True)
    coarse = failures.pop(COARSE, 0)
    print(
        f"X + 2^e: {options.fits} fits, {failures.total()} failures, {coarse} fell short and said "
        f"so where {COARSE} for the tolerance; seed {options.seed}"
    )
    for kind in (LinearSVC, LogisticRegression):
        runs = [times(kind, np.random.default_rng(number)) for number in range(options.times)]
        failures[kind.__name__] += runs.count(False)
        print(f"times in seconds: {kind.__name__} converges in {sum(runs)} of {len(runs)}")
    return int(failures.total() > 0)


def model_of(random: Random) -> Any:
    """Return one of the three losses with a free intercept."""
    settings = {"C": float(10.0 ** random.uniform(-3.0, 2.0)), "tol": _TOL, "max_iter": 5000}
    loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
    return LogisticRegression(**settings) if loss == "logistic" else LinearSVC(loss, **settings)


def shifted(random: Random) -> str:
    """Fit near zero and far from it; say what differs."""
    n, d = int(random.integers(6, 40)), int(random.integers(1, 6))
    grid = np.rint(random.normal(size=(n, d)) * 1024.0) / 1024.0
    y = np.where(grid[:, 0] + random.normal(size=n) > 0.0, 1, 0)
    y[:2] = 0, 1
    e = int(random.integers(0, 41))
    far = grid + 2.0**e
    if e <= 12 and random.random() < 0.3:  # 24 bits hold these
        grid, far = grid.astype(np.float32), far.astype(np.float32)
    layout = str(random.choice(LAYOUTS))
    model = model_of(random)
    about = f"[{model} on {n} x {d}, e = {e}, {layout} {far.dtype}]"
    results = []
    for X in (grid, far):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(in_layout(X, layout), y)
        if model.status_[0] != "converged":
            # Half a unit in the last place of the intercept, paid for by every example.
            lost = model.C * n * float(np.spacing(abs(model.intercept_[0]))) / 2.0
            spoilt = lost > _TOL * model.primal_[0] and model.status_[0] == "stalled"
            what = COARSE if spoilt else "did not converge"
            return f"{what}: {model.status_[0]} {about}"
        results.append((float(model.primal_[0]), float(model.dual_[0])))
    (near_primal, near_dual), (far_primal, far_dual) = results
    if near_dual > far_primal or far_dual > near_primal:
        return f"bounds of one optimum that exclude each other: {results} {about}"
    if abs(near_primal - far_primal) > _TOL * max(near_primal, far_primal):
        return f"objectives differ: {results} {about}"
    return ""


def times(kind: Any, random: Random) -> bool:
    """Say whether the defaults converge on one column of times in seconds."""
    X = 1.7e9 + random.integers(0, 3600, size=(20, 1)).astype(float)
    y = (X[:, 0] + 600 * random.normal(size=20) > 1.7e9 + 1800).astype(int)
    y[:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(kind().fit(X, y).status_[0] == "converged")


if __name__ == "__main__":
    sys.exit(main())
