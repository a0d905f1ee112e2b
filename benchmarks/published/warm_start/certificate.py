"""Does the certified bound hold, and what does it cost?

``python -m benchmarks.published.warm_start.certificate [set ...]`` writes results/certified.csv:
the cost of a certified search with epsilon 0.01 over 2^-10 .. 2^10 against a plain one at those 21
values, in passes over the data and in seconds, and how many of random C, solved to 1e-9, have an
error below the bound (it must be none).
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from widemargin import LinearSVCCV, LogisticRegressionCV

from .data import load, write

SETS = ("a1a", "mushrooms", "dna.scale", "splice_scale", "heart_scale", "ionosphere_scale")
COLUMNS = [
    "dataset",
    "loss",
    "certified",
    "error",
    "bound",
    "anchors",
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
    return LogisticRegressionCV(**settings) if loss == "logistic" else LinearSVCCV(loss, **settings)


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
    errors = 1.0 - checked.scores_.mean(axis=1)
    gap = max(c.relative_gap for c in checked.certificates_)
    assert gap <= 1.001e-9, gap
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


def main(names: list[str]) -> None:
    """Measure all sets, or those named."""
    warnings.simplefilter("ignore")
    rows = []
    for name in names or SETS:
        for loss in ("squared_hinge", "logistic"):
            rows.append(row_of(name, loss))
            print(*rows[-1], flush=True)
            write("certified", COLUMNS, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
