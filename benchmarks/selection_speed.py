"""The whole search over C against LIBLINEAR's ``-C`` and scikit-learn's grid searches.

``python -m benchmarks.selection_speed [--sets ...] [--repeats 3] [--grid-search-seconds 60]`` runs
both in turns on the same five folds and the same values of C, and writes
``results/selection_speed.csv`` and ``.md``. LIBLINEAR shuffles with the C library's ``rand``;
seeded alike before each run, its folds are known, and widemargin gets the same ones. It starts at
2^-10 and stops by its own rule; widemargin looks at exactly the values of C that it looked at.

scikit-learn's searches start every fit from nothing. They go through the grid from the smallest C;
where one takes longer than the limit, the time of what was finished stands for the whole, and the
ratio is a lower bound.
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

from benchmarks.problems import libsvm_file, unpack

RESULTS = Path(__file__).parent / "results"
SETS = (
    "a9a",
    "w8a",
    "ijcnn1",
    "mushrooms",
    "madelon",
    "20newsgroups",
    "news20.scale",
    "covtype.libsvm.binary.scale",
)
LOSSES = {"logistic": 0, "squared_hinge": 2}
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
    "sklearn_finished",
    "sklearn_ratio",
)


def load(name: str) -> tuple[Any, np.ndarray]:
    """Load a set with its own labels; 20 newsgroups as tf-idf."""
    from io import BytesIO

    from sklearn.datasets import load_svmlight_file

    if name == "20newsgroups":
        from sklearn.feature_extraction.text import TfidfVectorizer

        lines = unpack("text/20newsgroups-train.tab").decode("utf-8", "replace").splitlines()
        rows = [line.split("\t") for line in lines[3:] if "\t" in line]
        group = 0 if "sci.space" in {row[0] for row in rows} else 1
        X = TfidfVectorizer().fit_transform(row[1 - group] for row in rows)
        return X, np.unique([row[group] for row in rows], return_inverse=True)[1].astype(float)
    if name == "mushrooms":
        return libsvm_file(name)
    return load_svmlight_file(BytesIO(unpack(name)))


def folds_of(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the five folds that LIBLINEAR draws after ``srand(1)``."""
    libc = ctypes.CDLL(None)
    libc.srand(1)
    order = list(range(count))
    for i in range(count):
        j = i + libc.rand() % (count - i)
        order[i], order[j] = order[j], order[i]
    parts = [np.sort(order[k * count // 5 : (k + 1) * count // 5]) for k in range(5)]
    return [(np.setdiff1d(np.arange(count), test), test) for test in parts]


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
    model = LogisticRegressionCV(**arguments) if loss == "logistic" else LinearSVCCV(**arguments)
    began = clocks()
    model.fit(X, y)
    seconds = clocks() - began
    sizes = np.array([test.size for _, test in folds])
    return seconds, float((model.scores_ * sizes).sum(axis=1).max() / sizes.sum())


def scikit_learn(
    X: Any, y: np.ndarray, loss: str, Cs: list[float], folds: Any, limit: float
) -> tuple[float, bool]:
    """Run scikit-learn's search from the smallest C on, as far as time allows; CPU seconds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import LinearSVC

    spent = 0.0
    for C in Cs:
        if loss == "logistic":
            model: Any = LogisticRegression(C=C, solver="liblinear", fit_intercept=False)
            if np.unique(y).size > 2:
                from sklearn.multiclass import OneVsRestClassifier

                model = OneVsRestClassifier(model)
        else:
            model = LinearSVC(C=C, fit_intercept=False)
        began = time.process_time()
        cross_val_score(model, X, y, cv=folds)
        spent += time.process_time() - began
        if spent > limit and Cs[-1] != C:
            return spent, False
    return spent, True


def measure(name: str, loss: str, repeats: int, limit: float) -> dict[str, Any]:
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
    row = {
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
    if limit > 0.0:
        spent, whole = scikit_learn(X, y, loss, Cs, folds, limit)
        row["sklearn_seconds"] = round(spent, 2)
        row["sklearn_finished"] = whole
        row["sklearn_ratio"] = round(spent / row["widemargin_cpu"], 1)
    return row


def report(rows: list[dict[str, Any]]) -> None:
    """Write the table, and the geometric means under it."""
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
        "its own. scikit-learn is compared by CPU seconds.",
        "A > is a search that was cut off by its time limit: a lower bound, in the mean too.",
        "Rows come from several runs of this command, between which the code has changed.",
        "",
        "| set | loss | C | widemargin | LIBLINEAR -C | ratio | CPU | LIBLINEAR's | ratio | "
        "accuracy | LIBLINEAR's | scikit-learn | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        slow = row.get("sklearn_seconds", "")
        sign = "" if row.get("sklearn_finished") in (True, "True", "", None) else "> "
        lines.append(
            f"| {row['set']} | {row['loss']} | {row['values_of_C']} | "
            f"{row['widemargin_seconds']} | {row['liblinear_seconds']} | "
            f"{row['liblinear_ratio']}x | {row['widemargin_cpu']} | {row['liblinear_cpu']} | "
            f"{row['liblinear_cpu_ratio']}x | "
            f"{row['widemargin_accuracy']} | {row['liblinear_accuracy']} | {sign}{slow} | "
            f"{sign}{row.get('sklearn_ratio', '')}x |"
        )
    for name, key in (
        ("LIBLINEAR -C", "liblinear_ratio"),
        ("LIBLINEAR -C, CPU", "liblinear_cpu_ratio"),
        ("scikit-learn, CPU", "sklearn_ratio"),
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
    parser.add_argument("--grid-search-seconds", type=float, default=60.0)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measure(
                options.sets[0], options.losses[0], options.repeats, options.grid_search_seconds
            )
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
            command += ["--grid-search-seconds", str(options.grid_search_seconds)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(answer.stdout.splitlines()[-1])
            print(row, flush=True)
            kept[name, loss] = row
            order = [(n, k) for n in SETS for k in LOSSES]
            report([kept[key] for key in order if key in kept])


if __name__ == "__main__":
    main()
