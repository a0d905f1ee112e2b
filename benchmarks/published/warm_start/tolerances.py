"""Tables VI and VII: stricter tolerances, from the smallest C or from where the search stopped.

``python -m benchmarks.published.warm_start.tolerances`` writes results/table_6.csv (each stricter
search starts from the folds' solutions where the one before stopped) and table_7.csv (it starts
from zero there). Of the paper's six sets breast-cancer and ijcnn1 are at hand; diabetes, german and
heart, all with features of different scales, are added.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.arguments import no_arguments
from widemargin import LogisticRegressionCV

from .data import load, write

SETS = ("breast-cancer", "ijcnn1", "diabetes", "german.numer", "heart")
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)
COLUMNS = ["dataset", "epsilon"] + [
    f"{way}_{what}"
    for way in ("from_smallest", "interactive")
    for what in ("begin_log2C", "best_log2C", "best_rate", "seconds")
]


def _model(epsilon: float) -> LogisticRegressionCV:
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    return LogisticRegressionCV(
        None,
        fit_intercept=False,
        cv=cv,
        n_jobs=2,
        search_tol=epsilon,
        use_legacy_attributes=False,
    )


def _cells(model: LogisticRegressionCV, first: float, seconds: float) -> list[str]:
    best = 100.0 * model.best_score_
    return [f"{np.log2(first):.0f}", f"{np.log2(model.C_):.0f}", f"{best:.2f}", f"{seconds:.2f}"]


def rows_of(name: str, from_zero: bool) -> list[list[Any]]:
    """Compute the rows of one set."""
    X, y = load(name)
    rows, interactive = [], None
    for epsilon in TOLERANCES:
        began = time.perf_counter()
        whole = _model(epsilon).fit(X, y)
        row = [name, f"{epsilon:g}", *_cells(whole, whole.Cs_[0], time.perf_counter() - began)]
        began = time.perf_counter()
        if interactive is None:
            interactive, first = _model(epsilon).fit(X, y), whole.Cs_[0]
        else:
            first = interactive.Cs_[-1]
            if from_zero:
                interactive.fold_coef_ = np.zeros_like(interactive.fold_coef_)
            interactive.continue_search(X, y, tol=epsilon)
        rows.append([*row, *_cells(interactive, first, time.perf_counter() - began)])
    return rows


def main() -> None:
    """Compute both tables."""
    warnings.simplefilter("ignore")
    for table, from_zero in (("table_6", False), ("table_7", True)):
        rows = []
        for name in SETS:
            rows += rows_of(name, from_zero)
            print(*rows[-len(TOLERANCES) :], sep="\n", flush=True)
        write(table, COLUMNS, rows)


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
