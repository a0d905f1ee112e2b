"""Two versions of the code on the same fits: ``python -m benchmarks.versions OLD CELL...``.

OLD is a directory that holds another version of the package ``widemargin``, with its compiled
modules; the other version is the one that is installed. A cell is data:loss:multiple:tol, as
``w8a:logistic:10:1e-3``, see `benchmarks.sparse_weights`; data:path is the path of 100 values of C.
Each version has a process of its own; they take turns, and each turn is one fit. CPU seconds,
least of the turns, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np


def fits(old: str) -> None:
    """Answer each cell that comes in by the CPU seconds of a fit."""
    if old:
        editable = "ScikitBuildRedirectingFinder"
        sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != editable]
        sys.path.insert(0, old)
    from widemargin import path, smallest_C

    from .sparse_weights import ours, read

    known: dict[str, Any] = {}
    for line in sys.stdin:
        cell = line.strip()
        data, loss, *rest = cell.split(":")
        if cell not in known:
            X, y = read(data)
            model = "logistic" if loss == "path" else loss
            known = {cell: (X, y, smallest_C(X, y, loss=model, fit_intercept=False))}
        X, y, first = known[cell]
        began = time.process_time()
        if loss == "path":
            settings = {"loss": "logistic", "l1_ratio": 1.0, "fit_intercept": False, "tol": 1e-4}
            path(X, y, first * np.logspace(0.0, 3.0, 100), **settings)
            words = ""
        else:
            model = ours(X, y, loss, float(rest[0]) * first, float(rest[1]))
            words = str(model.solver_)
        print(json.dumps([time.process_time() - began, words]), flush=True)


def main() -> None:
    """Take turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("cells", nargs="*")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8.0, help="for one cell")
    parser.add_argument("--fits", action="store_true", help="be one of the two processes")
    options = parser.parse_args()
    if options.fits:
        fits(options.old)
        return
    command = [sys.executable, "-m", "benchmarks.versions", "--fits"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    versions = [subprocess.Popen([*command, old], **pipes) for old in (options.old, "")]
    ratios = []
    for cell in options.cells:
        seconds: tuple[list[float], list[float]] = ([], [])
        words = ["", ""]
        began = time.monotonic()
        for turn in range(options.turns + 1):
            for which, version in enumerate(versions):
                version.stdin.write(cell + "\n")
                version.stdin.flush()
                answer = json.loads(version.stdout.readline())
                words[which] = answer[1]
                if turn:  # the first one reads the data
                    seconds[which].append(answer[0])
            if turn >= 2 and time.monotonic() - began > options.seconds:
                break
        before, after = (min(each) for each in seconds)
        ratios.append(before / after)
        print(
            f"{cell} {before:.4f} -> {after:.4f} s, {before / after:.2f}x; {words[1]}", flush=True
        )
    print(
        f"{len(ratios)} cells: {statistics.geometric_mean(ratios):.3f}x, least {min(ratios):.2f}x"
    )
    for version in versions:
        version.stdin.close()
        version.wait()


if __name__ == "__main__":
    main()
