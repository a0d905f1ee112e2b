"""Figures I to III: accuracy over C, objective over time, time with and without warm start.

``python -m benchmarks.published.warm_start.figures`` writes results/figure_{1,2,3}.{csv,png}.
Squared hinge, no intercept. Of the paper's sets madelon and ijcnn1 are at hand; a9a and w8a are
added.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.arguments import no_arguments
from widemargin import LinearSVC, LinearSVCCV, path

from .data import RESULTS, load, write

SETS = ("madelon", "ijcnn1", "a9a", "w8a")
SECONDS = 20.0
METHODS = {"primal": "newton", "dual": "dual_cd"}


def accuracy_over_C(name: str) -> list[list[Any]]:
    """Figure I: cross-validation accuracy and seconds so far, primal and dual, warm."""
    X, y = load(name)
    rows = []
    for kind, solver in METHODS.items():
        model = LinearSVCCV(
            Cs=2.0 ** np.arange(-10, 11),
            cv=StratifiedKFold(5, shuffle=True, random_state=0),
            fit_intercept=False,
            solver=solver,
            time_limit=SECONDS,
        ).fit(X, y)
        spent = np.cumsum(model.path_["seconds"])
        for C, rate, seconds in zip(model.Cs_, model.path_["mean_score"], spent, strict=True):
            rows.append([name, kind, f"{np.log2(C):.0f}", f"{100 * rate:.3f}", f"{seconds:.4f}"])
    return rows


def objective_over_time(name: str) -> list[list[Any]]:
    """Figure II: distance from the optimum over time at C = 1, from nothing and from C = 1/2."""
    X, y = load(name)
    best = LinearSVC(C=1.0, fit_intercept=False, tol=1e-9).fit(X, y).certificate_.dual
    rows = []
    for kind, solver in METHODS.items():
        for warm in (False, True):
            model = LinearSVC(
                C=0.5, fit_intercept=False, tol=1e-3, solver=solver, time_limit=SECONDS
            )
            if warm:
                model.fit(X, y)
            model.set_params(C=1.0, tol=1e-6, warm_start=warm).fit(X, y)
            trace = model.history_[0]
            for primal, seconds in zip(trace["primal"], trace["seconds"], strict=True):
                label = f"{kind}{'-ws' if warm else ''}"
                distance = max(primal / best - 1.0, 1e-12)
                rows.append([name, label, f"{seconds:.5f}", f"{distance:.3e}"])
    return rows


def time_over_C(name: str) -> list[list[Any]]:
    """Figure III: seconds at each C on all examples, with and without warm start."""
    X, y = load(name)
    rows = []
    for kind, solver in METHODS.items():
        for warm in (False, True):
            left = SECONDS
            began = time.perf_counter()
            over = path(
                X,
                y,
                2.0 ** np.arange(-10, 11),
                fit_intercept=False,
                tol=1e-3,
                solver=solver,
                warm=warm,
                callback=lambda C, record: time.perf_counter() - began > left,  # noqa: B023
            )
            for C, passes, solutions in zip(over.Cs, over.passes, over.solutions, strict=True):
                label = f"{kind}{'-ws' if warm else ''}"
                spent = sum(solution.seconds for solution in solutions)
                rows.append([name, label, f"{np.log2(C):.0f}", f"{spent:.5f}", f"{passes:.2f}"])
    return rows


def draw(number: int, rows: list[list[Any]], x: int, y: int, labels: tuple[str, str]) -> None:
    """Draw one panel a set, one line a method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(SETS), 3.2), layout="constrained")
    for axis, name in zip(figure.subplots(1, len(SETS)), SETS, strict=True):
        here = [row for row in rows if row[0] == name]
        for kind in dict.fromkeys(row[1] for row in here):
            line = [(float(row[x]), float(row[y])) for row in here if row[1] == kind]
            axis.plot(*zip(*line, strict=True), ".-", label=kind)
        if number != 1:
            axis.set_yscale("log")
        axis.set(title=name, xlabel=labels[0], ylabel=labels[1])
        axis.legend()
    figure.savefig(RESULTS / f"figure_{number}.png", dpi=110)


def main() -> None:
    """Compute and draw all three."""
    warnings.simplefilter("ignore")
    RESULTS.mkdir(exist_ok=True)
    parts: list[tuple[Any, list[str], int, int, tuple[str, str]]] = [
        (
            accuracy_over_C,
            ["dataset", "method", "log2C", "accuracy", "seconds_so_far"],
            2,
            3,
            ("log2 C", "CV accuracy in %"),
        ),
        (
            objective_over_time,
            ["dataset", "method", "seconds", "relative_distance"],
            2,
            3,
            ("seconds", "P / P* - 1"),
        ),
        (
            time_over_C,
            ["dataset", "method", "log2C", "seconds", "passes"],
            2,
            3,
            ("log2 C", "seconds"),
        ),
    ]
    for number, (compute, columns, x, y, labels) in enumerate(parts, 1):
        rows = [row for name in SETS for row in compute(name)]
        write(f"figure_{number}", columns, rows)
        draw(number, rows, x, y, labels)
        print(f"figure {number}", flush=True)


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
