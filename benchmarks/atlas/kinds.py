"""`auto` beside every named solver on regression, one class and sparse weights.

``python -m benchmarks.atlas.kinds [--seed 1] [--cells 60] [--minutes 4] [--kind sparse]`` adds to
``results/atlas_kinds_seed<seed>.csv``, cell by cell, and prints mean and worst regret of each kind.
Shapes and data are those of the map (`design`), up to a million stored values; the kinds take
turns. Regression has a linear target with noise of three degrees of freedom, one class the
absolute values of the data, so that the origin lies outside, and sparse weights a C of 2 to 1000
times the smallest that has a weight. All three kinds have two or three named solvers.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from .data import generate
from .design import BINARY, Cell, cell_at, log_between
from .regret import AUTO, MAX_ITER, Race, result
from .store import RESULTS, read_rows, write_rows

LARGEST_STORED = 1e6
KINDS: dict[str, tuple[str, ...]] = {
    "regression epsilon_insensitive": ("dual_cd", "proximal_newton", "interior_point"),
    "one class": ("dual_cd", "proximal_newton", "interior_point"),
    "sparse weights logistic": ("proximal_newton", "primal_cd"),
    "regression squared_epsilon_insensitive": ("dual_cd", "newton"),
    "sparse weights squared_hinge": ("proximal_newton", "primal_cd"),
}
EPSILON = 0.1
NUS = (0.005, 0.9)
MULTIPLES = (2.0, 1000.0)


@dataclass(frozen=True)
class KindCell:
    """A cell of the map as a problem of another kind."""

    cell: Cell
    kind: str

    @property
    def share(self) -> float:
        """Where the cell's C lies in its range, on the unit interval of logarithms."""
        return (math.log10(self.cell.C) + 3.0) / 6.0

    @property
    def parameter(self) -> float:
        """C, ν, or the multiple of the smallest C."""
        if self.kind == "one class":
            return log_between(self.share, *NUS)
        return log_between(self.share, *MULTIPLES) if "sparse" in self.kind else self.cell.C

    def data(self) -> tuple[Any, np.ndarray]:
        """Generate X, and labels or targets."""
        X, y = generate(self.cell)
        if self.kind == "one class":
            return abs(X), y
        if "sparse" in self.kind:
            return X, y
        random = np.random.default_rng([self.cell.seed, self.cell.index, 1])
        scores = X @ random.standard_normal(self.cell.features)
        noise = random.standard_t(3, size=self.cell.rows)
        target = scores / max(float(scores.std()), 1e-300) + 2.0 * self.cell.noise * noise
        return X, np.asarray(target)

    def estimator(self, solver: str, C: float) -> Any:
        """Make the estimator; C is the parameter, of sparse weights in units of the data."""
        from widemargin import LinearOneClassSVM, LinearSVC, LinearSVR, LogisticRegression

        shared = {"tol": self.cell.tol, "solver": solver, "max_iter": MAX_ITER}
        if self.kind == "one class":
            return LinearOneClassSVM(C, **shared)
        shared["fit_intercept"] = self.cell.intercept
        name = self.kind.split()[-1]
        if "regression" in self.kind:
            return LinearSVR(loss=name, epsilon=EPSILON, C=C, **shared)
        ratio = 1.0 if self.cell.unit_rows else 0.5
        if name == "logistic":
            return LogisticRegression(l1_ratio=ratio, C=C, **shared)
        return LinearSVC(penalty="elasticnet", l1_ratio=ratio, C=C, **shared)


class KindRace(Race):
    """The solvers of widemargin on a problem of another kind."""

    def __init__(self, which: KindCell, **options: Any) -> None:
        X, y = which.data()
        super().__init__(which.cell, X, y, **options)
        self.which, self.C = which, which.parameter
        if "sparse" in which.kind:
            from widemargin import smallest_C

            loss, intercept = which.kind.split()[-1], which.cell.intercept
            self.C *= smallest_C(X, y, loss=loss, fit_intercept=intercept)

    def solvers(self) -> tuple[str, ...]:
        """Name the solvers that the kind has."""
        return KINDS[self.which.kind]

    def model(self, solver: str) -> Any:
        """Make the estimator of the cell."""
        return self.which.estimator(solver, self.C)


@cache
def warm_up() -> None:
    """Run every solver once, so that no child pays for what is loaded late."""
    random = np.random.default_rng(0)
    X, y = random.random((40, 3)), np.arange(40) % 2
    for kind, names in KINDS.items():
        for solver in (AUTO, *names):
            KindCell(cell_at(0, 0), kind).estimator(solver, 0.5).fit(X, y)


def cells(seed: int) -> Iterator[KindCell]:
    """Draw cells without end; those that are too large, or have several classes, are left out."""
    index, found = 0, 0
    while True:
        cell = cell_at(seed, index)
        index += 1
        stored = cell.rows * cell.features * cell.density
        if cell.kind == BINARY and stored <= LARGEST_STORED:
            yield KindCell(cell, list(KINDS)[found % len(KINDS)])
            found += 1


def measure(which: KindCell, core: int | None) -> dict[str, Any]:
    """Race the solvers of a cell; the row of the table."""
    warm_up()
    cell = which.cell
    about = {
        "seed": cell.seed,
        "index": cell.index,
        "kind": which.kind,
        "shape": cell.shape,
        "parameter": which.parameter,
        "tol": cell.tol,
    }
    found = result(KindRace(which, core=core))
    kept = {name: found[name] for name in ("auto", "auto_status", "best", "best_seconds", "regret")}
    return {**about, **kept, "solver_": found["solver_"]}


def summary(rows: list[dict[str, Any]]) -> str:
    """Return mean and worst regret of each kind, and of all."""
    lines = []
    for kind in (*KINDS, ""):
        found = [row.get("regret", math.nan) for row in rows if kind in ("", row["kind"])]
        found = [regret for regret in found if not math.isnan(regret)]
        if found:
            mean, geometric = np.mean(found), np.exp(np.mean(np.log(found)))
            lines.append(
                f"{kind or 'all'}: {len(found)} cells, mean regret {mean:.2f} (geometric "
                f"{geometric:.2f}), worst {max(found):.2f}"
            )
    short = sum(row["auto_status"] != "converged" for row in rows)
    nobody = sum(not row.get("best") for row in rows)
    return "\n".join(
        [*lines, f"auto missed the tolerance in {short} cells, every named solver in {nobody}"]
    )


def main() -> None:
    """Measure the cells that are not on record and print the summary."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas.kinds", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--kind", default="", help="only kinds whose names have this word")
    parser.add_argument("--core", type=int, help="pin the fits to this core")
    parser.add_argument("--again", action="store_true", help="measure known cells anew")
    options = parser.parse_args()
    path = RESULTS / f"atlas_kinds_seed{options.seed}.csv"
    rows = [] if options.again else read_rows(path)
    known, until = {row["index"] for row in rows}, time.monotonic() + 60.0 * options.minutes
    drawn = (which for which in cells(options.seed) if options.kind in which.kind)
    for which in islice(drawn, options.cells):
        if which.cell.index in known or time.monotonic() > until:
            continue
        rows.append(measure(which, options.core))
        print({name: rows[-1][name] for name in ("kind", "shape", "auto", "best", "regret")})
        write_rows(path, rows)
    print(summary(rows))


if __name__ == "__main__":
    main()
