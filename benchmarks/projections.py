"""Time of the projections against ``numpy.sort`` and a projection by sorting."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from widemargin.projections import project_box, project_l1_ball, project_simplex


def by_sorting(x: np.ndarray) -> np.ndarray:
    """Project onto the simplex in the textbook way."""
    falling = np.sort(x)[::-1]
    sums = np.cumsum(falling) - 1.0
    place = np.flatnonzero(falling * np.arange(1, x.size + 1) > sums)[-1]
    return np.maximum(x - sums[place] / (place + 1), 0.0)


def main() -> None:
    """Take turns, so that a busy spell of the machine hits all; report medians of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    x = random.normal(size=options.n)
    y = np.where(random.random(options.n) < 0.4, 1.0, -1.0)
    tasks: dict[str, Callable[[], object]] = {
        "numpy.sort": lambda: np.sort(x),
        "simplex by sorting": lambda: by_sorting(x),
        "project_simplex": lambda: project_simplex(x),
        "project_l1_ball": lambda: project_l1_ball(x),
        "project_box, 0 ≤ a ≤ 1, Σ a = n/5": lambda: project_box(x, upper=1.0, level=0.2 * x.size),
        "project_box, 0 ≤ a ≤ 1, Σ y a = 0": lambda: project_box(x, upper=1.0, coefficients=y),
    }
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for round in range(options.rounds + 1):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            if round > 0:
                seconds[name].append(time.perf_counter() - began)
    sort = np.array(seconds["numpy.sort"])
    print(f"n = {options.n:,}, medians of {options.rounds}")
    for name, times in seconds.items():
        ratio = float(np.median(sort / np.array(times)))
        print(f"{name:36} {1e3 * np.median(times):8.1f} ms   numpy.sort / this = {ratio:5.2f}")


if __name__ == "__main__":
    main()
