"""Steps and sweeps of coordinate descent on columns: ``python -m benchmarks.column_steps``.

Fits the sparse weights of the atlas (seed 1801) with ``primal_cd`` and prints the medians and
quartiles that `widemargin.auto.machine` has as ``column_steps`` and ``column_sweeps``.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import islice
from typing import Any

import numpy as np

from widemargin import smallest_C
from widemargin.methods.newton import _column_sets

from .atlas.kinds import cells


def main() -> None:
    """Count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1801)
    parser.add_argument("--cells", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sweeps: list[float] = []
    minimise = _column_sets.by_columns

    def counted(*arguments: Any) -> Any:
        found = minimise(*arguments)
        sweeps.append(found[2])
        return found

    _column_sets.by_columns = counted
    counts = []
    for which in islice((c for c in cells(options.seed) if "sparse" in c.kind), options.cells):
        (X, y), loss = which.data(), which.kind.split()[-1]
        C = which.parameter * smallest_C(X, y, loss=loss, fit_intercept=which.cell.intercept)
        sweeps.clear()
        which.estimator("primal_cd", C).set_params(time_limit=5).fit(X, y)
        if sweeps:
            counts.append((len(sweeps), float(np.mean(sweeps))))
    for name, values in zip(("steps", "sweeps per step"), zip(*counts, strict=True), strict=True):
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        print(f"{name}: median {middle:.1f}, quartiles {low:.1f} to {high:.1f}, {len(values)} fits")


if __name__ == "__main__":
    main()
