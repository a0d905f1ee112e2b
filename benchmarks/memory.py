"""Growth of the process during `fit`, relative to the data, on float32 rows.

``python -m benchmarks.memory``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from .peers.base import LOSSES

LAYOUTS = ("dense", "csr")


def peak_bytes() -> int:
    """Read the largest resident size so far, from the kernel's own account."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("no VmHWM in /proc/self/status")


def reset_peak() -> None:
    """Forget the peak of making the data."""
    Path("/proc/self/clear_refs").write_text("5")


def make(layout: str, n: int, d: int) -> tuple[Any, np.ndarray, int]:
    """Make rows, labels and the number of bytes of the rows."""
    generator = np.random.default_rng(0)
    truth = generator.standard_normal(d).astype(np.float32)
    if layout == "dense":
        X: Any = generator.standard_normal((n, d), dtype=np.float32)
        size = X.nbytes
    else:
        # float32 and int32: half the non-zeros make as many bytes as the dense rows.
        per_row, wide = d // 2, 1000
        truth = generator.standard_normal(wide).astype(np.float32)
        strata = wide // per_row
        indices = strata * np.arange(per_row, dtype=np.int32)
        indices = indices + generator.integers(0, strata, (n, per_row), dtype=np.int32)
        values = generator.standard_normal(n * per_row, dtype=np.float32)
        indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
        X = csr_matrix((values, indices.ravel(), indptr), shape=(n, wide))
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    scores = X @ truth + generator.standard_normal(n).astype(np.float32)
    return X, np.where(scores > 0, 1, -1), size


def measure(layout: str, loss: str, n: int, d: int) -> dict[str, float]:
    """Fit in this process and report the growth of its peak over what it held before."""
    from widemargin import LinearSVC, LogisticRegression

    # The first fit loads what is loaded once; it is not memory of this fit.
    model = LogisticRegression() if loss == "logistic" else LinearSVC(loss=loss)
    X, y, _ = make(layout, 200, d)
    model.fit(X, y)
    X, y, size = make(layout, n, d)
    vectors = 8 * (3 * n + 3 * X.shape[1])
    reset_peak()
    before = peak_bytes()
    model.fit(X, y)
    return {"data": size, "vectors": vectors, "growth": peak_bytes() - before}


def main() -> None:
    """Measure every layout and loss in its own process and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=50)
    parser.add_argument("--inside", nargs=2, metavar=("LAYOUT", "LOSS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        layout, loss = options.inside
        print(json.dumps(measure(layout, loss, options.n, options.d)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "rows", "loss", "data MB", "growth in fit MB", "(data + growth) / data", "less vectors"
    )
    for layout in LAYOUTS:
        for loss in LOSSES:
            command = [sys.executable, "-m", "benchmarks.memory", "--inside", layout, loss]
            command += ["--n", str(options.n), "--d", str(options.d)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                table.add_row(layout, loss, done.stderr.strip().splitlines()[-1])
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            data, growth = found["data"], found["growth"]
            # For CSR the limit is 1.3 x data plus the vectors of n and d numbers a method keeps.
            allowed = (data + growth - found["vectors"]) / data
            table.add_row(
                layout,
                loss,
                f"{data / 1e6:.0f}",
                f"{growth / 1e6:.0f}",
                f"{(data + growth) / data:.2f}",
                f"{allowed:.2f}" if layout == "csr" else "",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
