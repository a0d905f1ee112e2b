"""Fits on generated data 20 times larger than a memory limit: passes, seconds, peak memory.

``python -m benchmarks.scaling.disk --limit 400MB --folder /tmp/widemargin-disk``

``--times`` sets how many times larger than the limit the data are; 20 by default. The rows are
dense float32, written once into the cache that `DiskData` reads, below ``--folder``; it is deleted
in the end. Each loss is fitted in a process of its own, which reports its peak resident memory, and
what a plain reading of the cache takes, as often as the fit has read it. Pages that were read are
dropped from the operating system's cache, so that every pass comes from the disk, unless ``--warm``
keeps them there. ``--seconds`` is the time limit of each fit.

For comparison, `SGDClassifier.partial_fit` runs over the same blocks for as long as the fit has
taken, one epoch at least, and LIBLINEAR on the largest sample that the limit has room for. Their
objectives are those of all rows.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import shutil
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as LiblinearLogistic
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC as LiblinearSVC

from widemargin import DiskData, LinearSVC, LogisticRegression
from widemargin.data.block_file import BlockFile
from widemargin.data.disk_data import bytes_of

ROWS = 1024

LOSSES = ("squared_hinge", "logistic", "hinge")

NODE_BYTES = 16 + 8
"""Of a value in LIBLINEAR's own layout, and in the array that it is made from."""


def blocks(count: int, width: int) -> Iterator[tuple[Any, Any]]:
    """Yield generated blocks of 1,024 rows, float32; scales of the columns differ tenfold."""
    random = np.random.default_rng(0)
    scale = np.logspace(-0.5, 0.5, width, dtype=np.float32)
    w = random.standard_normal(width, dtype=np.float32) / scale
    noise = 0.6 * np.sqrt(width)
    for _ in range(count):
        X = random.standard_normal((ROWS, width), dtype=np.float32) * scale
        off = noise * random.standard_normal(len(X), dtype=np.float32)
        yield X, np.where(X @ w + off > 0.5, 1, -1)


def read_cold() -> None:
    """Drop every block from the operating system's cache once it was read."""
    read = BlockFile._read

    def read_and_drop(self: Any, place: int, buffer: Any) -> None:
        read(self, place, buffer)
        begin, size = int(self._offsets[place]), int(self.bytes[place])
        os.posix_fadvise(self._file.fileno(), begin, size, os.POSIX_FADV_DONTNEED)

    BlockFile._read = read_and_drop  # type: ignore[method-assign]


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


def say(name: str, value: float, target: float, words: str) -> None:
    """Print an objective beside that of the fit."""
    print(f"  {name}: {words}, objective {value:.6g}, {value / target - 1.0:.1e} above", flush=True)


def descend(data: DiskData, loss: str, C: float, seconds: float, target: float) -> None:
    """Run stochastic gradient descent for so long; print its objective in the end."""
    name = {"logistic": "log_loss"}.get(loss, loss)
    model = SGDClassifier(loss=name, alpha=1.0 / (C * data.shape[0]), random_state=0)
    began, epochs = time.perf_counter(), 0
    while epochs == 0 or time.perf_counter() - began < seconds:
        begin = 0
        for X in data.matrices():
            y = data.y[begin : begin + len(X)]  # type: ignore[index]
            model.partial_fit(X, y, classes=[-1, 1])
            begin += len(X)
        epochs += 1
    took = time.perf_counter() - began
    value = objective(data, loss, model.coef_[0], float(model.intercept_[0]), C)
    say("SGDClassifier.partial_fit", value, target, f"{epochs} epochs, {took:.1f} s")


def on_sample(data: DiskData, loss: str, C: float, target: float) -> None:
    """Run LIBLINEAR on a sample that fits; its C makes up for the rows left out."""
    rows = min(data.shape[0], data.memory_limit // (NODE_BYTES * data.shape[1]))
    found: list[Any] = []
    for X in data.matrices():
        if sum(map(len, found)) >= rows:
            break
        found.append(X.astype(np.float64))
    X = np.concatenate(found)[:rows]
    given = {"C": C * data.shape[0] / rows, "intercept_scaling": 10.0}
    if loss == "logistic":
        model: Any = LiblinearLogistic(solver="liblinear", **given)
    else:
        model = LiblinearSVC(loss=loss, dual="auto", **given)
    began = time.perf_counter()
    model.fit(X, data.y[:rows])  # type: ignore[index]
    took = time.perf_counter() - began
    value = objective(data, loss, model.coef_[0], float(model.intercept_[0]), C)
    say("LIBLINEAR", value, target, f"{rows} of the rows, {took:.1f} s")


def fit(data: DiskData, loss: str, options: argparse.Namespace, told: Any) -> None:
    """Read once, fit, report; send the seconds of the fit and its objective."""
    if not options.warm:
        read_cold()
    began, processor = time.perf_counter(), time.process_time()
    for _ in data.matrices():
        pass
    plain, plain_cpu = time.perf_counter() - began, time.process_time() - processor
    settings = {"C": options.C, "tol": options.tol, "n_jobs": options.threads}
    settings["time_limit"] = options.seconds
    model: Any = LogisticRegression(**settings)
    if loss != "logistic":
        model = LinearSVC(loss, **settings)
    before, began, processor = data.bytes_read, time.perf_counter(), time.process_time()
    model.fit(data)
    took, cpu = time.perf_counter() - began, time.process_time() - processor
    passes = (data.bytes_read - before) / data.nbytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / data.memory_limit
    print(
        f"{loss}: {model.status_[0]}, gap {model.certificate_.relative_gap:.1e}, "
        f"{np.max(model.n_iter_)} steps, {passes:.1f} passes, {took:.1f} s ({cpu:.1f} CPU s), "
        f"objective {model.certificate_.primal:.6g}\n"
        f"  {took / (passes * plain):.2f} of reading as often: one reading is {plain:.1f} s "
        f"({plain_cpu:.1f} CPU s); peak memory {peak:.2f} of the limit",
        flush=True,
    )
    told.put((took, model.certificate_.primal))


def main() -> None:
    """Generate, then fit and compare loss by loss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", default="400MB")
    parser.add_argument("--times", type=float, default=20.0, help="size of the data in limits")
    parser.add_argument("--losses", default=",".join(LOSSES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--width", type=int, default=4000)
    parser.add_argument("-C", type=float, default=1e-4)
    parser.add_argument("--seconds", type=float, default=900.0, help="time limit of each fit")
    parser.add_argument("--folder", default="/tmp/widemargin-disk")
    parser.add_argument("--warm", action="store_true", help="keep pages that were read in memory")
    parser.add_argument("--alone", action="store_true", help="without the comparisons")
    options = parser.parse_args()
    wanted = options.times * bytes_of(options.limit)
    count = math.ceil(wanted / (ROWS * options.width * 4))
    began = time.perf_counter()
    try:
        data = DiskData(
            blocks(count, options.width), memory_limit=options.limit, cache=options.folder
        )
        times = data.nbytes / bytes_of(options.limit)
        print(
            f"{data}, {times:.1f} times the limit, generated and cached in "
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )
        # Forked: the data are opened once, and each fit has a peak of its own.
        apart = multiprocessing.get_context("fork")
        for loss in options.losses.split(","):
            told = apart.Queue()
            child = apart.Process(target=fit, args=(data, loss, options, told))
            child.start()
            child.join()
            if child.exitcode == 0 and not options.alone:
                took, target = told.get()
                descend(data, loss, options.C, took, target)
                on_sample(data, loss, options.C, target)
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
