"""A fit on generated data larger than a memory limit: passes, seconds, peak memory.

``python -m benchmarks.scaling.disk --gigabytes 2 --limit 400MB --loss squared_hinge``

Prints what a plain reading of the cache takes as often as the fit has read it, and the least memory
and time that the fit took.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin import DiskData, LinearSVC, LogisticRegression

WIDTH, ROWS = 1000, 4000


def blocks(count: int) -> Iterator[tuple[Any, Any]]:
    """Yield generated blocks of 4,000 rows, float32."""
    random = np.random.default_rng(0)
    w = random.standard_normal(WIDTH, dtype=np.float32)
    for _ in range(count):
        X = random.standard_normal((ROWS, WIDTH), dtype=np.float32)
        noise = 18.0 * random.standard_normal(len(X), dtype=np.float32)
        yield X, np.where(X @ w + noise > 0.5, 1, -1)


def main() -> None:
    """Generate, read, fit, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--limit", default="400MB")
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-4)
    options = parser.parse_args()
    count = int(options.gigabytes * 2**30 / (ROWS * WIDTH * 4))
    began = time.perf_counter()
    data = DiskData(blocks(count), memory_limit=options.limit)
    print(f"{data}, generated and cached in {time.perf_counter() - began:.1f} s")
    began, processor = time.perf_counter(), time.process_time()
    for _ in data.matrices():
        pass
    plain = time.perf_counter() - began
    print(f"one reading: {plain:.2f} s, {time.process_time() - processor:.2f} CPU s")
    settings = {"tol": options.tol, "n_jobs": options.threads}
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
        f"peak {peak:.0f} MB of {options.limit}"
    )


if __name__ == "__main__":
    main()
