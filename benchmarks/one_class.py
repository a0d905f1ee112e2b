"""LinearOneClassSVM against LIBLINEAR's -s 21.

``python -m benchmarks.one_class [--data a9a]`` adds to ``results/one_class.csv``, cell by cell;
cells that are there already are kept, ``--again`` measures them anew. CPU seconds of one thread to
a true suboptimality of 1e-3 and 1e-6: both are run at falling tolerances until their weights, with
the best offset for them, have an objective that close to a certified optimum. ``--passes`` prints
what a fit cost in passes over the data, which is what bounds it: see `passes`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from liblinear.liblinear import problem
from liblinear.liblinearutil import train

from benchmarks.problems import data_folder
from benchmarks.targets import Fit, Table, seconds_to
from widemargin import LinearOneClassSVM, load_svmlight

NUS = (0.01, 0.1, 0.5)
SETS = ("a9a", "ijcnn1", "news20.scale", "w8a", "mushrooms", "covtype.libsvm.binary.scale")
RESULTS = Path(__file__).parent / "results" / "one_class.csv"


def read(name: str) -> sp.csr_matrix:
    """Read a set as CSR."""
    return sp.csr_matrix(load_svmlight(data_folder() / f"{name}.xz")[0])


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


def passes(X: Any, nu: float, tol: float) -> str:
    """Return what a fit costs in products X w of scipy's, and what it cannot do without.

    4 + 2ν passes are the least for a start that knows nothing: one to check the values, one for the
    indices, one for the scores of a first direction, one for those of the answer, and ν of one each
    for the weights that dual variables give at the start and in the certificate.
    """
    model, w = LinearOneClassSVM(nu, tol=tol), np.ones(X.shape[1])
    products, fits = [], []
    for _ in range(7):
        began = time.process_time()
        X @ w
        middle = time.process_time()
        model.fit(X)
        products.append(middle - began)
        fits.append(time.process_time() - middle)
    spent, solver = min(fits) / min(products), model.history_[0]["passes"][-1]
    return f"{spent:.1f} passes, {solver:.1f} of them in {model.n_iter_} steps of the solver"


def main() -> None:
    """Run the cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=SETS)
    parser.add_argument("--again", action="store_true", help="measure known cells anew")
    parser.add_argument("--passes", action="store_true", help="print passes over the data instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Table(RESULTS, ("data", "nu"))
    if options.again:
        table.rows = [row for row in table.rows if row["data"] not in options.data]
    for name in options.data:
        if not options.passes and all(table.has(data=name, nu=nu) for nu in NUS):
            continue
        X = read(name)
        for nu in NUS:
            if options.passes:
                for tol in (1e-3, 1e-6):
                    print(f"{name} nu {nu:g} tol {tol:g}: {passes(X, nu, tol)}", flush=True)
            elif not table.has(data=name, nu=nu):
                exact = LinearOneClassSVM(nu, tol=1e-8, max_iter=20_000).fit(X)
                best = float(exact.dual_[0])
                if not exact.coef_.any():
                    print(f"{name} nu {nu:g}: the best weights are zero, nothing to compare")
                    continue
                times = seconds_to(
                    {"widemargin": ours(X, nu), "liblinear": liblinear(X, nu)},
                    lambda w, X=X, nu=nu, best=best: (objective(X, w, nu) - best) / abs(best),
                )
                table.add({"data": name, "nu": nu}, times)
    if not options.passes:
        print(table.summary())


if __name__ == "__main__":
    main()
