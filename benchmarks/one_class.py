"""LinearOneClassSVM against LIBLINEAR's -s 21.

``python -m benchmarks.one_class --data a9a`` writes ``results/one_class.csv``; run again with other
data, it adds to it. CPU seconds of one thread to a true suboptimality of 1e-3 and 1e-6: both are
run at falling tolerances until their weights, with the best offset for them, have an objective that
close to a certified optimum.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from liblinear.liblinear import problem
from liblinear.liblinearutil import train

from benchmarks.problems import data_folder
from widemargin import LinearOneClassSVM, load_svmlight

NUS, TARGETS, REPEATS = (0.01, 0.1, 0.5), (1e-3, 1e-6), 3
RESULTS = Path(__file__).parent / "results" / "one_class.csv"
Fit = Callable[[float], Any]


def objective(X: Any, w: Any, nu: float) -> float:
    """Return P at the best offset for the weights."""
    scores = np.sort(X @ w)
    mass = nu * scores.size
    rho = scores[min(scores.size - 1, int(np.ceil(mass)) - 1)]
    return 0.5 * float(w @ w) + float(np.maximum(rho - scores, 0.0).sum()) - mass * float(rho)


def ours(X: Any, nu: float) -> Fit:
    """Return our fit at a tolerance."""
    return lambda tol: LinearOneClassSVM(nu, tol=tol).fit(X).coef_[0]


def liblinear(X: Any, nu: float) -> Fit:
    """Return LIBLINEAR's fit at a tolerance; its copy of the data is not timed."""
    data = problem(np.ones(X.shape[0]), X)

    def fit(tol: float) -> Any:
        model = train(data, f"-s 21 -n {nu!r} -e {tol!r} -q")
        return np.ctypeslib.as_array(model.w, shape=(X.shape[1],)).copy()

    return fit


def seconds_to(fit: Fit, value: Callable[[Any], float], best: float) -> dict[float, float]:
    """Return CPU seconds to each target, or infinity."""
    found = dict.fromkeys(TARGETS, np.inf)
    for level in 10.0 ** -np.arange(0.0, 9.5, 0.5):
        began = time.process_time()
        w = fit(float(level))
        first = time.process_time() - began
        reached = (value(w) - best) / abs(best)
        hit = [t for t in TARGETS if reached <= t and not np.isfinite(found[t])]
        if hit:
            spent = [first]
            for _ in range(REPEATS - 1 if first < 1.0 else 0):
                began = time.process_time()
                fit(float(level))
                spent.append(time.process_time() - began)
            found.update(dict.fromkeys(hit, min(spent)))
        if all(np.isfinite(v) for v in found.values()) or first > 20.0:
            break
    return found


def main() -> None:
    """Run the cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=["a9a", "ijcnn1", "news20.scale"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name in options.data:
        X = sp.csr_matrix(load_svmlight(data_folder() / f"{name}.xz")[0])
        for nu in NUS:
            best = float(LinearOneClassSVM(nu, tol=1e-8, max_iter=20_000).fit(X).dual_[0])
            value = lambda w, X=X, nu=nu: objective(X, w, nu)  # noqa: E731
            own, rival = (seconds_to(fit(X, nu), value, best) for fit in (ours, liblinear))
            for target in TARGETS:
                row = {"data": name, "nu": nu, "suboptimality": target}
                row |= {"widemargin": f"{own[target]:.4g}", "liblinear": f"{rival[target]:.4g}"}
                row["ratio"] = f"{rival[target] / own[target]:.3g}"
                rows.append(row)
                print(row, flush=True)
    kept: list[dict[str, Any]] = []
    if RESULTS.exists():
        with RESULTS.open() as file:
            kept = [row for row in csv.DictReader(file) if row["data"] not in options.data]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([*kept, *rows])


if __name__ == "__main__":
    main()
