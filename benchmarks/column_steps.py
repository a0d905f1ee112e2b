"""Steps and sweeps of coordinate descent on columns: ``python -m benchmarks.column_steps``.

Fits the sparse weights of the atlas (seed 1801) with both methods and prints the medians and
quartiles that `widemargin.auto.machine` has as ``column_steps``, ``column_sweeps`` and
``column_matrices``: matrices are counted in those of the largest working set, by their squares.
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
    sides: list[int] = []

    def counted(minimise: Any, note: Any) -> Any:
        def minimised(model: Any, *arguments: Any) -> Any:
            found = minimise(model, *arguments)
            note(model, found)
            return found

        return minimised

    _column_sets.by_columns = counted(
        _column_sets.by_columns, lambda model, found: sweeps.append(found.passes)
    )
    _column_sets.by_matrix = counted(
        _column_sets.by_matrix, lambda model, found: sides.append(model.w.size)
    )
    counts = []
    for which in islice((c for c in cells(options.seed) if "sparse" in c.kind), options.cells):
        (X, y), loss = which.data(), which.kind.split()[-1]
        C = which.parameter * smallest_C(X, y, loss=loss, fit_intercept=which.cell.intercept)
        sweeps.clear()
        sides.clear()
        for solver in ("primal_cd", "proximal_newton"):
            which.estimator(solver, C).set_params(time_limit=5).fit(X, y)
        if sweeps and sides:
            matrices = float(np.sum((np.array(sides) / max(sides)) ** 2))
            counts.append((len(sweeps), float(np.mean(sweeps)), matrices))
    names = ("steps", "sweeps per step", "matrices")
    for name, values in zip(names, zip(*counts, strict=True), strict=True):
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        print(f"{name}: median {middle:.1f}, quartiles {low:.1f} to {high:.1f}, {len(values)} fits")


if __name__ == "__main__":
    main()
