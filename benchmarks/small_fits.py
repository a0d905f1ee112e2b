"""Whole fits of a few rows, where the overhead counts, beside LIBLINEAR's and scikit-learn's.

``python -m benchmarks.small_fits``

LIBLINEAR is called through `liblinear-official`: "train" is its solver alone on a problem that was
converted before, "LIBLINEAR" converts the arrays in every fit as a user has to. Its own tolerance
is looser than a proven gap of 1e-4, so the ratios are about overhead where the solve is trivial.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .session import ONE_THREAD

SHAPES = ((150, 4), (3000, 4), (1000, 20))
SOLVERS = {"squared_hinge": 1, "hinge": 3, "logistic": 7}
"""LIBLINEAR's numbers of the dual solvers."""


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give noisy linear problems of two classes, and iris."""
    from sklearn.datasets import load_iris

    found = {}
    for n, d in SHAPES:
        random = np.random.default_rng(0)
        X, w = random.normal(size=(n, d)), random.normal(size=d)
        noise = 0.3 * np.sqrt(d) * random.normal(size=n)
        found[f"{n:,} x {d}"] = (X, np.where(X @ w + noise > 0.0, 1, -1))
    return {**found, "iris 150 x 4, 3 classes": load_iris(return_X_y=True)}


def fits(loss: str, X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    from liblinear.liblinearutil import problem, train
    from sklearn.svm import LinearSVC as Theirs

    from widemargin import LinearSVC, LogisticRegression

    def ours(fit_intercept: bool) -> Any:
        if loss == "logistic":
            return LogisticRegression(fit_intercept=fit_intercept)
        return LinearSVC(loss, fit_intercept=fit_intercept)

    options, converted = f"-s {SOLVERS[loss]} -q", problem(y, X)
    named: dict[str, Callable[[], Any]] = {
        "widemargin": lambda: ours(True).fit(X, y),
        "no intercept": lambda: ours(False).fit(X, y),
        "LIBLINEAR": lambda: train(problem(y, X), options),
        "train": lambda: train(converted, options),
    }
    if loss != "logistic":
        named["scikit-learn"] = lambda: Theirs(loss=loss).fit(X, y)
    return named


def fit_seconds(named: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Time all of them in turns; the least CPU seconds of each, which other work hardly touches."""
    seconds: dict[str, list[float]] = {who: [] for who in named}
    for _ in range(repeats):
        for who, fit in named.items():
            start = time.thread_time()
            fit()
            seconds[who].append(time.thread_time() - start)
    return {who: min(times) for who, times in seconds.items()}


def import_seconds(repeats: int) -> dict[str, float]:
    """Time both imports in fresh processes, in turns; medians of what the processes measure."""
    modules = {"widemargin": "widemargin", "scikit-learn": "sklearn.svm"}
    seconds: dict[str, list[float]] = {who: [] for who in modules}
    for _ in range(repeats):
        for who, module in modules.items():
            script = (
                "import time; start = time.perf_counter(); "
                f"import {module}; print(time.perf_counter() - start)"
            )
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            )
            seconds[who].append(float(done.stdout))
    return {who: median(times) for who, times in seconds.items()}


def main() -> None:
    """Print one table of milliseconds, and the ratio to LIBLINEAR called from Python."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_fits", description=__doc__)
    parser.add_argument("--repeats", type=int, default=101, help="fits of each data set")
    parser.add_argument("--imports", type=int, default=11, help="imports")
    options = parser.parse_args()
    # scikit-learn's warnings about its own convergence would be timed too.
    warnings.filterwarnings("ignore")
    columns = ("widemargin", "no intercept", "LIBLINEAR", "train", "scikit-learn")
    table = Table("ms", "loss", *columns, "widemargin / LIBLINEAR")
    for name, (X, y) in data_sets().items():
        for loss in SOLVERS:
            found = fit_seconds(fits(loss, X, y), options.repeats)
            cells = [f"{1e3 * found[who]:.3f}" if who in found else "" for who in columns]
            ratio = found["widemargin"] / found["LIBLINEAR"]
            table.add_row(name, loss, *cells, f"{ratio:.2f}")
    found = import_seconds(options.imports)
    cells = [f"{1e3 * found[who]:.0f}" if who in found else "" for who in columns]
    table.add_row("import", "", *cells, "")
    Console(width=120).print(table)


if __name__ == "__main__":
    import os

    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # Thread counts are read when the libraries load, so the process starts over with them set.
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.small_fits", *sys.argv[1:]])
    main()
