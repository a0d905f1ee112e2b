"""How far the best cross-validation rate depends on the draw of the folds.

``python -m benchmarks.published.warm_start.spread [set ...]`` writes results/spread.csv: tables IV
and V have one rate a set, from one draw of five folds that is not published. Here the search of
`tables` is repeated over draws, stratified and not, and the lowest, middle and highest best rate
stand beside the published one. A published rate between the lowest and the highest is one that
another draw gives.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.arguments import names_asked_for
from widemargin import LogisticRegressionCV

from .data import earlier, load, published, write

SETS = ("breast-cancer", "colon-cancer", "german", "splice", "vehicle_scale", "wine_scale")
DRAWS = 30
COLUMNS = [
    "kind",
    "dataset",
    "folds",
    "draws",
    "published_best",
    "lowest",
    "median",
    "highest",
    "share_not_below_by_half_a_point",
]


def rows_of(entry: dict[str, str]) -> list[list[Any]]:
    """Compute both rows of one set."""
    X, y = load(entry["file"])
    best = max(float(entry[key]) for key in ("dual_best_cv", "primal_best_cv") if entry[key])
    rows = []
    for name, splitter in (("stratified", StratifiedKFold), ("random", KFold)):
        rates = []
        for draw in range(DRAWS):
            cv = splitter(5, shuffle=True, random_state=draw)
            model = LogisticRegressionCV(None, fit_intercept=False, cv=cv, search_tol=1e-6)
            rates.append(100.0 * model.fit(X, y).best_score_)
        near = np.mean(np.array(rates) >= best - 0.5)
        numbers = (best, np.min(rates), np.median(rates), np.max(rates))
        row = [entry["kind"], entry["dataset"], name, DRAWS, *(f"{x:.2f}" for x in numbers)]
        rows.append([*row, f"{near:.2f}"])
    return rows


def main(names: list[str]) -> None:
    """Compute the sets asked for, and keep the others of an earlier run."""
    warnings.simplefilter("ignore")
    kept = earlier("spread", 3)
    for entry in published():
        if entry["dataset"] in (names or SETS):
            for row in rows_of(entry):
                print(*row, flush=True)
                kept[tuple(row[:3])] = row
            write("spread", COLUMNS, [kept[key] for key in sorted(kept)])


if __name__ == "__main__":
    main(names_asked_for(__doc__, "set", SETS))
