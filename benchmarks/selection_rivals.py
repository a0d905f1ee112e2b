"""scikit-learn's grid searches over C, fit by fit, kept on record.

``python -m benchmarks.selection_rivals [--sets ...] [--losses ...] [--seconds 150]`` trains
``LinearSVC`` or ``LogisticRegression(solver="liblinear")`` as ``GridSearchCV`` would: every fold
and every C from nothing. It goes through the values of C on the first fold, then on the second, and
so on, and adds the CPU seconds of every fit (with the scoring) to
``results/selection_rivals.csv``. A fit that is on record is not run again, so that long searches
can be measured in pieces; ``benchmarks.selection_speed`` reads the record.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.selection_data import LOSSES, SETS, folds_of, load

RECORD = Path(__file__).parent / "results" / "selection_rivals.csv"
COLUMNS = ("set", "loss", "C", "fold", "seconds")
CS = tuple(2.0**k for k in range(-10, 11))
FOLDS = 5

Fits = dict[tuple[str, str, float, int], float]


def on_record() -> Fits:
    """Read the seconds of every fit so far."""
    if not RECORD.exists():
        return {}
    with open(RECORD, newline="") as file:
        return {
            (row["set"], row["loss"], float(row["C"]), int(row["fold"])): float(row["seconds"])
            for row in csv.DictReader(file)
        }


def keep(fits: Fits) -> None:
    """Write the record, in the order of sets, losses, folds and C."""
    order = {name: place for place, name in enumerate(SETS)}
    keys = sorted(fits, key=lambda key: (order[key[0]], key[1], key[3], key[2]))
    beside = RECORD.with_suffix(".tmp")
    with open(beside, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([*key, round(fits[key], 4)] for key in keys)
    beside.rename(RECORD)


def grid_search(name: str, loss: str, Cs: list[float]) -> tuple[float, str] | None:
    """Return CPU seconds of the whole grid search, and how they are known.

    "measured" is the sum of all fits; "from n folds" is what the finished folds took, times five
    over their number; "more than" counts the finished fits alone.
    """
    fits = on_record()
    known = [[fits.get((name, loss, C, fold)) for C in Cs] for fold in range(FOLDS)]
    total = sum(s for row in known for s in row if s is not None)
    if total == 0.0:
        return None
    whole = [sum(s for s in row if s is not None) for row in known if None not in row]
    if len(whole) == FOLDS:
        return total, "measured"
    if whole:
        return sum(whole) * FOLDS / len(whole), f"from {len(whole)} of {FOLDS} folds"
    return total, "more than"


def model_of(loss: str, C: float, classes: int) -> Any:
    """Return scikit-learn's estimator with its defaults, but for the intercept."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    if loss == "squared_hinge":
        return LinearSVC(C=C, fit_intercept=False)
    model = LogisticRegression(C=C, solver="liblinear", fit_intercept=False)
    return model if classes == 2 else OneVsRestClassifier(model)


def measure(name: str, loss: str, Cs: list[float], seconds: float) -> bool:
    """Run what is not on record yet for so long; tell whether all of it is now."""
    fits = on_record()
    missing = [(C, k) for k in range(FOLDS) for C in Cs if (name, loss, C, k) not in fits]
    if not missing:
        return True
    X, y = load(name)
    folds, classes = folds_of(X.shape[0]), np.unique(y).size
    model_of(loss, 1.0, 2).fit(np.array([[0.0], [1.0]]), [0, 1])  # imports are not the search
    spent = 0.0
    for C, fold in missing:
        train, test = folds[fold]
        began = time.process_time()
        model_of(loss, C, classes).fit(X[train], y[train]).score(X[test], y[test])
        fits[name, loss, C, fold] = time.process_time() - began
        spent += fits[name, loss, C, fold]
        keep(fits)
        if spent > seconds:
            return (C, fold) == missing[-1]
    return True


def main() -> None:
    """Measure what was asked for and is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--losses", nargs="+", default=tuple(LOSSES))
    parser.add_argument("--seconds", type=float, default=150.0, help="of a set and loss, at most")
    parser.add_argument("--largest", type=int, default=10, help="log2 of the largest C")
    options = parser.parse_args()
    Cs = list(CS[: options.largest + 11])
    warnings.simplefilter("ignore")
    for name in options.sets:
        for loss in options.losses:
            whole = measure(name, loss, Cs, options.seconds)
            known = grid_search(name, loss, Cs)
            print(name, loss, "whole" if whole else "not finished", known, flush=True)


if __name__ == "__main__":
    main()
