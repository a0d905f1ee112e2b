"""Probabilities of a linear SVM with C chosen: ``python -m benchmarks.calibration``.

`LinearSVCCV(probability=...)` against what scikit-learn's users write: a grid search over C, then
``CalibratedClassifierCV`` around the best model, with its default ensemble of five models and
without. Same values of C, same folds, a third of the rows (or the set's own test part) for the log
loss. CPU seconds of one thread, median of ``--repeats`` runs that take turns. The table is
written to the folder of results.
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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from widemargin import LinearSVCCV

from .multiclass_data import FILES, load

RESULTS = Path(__file__).parent / "results" / "calibration.md"
SETS = ("splice", "a5a", "dna", "satimage", "vowel")
Cs = [0.001, 0.01, 0.1, 1.0, 10.0]
METHODS = ("sigmoid", "isotonic")
FILES.update(splice="splice_scale", a5a="a5a", vowel="vowel.scale")
WAYS = ("LinearSVCCV(probability=...)", "grid, then ensemble=False", "grid, then ensemble=True")


def ours(method: str, folds: Any, X: Any, y: Any) -> Any:
    """Search and calibrate in one."""
    return LinearSVCCV(Cs=Cs, cv=folds, probability=method, fit_intercept="penalised").fit(X, y)


def theirs(ensemble: bool) -> Callable[[str, Any, Any, Any], Any]:
    """Search, then calibrate the best model."""

    def fit(method: str, folds: Any, X: Any, y: Any) -> Any:
        search = GridSearchCV(sklearn.svm.LinearSVC(max_iter=10_000), {"C": Cs}, cv=folds)
        search.fit(X, y)
        best = sklearn.svm.LinearSVC(C=search.best_params_["C"], max_iter=10_000)
        calibrated = CalibratedClassifierCV(best, method=method, cv=folds, ensemble=ensemble)
        return calibrated.fit(X, y)

    return fit


def parts(name: str) -> tuple[Any, Any, Any, Any]:
    """Return rows and labels to train on, and those to judge by."""
    X, y = load(name)
    if name in ("splice", "a5a"):
        X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
        return X, y, X_test, y_test
    return X, y, *load(name, test=True, width=X.shape[1])


def measured(name: str, method: str, repeats: int) -> list[tuple[float, float]]:
    """Return log loss and seconds of each way."""
    X, y, X_test, y_test = parts(name)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    losses, seconds = [0.0] * len(WAYS), [[] for _ in WAYS]  # type: ignore[var-annotated]
    for _ in range(repeats):
        for place, fit in enumerate((ours, theirs(False), theirs(True))):
            began = time.process_time()
            model = fit(method, folds, X, y)
            seconds[place].append(time.process_time() - began)
            losses[place] = log_loss(y_test, model.predict_proba(X_test))
    return [(loss, float(np.median(taken))) for loss, taken in zip(losses, seconds, strict=True)]


def main() -> None:
    """Measure all sets and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios = []
    lines = [
        "# Calibrated probabilities\n",
        "Test log loss and CPU seconds of one thread, five values of C, five folds "
        "(`python -m benchmarks.calibration`). The columns after ours are scikit-learn: a grid "
        "search over C, then `CalibratedClassifierCV`.\n",
        "| set | method | " + " | ".join(WAYS) + " | times faster |",
        "|---|---|---|---|---|---|",
    ]
    for name in options.data:
        for method in METHODS:
            found = measured(name, method, options.repeats)
            ratios.append(min(t for _, t in found[1:]) / found[0][1])
            cells = " | ".join(f"{loss:.4f}, {seconds:.2f} s" for loss, seconds in found)
            lines.append(f"| {name} | {method} | {cells} | {ratios[-1]:.1f} |")
            print(lines[-1], flush=True)
    mean = float(np.exp(np.mean(np.log(ratios))))
    lines.append(f"\nGeometric mean: {mean:.1f}x faster than the faster of the two.")
    print(lines[-1])
    if options.data == list(SETS):
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
