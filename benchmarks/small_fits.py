"""Whole fits of a few rows, and the time of the import, beside scikit-learn's.

``python -m benchmarks.small_fits``
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from .session import ONE_THREAD


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give iris (three classes, 150 x 4) and a noisy linear problem of 1,000 x 20."""
    from sklearn.datasets import load_iris, make_classification

    iris = load_iris(return_X_y=True)
    generated = make_classification(1000, 20, n_informative=10, flip_y=0.05, random_state=0)
    return {"iris 150 x 4": iris, "dense 1,000 x 20": generated}


def fit_seconds(repeats: int) -> dict[str, dict[str, float]]:
    """Time both estimators with their defaults in turns; medians by data set."""
    from sklearn.svm import LinearSVC as Theirs

    from widemargin import LinearSVC as Ours

    found = {}
    for name, (X, y) in data_sets().items():
        seconds: dict[str, list[float]] = {"widemargin": [], "scikit-learn": []}
        for _ in range(repeats):
            for who, model in (("widemargin", Ours()), ("scikit-learn", Theirs())):
                start = time.perf_counter()
                model.fit(X, y)
                seconds[who].append(time.perf_counter() - start)
        found[name] = {who: median(times) for who, times in seconds.items()}
    return found


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
    """Print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_fits", description=__doc__)
    parser.add_argument("--repeats", type=int, default=201, help="fits of each data set")
    parser.add_argument("--imports", type=int, default=11, help="imports")
    options = parser.parse_args()
    # scikit-learn's warnings about its own convergence would be timed too.
    warnings.filterwarnings("ignore")
    table = Table("", "widemargin ms", "scikit-learn ms", "ratio")
    measured = fit_seconds(options.repeats)
    measured["import"] = import_seconds(options.imports)
    for name, seconds in measured.items():
        ours, theirs = seconds["widemargin"], seconds["scikit-learn"]
        table.add_row(name, f"{1e3 * ours:.3f}", f"{1e3 * theirs:.3f}", f"{theirs / ours:.2f}")
    Console().print(table)


if __name__ == "__main__":
    import os

    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # Thread counts are read when the libraries load, so the process starts over with them set.
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.small_fits", *sys.argv[1:]])
    main()
