"""Regenerate the tables and figures of WALRUS: ``python -m benchmarks.published.walrus``.

Writes CSV and PNG files to benchmarks/results/walrus:

table1        the data sets: k, n, d
accuracies    tables 4 to 6: test accuracies over C, with the published figures and the difference
figure1       primal and dual objective over time on SATIMAGE, C as in the paper's range
figure2       time of the sorting step over Shark's to gap decays of 0.09, 0.009 and 0.0009; the
              same of this library's own method over Shark's
subproblem    tables 8 and 9: the block step against a generic convex solver

A run stops at the first sweep whose duality gap is below delta times that of the first sweep; the
objectives are computed while the clock stands still, as in the paper. Seconds are CPU seconds.
Accuracies are those of the first of ``--methods``. RCV1, SECTOR and ALOI are not at hand.
``--data`` and ``--C`` (powers of two) choose a part of it.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from ..multiclass_data import load
from ..problems import data_folder

RESULTS = Path(__file__).parents[1] / "results" / "walrus"
DELTAS = (0.09, 0.009, 0.0009)
SETS = ("dna", "satimage", "letter", "mnist")
METHODS = ("walrus", "shark", "block_dual_cd")
Row = dict[str, Any]


def write(name: str, rows: list[Row]) -> None:
    """Write a table; columns are those of the first row."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read(name: str) -> list[Row]:
    """Read a table again, if it is there."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def published() -> dict[tuple[str, float, int], float]:
    """The figures of tables 4 to 6, where the reference file is at hand."""
    path = data_folder().parent / "reference" / "walrus_accuracies.csv"
    if not path.exists():
        return {}
    with path.open() as file:
        return {
            (row["dataset"].lower(), float(row["delta"]), exponent): float(row[f"log2C={exponent}"])
            for row in csv.DictReader(file)
            for exponent in range(-6, 4)
        }


def follow(problem: Any, name: str, last: float, most: int = 3000) -> list[Row]:
    """Run a method to the gap decay `last`; a row for each step."""
    from widemargin.auto.registry import method_named
    from widemargin.methods.base import Settings

    method = method_named(name, type(problem))
    began = time.process_time()
    state = method.start(problem, None, Settings(1e-3, 0))
    seconds, first, smallest = time.process_time() - began, np.inf, np.inf
    rows: list[Row] = []
    for step in range(1, most + 1):
        began = time.process_time()
        method.advance(state)
        seconds += time.process_time() - began
        point = state.point
        certificate = problem.certify(point)[1]
        first = certificate.gap if step == 1 else first
        decay = certificate.gap / first
        crossed = any(decay < delta <= smallest for delta in DELTAS)
        smallest = min(smallest, decay)
        rows.append(
            {
                "method": name,
                "step": step,
                "seconds": seconds,
                "primal": certificate.primal,
                "dual": certificate.dual,
                "decay": decay,
                # Weights are kept only where a decay is first reached.
                "w": point.w if crossed else None,
            }
        )
        if decay < last:
            break
    return rows


def runs(name: str, exponents: list[int], methods: list[str], tick: Any) -> tuple[list, list]:
    """Accuracies of the first method and times of all methods at each decay."""
    from widemargin.data.rows import Rows, as_rows_array
    from widemargin.problems.multiclass import MulticlassProblem

    X, y = load(name)
    X_test, y_test = load(name, test=True, width=X.shape[1])
    known = published()
    accuracies, times = [], []
    for exponent in exponents:
        problem = MulticlassProblem(
            Rows.of(as_rows_array(X)),
            y.astype(np.int32),
            np.full(y.size, 2.0**exponent),
            int(y.max()) + 1,
            "weston_watkins",
            False,
        )
        for method in methods:
            rows = follow(problem, method, DELTAS[-1])
            for delta in DELTAS:
                there = next(row for row in rows if row["decay"] < delta)
                times.append(
                    {
                        "data": name,
                        "log2C": exponent,
                        "delta": delta,
                        "method": method,
                        "seconds": there["seconds"],
                        "steps": there["step"],
                    }
                )
                if method == methods[0]:
                    found = (X_test @ there["w"].T).argmax(axis=1)
                    accuracy = round(100.0 * float((found == y_test).mean()), 2)
                    figure = known.get((name, delta, exponent))
                    accuracies.append(
                        {
                            "data": name,
                            "delta": delta,
                            "log2C": exponent,
                            "method": method,
                            "accuracy": accuracy,
                            "published": figure,
                            "difference": None if figure is None else round(accuracy - figure, 2),
                        }
                    )
            tick()
    return accuracies, times


def subproblem() -> None:
    """Tables 8 and 9: seconds of the step by selection, by sorting, and by Clarabel."""
    import cvxpy as cp

    from widemargin.projections import block_step

    random = np.random.default_rng(0)
    rows = []
    cases = [(2**p + 1, 1.0, 8) for p in (2, 4, 6, 8, 10, 12)]
    cases += [(2**8 + 1, 10.0**p, 9) for p in range(-3, 4)]
    for k, C, table in cases:
        row: Row = {"table": table, "k": k, "C": C}
        instances = [random.normal(size=k - 1) for _ in range(10)]
        for method in ("select", "sort"):
            began = time.perf_counter()
            for _ in range(100):
                for v in instances:
                    block_step(v, C, method=method)
            row[method] = (time.perf_counter() - began) / 1000
        b, v = cp.Variable(k - 1), cp.Parameter(k - 1)
        problem = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(b) + 0.5 * cp.square(cp.sum(b)) - v @ b),
            [b >= 0, b <= C],
        )
        seconds = []
        for value in instances:
            v.value = value
            problem.solve(solver=cp.CLARABEL)
            seconds.append(problem.solver_stats.solve_time)
        row["clarabel"] = float(np.mean(seconds))
        rows.append(row)
    write("subproblem", rows)


def figure1(exponent: int = -1) -> None:
    """Objectives over time on SATIMAGE."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from widemargin.data.rows import Rows, as_rows_array
    from widemargin.problems.multiclass import MulticlassProblem

    X, y = load("satimage")
    cost = np.full(y.size, 2.0**exponent)
    problem = MulticlassProblem(
        Rows.of(as_rows_array(X)), y.astype(np.int32), cost, 6, "weston_watkins", False
    )
    table = []
    figure, axes = plt.subplots(figsize=(6, 4))
    for method in METHODS:
        rows = follow(problem, method, 1e-4)
        for row in rows:
            row.pop("w")
        table += rows
        seconds = [row["seconds"] for row in rows]
        (line,) = axes.plot(seconds, [row["primal"] for row in rows], label=f"{method}, primal")
        axes.plot(seconds, [row["dual"] for row in rows], "--", color=line.get_color())
    axes.set(xscale="log", yscale="log", xlabel="CPU seconds", ylabel="objective", title="satimage")
    axes.legend()
    figure.savefig(RESULTS / "figure1.png", dpi=120, bbox_inches="tight")
    write("figure1", table)


def figure2(times: list[Row]) -> None:
    """Ratios of times, a dot for each set, C and decay."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    of = {
        (t["data"], int(t["log2C"]), float(t["delta"]), t["method"]): float(t["seconds"])
        for t in times
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    random = np.random.default_rng(0)
    names = [name for name in SETS if any(key[0] == name for key in of)]
    for panel, method in zip(axes, ("walrus", "block_dual_cd"), strict=True):
        for delta, colour in zip(DELTAS, ("tab:blue", "tab:orange", "tab:green"), strict=True):
            dots = [
                (names.index(key[0]), seconds / of[(*key[:3], "shark")])
                for key, seconds in of.items()
                if key[2] == delta and key[3] == method and (*key[:3], "shark") in of
            ]
            if dots:
                x, ratio = np.array(dots).T
                jitter = random.uniform(-0.2, 0.2, x.size)
                panel.scatter(x + jitter, ratio, color=colour, label=f"delta {delta}", s=12)
        panel.axhline(1.0, color="grey", linewidth=0.8)
        panel.set(yscale="log", title=f"{method} / shark", xticks=range(len(names)))
        panel.set_xticklabels(names)
        panel.legend()
    axes[0].set_ylabel("ratio of CPU seconds")
    figure.savefig(RESULTS / "figure2.png", dpi=120, bbox_inches="tight")


def main() -> None:
    """Regenerate everything, or the part that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--C", nargs="+", type=int, default=list(range(-6, 4)), help="log2 C")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--keep", action="store_true", help="keep other rows of earlier runs")
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)

    def earlier(name: str) -> list[Row]:
        """Return the rows of earlier runs that this one does not measure again."""
        again = (options.data, options.C, options.methods)
        return [
            row
            for row in (read(name) if options.keep else [])
            if not all(
                value in chosen
                for value, chosen in zip(
                    (row["data"], int(row["log2C"]), row["method"]), again, strict=True
                )
            )
        ]

    accuracies, times = earlier("accuracies"), earlier("figure2")
    known = read("table1") if options.keep else []
    sizes = [row for row in known if row["data"] not in options.data]
    with Progress(console=Console(stderr=True)) as bar:
        total = len(options.data) * len(options.C) * len(options.methods)
        task = bar.add_task("walrus", total=total + 2)
        for name in options.data:
            X, y = load(name)
            sizes.append({"data": name, "k": int(y.max()) + 1, "n": X.shape[0], "d": X.shape[1]})
            found = runs(name, options.C, options.methods, lambda: bar.advance(task))
            accuracies += found[0]
            times += found[1]
            for table, rows in (("table1", sizes), ("accuracies", accuracies), ("figure2", times)):
                if rows:
                    write(table, rows)
        figure1()
        bar.advance(task)
        subproblem()
        bar.advance(task)
    figure2(times)
    far = [
        abs(float(row["difference"])) for row in accuracies if row["difference"] not in ("", None)
    ]
    if far:
        print(f"{len(far)} accuracies, largest difference from the published ones {max(far):.2f}")


if __name__ == "__main__":
    main()
