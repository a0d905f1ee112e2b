"""A fit on generated data larger than a memory limit: passes, seconds, peak memory.

``python -m benchmarks.scaling.disk --gigabytes 2 --limit 400MB --loss squared_hinge``

Prints what a plain reading of the cache takes as often as the fit has read it, and the peak memory
and the time of the fit. ``--sgd`` then runs scikit-learn's `SGDClassifier.partial_fit` over the
same blocks, in epochs, for as long as the fit has taken, and prints its objective.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from widemargin import DiskData, LinearSVC, LogisticRegression

ROWS = 4096


def blocks(count: int, width: int) -> Iterator[tuple[Any, Any]]:
    """Yield generated blocks of 4,096 rows, float32."""
    random = np.random.default_rng(0)
    w = random.standard_normal(width, dtype=np.float32)
    noise = 0.6 * np.sqrt(width)
    for _ in range(count):
        X = random.standard_normal((ROWS, width), dtype=np.float32)
        off = noise * random.standard_normal(len(X), dtype=np.float32)
        yield X, np.where(X @ w + off > 0.5, 1, -1)


def objective(data: DiskData, loss: str, w: Any, b: float, C: float) -> float:
    """Return ½‖w‖² + C Σ loss, in one pass."""
    total, begin = 0.0, 0
    for X in data.matrices():
        margins = data.y[begin : begin + len(X)] * (X @ w + b)  # type: ignore[index]
        begin += len(X)
        if loss == "logistic":
            total += float(np.logaddexp(0.0, -margins).sum())
        else:
            missed = np.maximum(0.0, 1.0 - margins)
            total += float((missed**2 if loss == "squared_hinge" else missed).sum())
    return 0.5 * float(w @ w) + C * total


def descend(data: DiskData, loss: str, C: float, seconds: float, target: float) -> None:
    """Run stochastic gradient descent for so long; print its objective after every epoch."""
    name = {"logistic": "log_loss"}.get(loss, loss)
    model = SGDClassifier(loss=name, alpha=1.0 / (C * data.shape[0]), random_state=0)
    spent, epochs = 0.0, 0
    while spent < seconds:
        began, begin = time.perf_counter(), 0
        for X in data.matrices():
            y = data.y[begin : begin + len(X)]  # type: ignore[index]
            model.partial_fit(X, y, classes=[-1, 1])
            begin += len(X)
        spent, epochs = spent + time.perf_counter() - began, epochs + 1
        value = objective(data, loss, model.coef_[0], float(model.intercept_[0]), C)
        print(
            f"SGDClassifier: {epochs} epochs, {spent:.1f} s, objective {value:.6g}, "
            f"{value / target - 1.0:.1e} above",
            flush=True,
        )


def main() -> None:
    """Generate, read, fit, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--limit", default="400MB")
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--sgd", action="store_true")
    options = parser.parse_args()
    count = int(options.gigabytes * 2**30 / (ROWS * options.width * 4))
    began = time.perf_counter()
    data = DiskData(blocks(count, options.width), memory_limit=options.limit)
    print(f"{data}, generated and cached in {time.perf_counter() - began:.1f} s", flush=True)
    began, processor = time.perf_counter(), time.process_time()
    for _ in data.matrices():
        pass
    plain = time.perf_counter() - began
    print(f"one reading: {plain:.2f} s, {time.process_time() - processor:.2f} CPU s")
    settings = {"C": options.C, "tol": options.tol, "n_jobs": options.threads}
    if options.loss == "logistic":
        model: Any = LogisticRegression(**settings)
    else:
        model = LinearSVC(options.loss, **settings)
    before, began, processor = data.bytes_read, time.perf_counter(), time.process_time()
    model.fit(data)
    took, passes = time.perf_counter() - began, (data.bytes_read - before) / data.nbytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{options.loss}: {model.status_[0]}, gap {model.certificate_.relative_gap:.1e}, "
        f"{np.max(model.n_iter_)} steps, {passes:.1f} passes, {took:.1f} s "
        f"({time.process_time() - processor:.1f} CPU s), {took / (passes * plain):.2f} of reading, "
        f"peak {peak:.0f} MB of {options.limit}, objective {model.certificate_.primal:.6g}",
        flush=True,
    )
    if options.sgd:
        descend(data, options.loss, options.C, took, model.certificate_.primal)


if __name__ == "__main__":
    main()
