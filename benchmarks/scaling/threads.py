"""Whole fits of Newton's family with one and with two threads.

``python -m benchmarks.scaling.threads --seconds 480``

Wall-clock seconds, the least of a few interleaved runs: threads are about these, so the cores have
to be idle. ``None`` is the plain path, without blocks; the speed-up is over the faster of it and
one thread. Cells share the seconds: each gets one run of all three at least, and repeats while its
share lasts.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import problems
from widemargin import LinearSVC, LogisticRegression

LOSSES = {
    "hinge": lambda jobs, C: LinearSVC("hinge", C=C, solver="proximal_newton", n_jobs=jobs),
    "squared_hinge": lambda jobs, C: LinearSVC(C=C, solver="newton", n_jobs=jobs),
    "logistic": lambda jobs, C: LogisticRegression(C=C, solver="newton", n_jobs=jobs),
}


def data_of(name: str) -> tuple[Any, Any]:
    """Return the examples of a data set by name, or a dense million."""
    if name != "dense":
        return problems.load(name)
    random = np.random.default_rng(0)
    X = random.standard_normal((1_000_000, 50), dtype=np.float32)
    noise = 3.0 * random.standard_normal(len(X), dtype=np.float32)
    return X, np.where(X @ random.standard_normal(50, dtype=np.float32) + noise > 0.3, 1, -1)


def seconds(make: Any, X: Any, y: Any) -> float:
    """Time one fit."""
    began = time.perf_counter()
    make().fit(X, y)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="covtype,dense,mnist.scale,20newsgroups")
    parser.add_argument("--losses", default=",".join(LOSSES))
    parser.add_argument("--repeats", type=int, default=3, help="runs of a cell at most")
    parser.add_argument("--seconds", type=float, default=480.0, help="of the whole benchmark")
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    console, began = Console(width=100), time.perf_counter()
    cells = len(options.data.split(",")) * len(options.losses.split(","))
    table = Table("data", "loss", "None", "1 thread", f"{options.threads} threads", "speed-up")
    for name in options.data.split(","):
        X, y = data_of(name)
        for loss in options.losses.split(","):
            make, best = LOSSES[loss], {}
            left = began + options.seconds - time.perf_counter()
            ends, cells = time.perf_counter() + left / cells, cells - 1
            for turn in range(options.repeats):
                if turn > 0 and time.perf_counter() > ends:
                    break
                for jobs in (None, 1, options.threads):
                    took = seconds(lambda jobs=jobs, make=make: make(jobs, options.C), X, y)
                    best[jobs] = min(took, best.get(jobs, np.inf))
            plain, one, two = (best[jobs] for jobs in (None, 1, options.threads))
            table.add_row(
                name,
                loss,
                f"{plain:.3f}",
                f"{one:.3f}",
                f"{two:.3f}",
                f"{min(plain, one) / two:.2f}",
            )
            console.print(
                f"{name} {loss} {plain:.3f} {one:.3f} {two:.3f} {min(plain, one) / two:.2f}"
            )
    console.print(table)


if __name__ == "__main__":
    main()
