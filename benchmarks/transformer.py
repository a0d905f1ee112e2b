"""A search with a scaler within every fold: ``python -m benchmarks.transformer``.

`LinearSVCCV(transformer=StandardScaler())` against the same search on rows that were scaled before,
which lets held-out rows leak into the scaling, and against scikit-learn's ``GridSearchCV`` over a
pipeline of scaler and `LinearSVC`. Ten values of C, five folds, CPU seconds of one thread, median
of runs that take turns. The table is written to the folder of results.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from widemargin import LinearSVCCV

from .multiclass_data import FILES, load

RESULTS = Path(__file__).parent / "results" / "transformer.md"
SETS = ("splice", "a5a", "dna", "satimage", "ijcnn1")
FILES.update(splice="splice_scale", a5a="a5a", ijcnn1="ijcnn1")
Cs = np.logspace(-4, 1, 10)


def ways(loss: str) -> dict[str, Callable[[Any, Any], Any]]:
    """Return what is compared, each from rows and labels to a fitted search."""
    name = {"Cs": Cs, "fit_intercept": "penalised"}
    pipeline = make_pipeline(StandardScaler(), sklearn.svm.LinearSVC(loss=loss))
    grid = GridSearchCV(pipeline, {"linearsvc__C": Cs}, cv=5)
    return {
        "transformer=StandardScaler()": LinearSVCCV(loss, transformer=StandardScaler(), **name).fit,
        "scaled before": lambda X, y: LinearSVCCV(loss, **name).fit(scale(X), y),
        "GridSearchCV": grid.fit,
    }


def main() -> None:
    """Measure all sets and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "# A transformer within the folds\n",
        "CPU seconds of one thread, ten values of C, five folds "
        "(`python -m benchmarks.transformer`).\n",
        "| set | loss | " + " | ".join(ways("hinge")) + " | best accuracies |",
        "|---|---|---|---|---|---|",
    ]
    for name in options.data:
        X, y = load(name)
        X = X.toarray()
        for loss in ("squared_hinge", "hinge"):
            taken: dict[str, list[float]] = {way: [] for way in ways(loss)}
            scores: dict[str, float] = {}
            for _ in range(options.repeats):
                for way, fit in ways(loss).items():
                    began = time.process_time()
                    scores[way] = fit(X, y).best_score_
                    taken[way].append(time.process_time() - began)
            cells = [f"{np.median(seconds):.2f}" for seconds in taken.values()]
            best = ", ".join(f"{score:.4f}" for score in scores.values())
            lines.append(f"| {name} | {loss} | {' | '.join(cells)} | {best} |")
            print(lines[-1], flush=True)
    if options.data == list(SETS):
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
