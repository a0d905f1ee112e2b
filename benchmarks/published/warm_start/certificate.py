"""Does the certified bound hold, and what does it cost?

``python -m benchmarks.published.warm_start.certificate [set ...]`` writes results/certified.csv and
.md: the cost of a certified search with epsilon 0.01 over 2^-10 .. 2^10 against a plain one at
those 21 values, in passes over the data and in CPU seconds (with the final fit), and how many of
200 random C, solved to 1e-9, have an error below the bound (it must be none). Rows of sets that are
not named stay as they were.
"""

from __future__ import annotations

import csv
import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.arguments import names_asked_for
from widemargin import LinearSVCCV, LogisticRegressionCV

from .data import RESULTS, load, write

SETS = (
    "a1a",
    "a9a",
    "w8a",
    "mushrooms",
    "dna.scale",
    "splice_scale",
    "heart_scale",
    "ionosphere_scale",
)
LOSSES = ("squared_hinge", "logistic")
HINGE_TOO = ("heart_scale", "ionosphere_scale")
COLUMNS = [
    "dataset",
    "loss",
    "certified",
    "error",
    "bound",
    "solved",
    "plain_seconds",
    "seconds",
    "ratio",
    "plain_passes",
    "passes",
    "passes_ratio",
    "random_C",
    "below",
]
RANDOM = 200


def chooser(loss: str, **arguments: Any) -> Any:
    """Return the estimator of a loss, without intercept, on fixed folds."""
    settings = {"cv": StratifiedKFold(5), "fit_intercept": False, **arguments}
    return (
        LogisticRegressionCV(**{"Cs": None, **settings})
        if loss == "logistic"
        else LinearSVCCV(loss, **settings)
    )


def row_of(name: str, loss: str) -> list[Any]:
    """Measure one set."""
    X, y = load(name)
    grid = 2.0 ** np.arange(-10, 11)
    began = time.process_time()
    plain = chooser(loss, Cs=grid).fit(X, y)
    plain_seconds = time.process_time() - began
    began = time.process_time()
    sure = chooser(loss, Cs=grid, certify=0.01).fit(X, y)
    seconds = time.process_time() - began
    random = np.sort(2.0 ** np.random.default_rng(0).uniform(-10, 10, RANDOM))
    checked = chooser(loss, Cs=random, search_tol=1e-8, max_iter=100_000).fit(X, y)
    errors = 1.0 - checked.path_["scores"].mean(axis=1)
    gap = max(c.relative_gap for c in checked.certificates_)
    assert gap <= 1.001e-9, (name, loss, gap)
    passes, plain_passes = sure.path_["passes"].sum(), plain.path_["passes"].sum()
    return [
        name,
        loss,
        sure.certified_,
        f"{1.0 - sure.best_score_:.4f}",
        f"{sure.error_bound_:.4f}",
        sure.n_solved_,
        f"{plain_seconds:.2f}",
        f"{seconds:.2f}",
        f"{seconds / plain_seconds:.1f}",
        f"{plain_passes:.0f}",
        f"{passes:.0f}",
        f"{passes / plain_passes:.1f}",
        RANDOM,
        int((errors < sure.error_bound_ - 1e-12).sum()),
    ]


def report(rows: list[list[str]]) -> None:
    """Write the table as CSV and Markdown."""
    write("certified", COLUMNS, rows)
    lines = [
        "# Certified choice of C",
        "",
        "epsilon 0.01, C from 2^-10 to 2^10, five stratified folds, no intercept, one thread.",
        "Plain: a search at the 21 powers of two. Seconds are CPU seconds with the final fit.",
        "Solved: values of C that the proof took. The last columns: random values of C solved to",
        "a gap of 1e-9, and how many of them have a cross-validation error below the bound.",
        "",
        f"| {' | '.join(column.replace('_', ' ') for column in COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
    ]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    (RESULTS / "certified.md").write_text("\n".join(lines) + "\n")


def main(names: list[str]) -> None:
    """Measure all sets, or those named."""
    warnings.simplefilter("ignore")
    path, kept = RESULTS / "certified.csv", {}
    if path.exists():
        with open(path, newline="") as file:
            kept = {(row[0], row[1]): row for row in list(csv.reader(file))[1:]}
    for name in names or SETS:
        for loss in (*LOSSES, *(["hinge"] if name in HINGE_TOO else [])):
            kept[name, loss] = [str(cell) for cell in row_of(name, loss)]
            print(*kept[name, loss], flush=True)
            order = [(s, k) for s in SETS for k in (*LOSSES, "hinge")]
            report([kept[key] for key in order if key in kept])


if __name__ == "__main__":
    main(names_asked_for(__doc__, "set", SETS))
