"""The whole search over C against LIBLINEAR's ``-C`` and scikit-learn's grid searches.

``python -m benchmarks.selection_speed [--sets ...] [--losses ...] [--repeats 3]`` runs both in
turns on the same five folds and the same values of C, and writes ``results/selection_speed.csv``
and ``.md``; rows of other sets stay. LIBLINEAR shuffles with the C library's ``rand``; seeded alike
before each run, its folds are known, and widemargin gets the same ones. It starts at 2^-10 and
stops by its own rule; widemargin looks at exactly the values of C that it looked at.

scikit-learn's searches start every fit from nothing and take minutes; their seconds come from the
record that ``python -m benchmarks.selection_rivals`` keeps.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.selection_data import LOSSES, SETS, folds_of, load
from benchmarks.selection_rivals import grid_search

RESULTS = Path(__file__).parent / "results"
COLUMNS = (
    "set",
    "loss",
    "values_of_C",
    "widemargin_seconds",
    "liblinear_seconds",
    "liblinear_ratio",
    "widemargin_cpu",
    "liblinear_cpu",
    "liblinear_cpu_ratio",
    "widemargin_accuracy",
    "liblinear_accuracy",
    "sklearn_seconds",
    "sklearn_known",
    "sklearn_ratio",
    "sklearn_cpu_ratio",
)


def clocks() -> np.ndarray:
    """Return wall clock and CPU time; on a busy machine the latter is what can be compared."""
    return np.array([time.perf_counter(), time.process_time()])


def liblinear(X: Any, y: np.ndarray, kind: int) -> tuple[Any, list[float], float]:
    """Run ``-C``; return both clocks, the values of C it looked at, and its best accuracy."""
    from liblinear.liblinearutil import parameter, problem, train

    libc = ctypes.CDLL(None)
    data, settings = problem(y, X), parameter(f"-C -s {kind} -v 5 -c {2.0**-10}")
    with tempfile.TemporaryFile() as said:
        kept = os.dup(1)
        os.dup2(said.fileno(), 1)
        try:
            libc.srand(1)
            began = clocks()
            best = train(data, settings)
            seconds = clocks() - began
            libc.fflush(None)
        finally:
            os.dup2(kept, 1)
        said.seek(0)
        looked = re.findall(r"log2c=\s*([-\d.]+)", said.read().decode())
    return seconds, [2.0 ** float(c) for c in looked], float(best[2])


def widemargin(X: Any, y: np.ndarray, loss: str, Cs: Any, folds: Any) -> tuple[Any, float]:
    """Run the same search in two threads, with its final fit; return both clocks and accuracy."""
    from widemargin import LinearSVCCV, LogisticRegressionCV

    arguments: dict[str, Any] = {"Cs": Cs, "cv": folds, "fit_intercept": False, "n_jobs": 2}
    model = (
        LogisticRegressionCV(**{"Cs": None, **arguments})
        if loss == "logistic"
        else LinearSVCCV(**arguments)
    )
    began = clocks()
    model.fit(X, y)
    seconds = clocks() - began
    sizes = np.array([test.size for _, test in folds])
    return seconds, float((model.path_["scores"] * sizes).sum(axis=1).max() / sizes.sum())


def measure(name: str, loss: str, repeats: int) -> dict[str, Any]:
    """Measure one set and loss."""
    X, y = load(name)
    folds = folds_of(X.shape[0])
    theirs, ours = [], []
    # The first fit of a process imports what it needs; that is not the search.
    small = np.random.default_rng(0).normal(size=(60, 3))
    widemargin(small, np.sign(small[:, 0]), loss, [0.1, 1.0], folds_of(60))
    for _ in range(repeats):
        seconds, Cs, rate = liblinear(X, y, LOSSES[loss])
        theirs.append(seconds)
        mine, accuracy = widemargin(X, y, loss, Cs, folds)
        ours.append(mine)
        if sum(wall for wall, _ in theirs) > 120.0:
            break
    pairs = list(zip(theirs, ours, strict=True))
    return {
        "set": name,
        "loss": loss,
        "values_of_C": len(Cs),
        "widemargin_seconds": round(median(o[0] for o in ours), 3),
        "liblinear_seconds": round(median(t[0] for t in theirs), 3),
        "liblinear_ratio": round(median(t[0] / o[0] for t, o in pairs), 2),
        "widemargin_cpu": round(median(o[1] for o in ours), 3),
        "liblinear_cpu": round(median(t[1] for t in theirs), 3),
        "liblinear_cpu_ratio": round(median(t[1] / o[1] for t, o in pairs), 2),
        "widemargin_accuracy": round(100 * accuracy, 3),
        "liblinear_accuracy": round(100 * rate, 3),
    }


def with_rivals(row: dict[str, Any]) -> dict[str, Any]:
    """Add scikit-learn's seconds from the record."""
    Cs = [2.0 ** (k - 10) for k in range(int(row["values_of_C"]))]
    known = grid_search(row["set"], row["loss"], Cs)
    if known is not None:
        row["sklearn_seconds"], row["sklearn_known"] = round(known[0], 2), known[1]
        row["sklearn_ratio"] = round(known[0] / float(row["widemargin_seconds"]), 1)
        row["sklearn_cpu_ratio"] = round(known[0] / float(row["widemargin_cpu"]), 1)
    return row


def report(rows: list[dict[str, Any]]) -> None:
    """Write the table, and the geometric means under it."""
    rows = [with_rivals({key: row.get(key, "") for key in COLUMNS}) for row in rows]
    with open(RESULTS / "selection_speed.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [
        "# Search over C",
        "",
        "Seconds of the whole search, five folds, no intercept, the same folds and values of C;",
        "two threads for widemargin, with its final fit. Ratios above one: widemargin is faster.",
        "CPU seconds count all threads: they are what a busy machine leaves comparable, and their",
        "ratio is the gain on one core. Where both clocks agree, the second thread had no core of",
        "its own. scikit-learn's seconds are the CPU's in its one thread, from",
        "`selection_rivals.csv`, against both of widemargin's clocks; ~ is what one or two of the",
        "five folds took at every C, times five or two and a half, > what was finished, a lower",
        "bound.",
        "",
        "| set | loss | C | widemargin | LIBLINEAR -C | ratio | CPU | LIBLINEAR's | ratio | "
        "accuracy | LIBLINEAR's | scikit-learn | ratio | CPU ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        slow = row["sklearn_seconds"]
        known = str(row["sklearn_known"])
        sign = "~ " if known.startswith("from") else "> " if known == "more than" else ""
        lines.append(
            f"| {row['set']} | {row['loss']} | {row['values_of_C']} | "
            f"{row['widemargin_seconds']} | {row['liblinear_seconds']} | "
            f"{row['liblinear_ratio']}x | {row['widemargin_cpu']} | {row['liblinear_cpu']} | "
            f"{row['liblinear_cpu_ratio']}x | "
            f"{row['widemargin_accuracy']} | {row['liblinear_accuracy']} | {sign}{slow} | "
            f"{sign}{row.get('sklearn_ratio', '')}x | {sign}{row.get('sklearn_cpu_ratio', '')}x |"
        )
    for name, key in (
        ("LIBLINEAR -C", "liblinear_ratio"),
        ("LIBLINEAR -C, CPU", "liblinear_cpu_ratio"),
        ("scikit-learn", "sklearn_ratio"),
        ("scikit-learn, CPU", "sklearn_cpu_ratio"),
    ):
        ratios = [float(row[key]) for row in rows if row.get(key) not in (None, "")]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines += ["", f"Geometric mean over {name}: {mean:.1f}x, lowest {min(ratios):.1f}x."]
    (RESULTS / "selection_speed.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Measure what was asked for, each in a process of its own, and keep other rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--losses", nargs="+", default=tuple(LOSSES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measure(options.sets[0], options.losses[0], options.repeats)
        print(json.dumps(row))
        return
    path, kept = RESULTS / "selection_speed.csv", {}
    if path.exists():
        with open(path, newline="") as file:
            kept = {(row["set"], row["loss"]): row for row in csv.DictReader(file)}
    for name in options.sets:
        for loss in options.losses:
            command = [sys.executable, "-m", "benchmarks.selection_speed", "--one"]
            command += ["--sets", name, "--losses", loss, "--repeats", str(options.repeats)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(answer.stdout.splitlines()[-1])
            print(row, flush=True)
            kept[name, loss] = row
            order = [(n, k) for n in SETS for k in LOSSES]
            report([kept[key] for key in order if key in kept])


if __name__ == "__main__":
    main()
