"""Figure 1(e) of DRSVM: mini-batch sizes of ISG on a1a, norm 1; and the same for IPPA's.

The paper's sizes are 1, 32 and 256, and its finding that there is a best one in between. Writes
results/figure1e.csv (CPU seconds until the suboptimality is 1e-2, 1e-3, 1e-4) and figure1e.png.
"""

from __future__ import annotations

import numpy as np

from benchmarks.arguments import no_arguments
from benchmarks.published.drsvm.common import LABEL_COST, RADIUS, RESULTS, load, write
from benchmarks.published.drsvm.figure import trace
from widemargin.auto.registry import Named, choice_of
from widemargin.data.rows import Rows, as_rows_array
from widemargin.methods.published.ippa import IPPA
from widemargin.methods.published.isg import ISG
from widemargin.problems.robust import RobustProblem
from widemargin.run import run

SIZES = (1, 8, 32, 128, 256)
LEVELS = (1e-2, 1e-3, 1e-4)


def main() -> None:
    """Trace every size, write the table and draw the curves."""
    import matplotlib.pyplot as plt

    data = load("a1a")
    if data is None:
        raise SystemExit("a1a is not in the data folder")
    rows, y = Rows.of(as_rows_array(data[0])), np.asarray(data[1], dtype=np.float64)
    weight = np.full(rows.count, 1.0 / rows.count)
    problem = RobustProblem(rows, y, weight, RADIUS, LABEL_COST, 1.0, 0.0, False)
    exact = run(problem, choice_of("interior_point", RobustProblem), tol=1e-9)
    optimum = exact.certificate.primal
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    table = []
    for place, method in zip(axes, (ISG, IPPA), strict=True):
        for size in SIZES:
            seconds, primal, _ = trace(problem, Named(method(batch_size=size)), 1e-6).T
            above = primal / optimum - 1.0
            place.loglog(seconds, np.maximum(above, 1e-7), label=f"{size}")
            reached = {
                f"seconds_to_{level:g}": f"{seconds[above <= level][0]:.3f}"
                if (above <= level).any()
                else ""
                for level in LEVELS
            }
            last = {"last": f"{above[-1]:.1e}"}
            table.append({"method": method.name, "batch_size": str(size), **reached, **last})
            print(table[-1], flush=True)
        place.set(title=f"{method.name}, a1a, norm 1", xlabel="CPU seconds")
    axes[0].set_ylabel("suboptimality")
    axes[0].legend(title="batch size")
    write("figure1e.csv", table)
    figure.savefig(RESULTS / "figure1e.png", dpi=110)


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
