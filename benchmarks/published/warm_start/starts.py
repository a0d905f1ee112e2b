"""Table VIII: how far the starting points of the primal and the dual are from the optimum.

``python -m benchmarks.published.warm_start.starts`` writes results/table_8.csv. Squared hinge, no
intercept, all examples; C doubles. The primal starts at w of C/2, the dual at twice its α; with
exact solutions, start of the primal − start of the dual = ‖w‖²/2, as the paper says. Sets at hand:
madelon and ijcnn1; a9a and w8a are added.
"""

from __future__ import annotations

import numpy as np

from benchmarks.arguments import no_arguments
from widemargin import path
from widemargin.data.rows import Rows, as_rows_array
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.losses import SQUARED_HINGE

from .data import load, write

SETS = ("madelon", "ijcnn1", "a9a", "w8a")
LOGS = (-4, 0, 4, 8)


def main() -> None:
    """Compute the table."""
    rows = []
    for name in SETS:
        X, y = load(name)
        signs = np.where(y == y.max(), 1.0, -1.0)
        data = Rows.of(as_rows_array(X))
        for log in LOGS:
            over = path(X, signs, [2.0 ** (log - 1), 2.0**log], fit_intercept=False, tol=1e-9)
            before, best = over.solutions[0][0], over.certificates[1].primal
            cost = np.full(data.count, 2.0**log)
            problem = BinaryProblem(data, signs, cost, SQUARED_HINGE, False)
            primal = problem.primal(before.w, 0.0, data.scores(before.w)) - best
            alpha = 2.0 * before.alpha
            dual = problem.dual(alpha, data.combine(alpha, signs)) - best
            half = 0.5 * float(before.w @ before.w)
            rows.append([name, log, *(f"{value:.2e}" for value in (primal, dual, half))])
            print(*rows[-1], flush=True)
    write("table_8", ["dataset", "log2C", "primal", "dual", "half_squared_norm"], rows)


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
