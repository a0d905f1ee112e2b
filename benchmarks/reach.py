"""Whether every method reaches the optimum: the gap that each gets to, by its own certificate.

``python -m benchmarks.reach [--data a1a,usps] [--limit 400]`` runs every solver that serves a
problem on every set, at C = 1/(λ n), and writes reach.csv. The target is a relative gap of 1e-6,
or of 1e-3 for the methods whose theory promises no linear rate.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from rich.progress import track

from benchmarks.problems import data_folder
from widemargin.auto.registry import choice_of, solvers_for
from widemargin.benchmark.tasks import Task, find_examples, make_task
from widemargin.run import run

DATA = ("a1a", "dna.scale", "kr-vs-kp", "usps")
SUBLINEAR = ("pegasos", "frank_wolfe", "bmrm", "pragam")
KINDS = ("hinge", "squared_hinge", "logistic", "crammer_singer", "weston_watkins")


def tasks(data: list[str], kernels: list[str], lam: float) -> Iterator[tuple[Task, str]]:
    """Yield the problems: joint rules where there are several classes, kernels for what has one."""
    for name, kernel, kind in product(data, kernels, KINDS):
        examples = find_examples(name, str(data_folder()))
        joint = kind in ("crammer_singer", "weston_watkins")
        if (joint and len(set(examples.y)) < 3) or (kernel != "none" and kind == "logistic"):
            continue
        intercept = "exact" if kernel != "none" and not joint else "none"
        C = 1.0 / (lam * examples.y.size)
        yield (
            make_task(
                kind,
                examples,
                C=C,
                intercept=intercept,
                kernel=None if kernel == "none" else kernel,
            ),
            kernel,
        )


def reach(task: Task, kernel: str, solver: str, limit: float) -> dict[str, Any] | None:
    """Run one solver; None where it does not serve this loss or intercept."""
    choice = choice_of(solver, type(task.problem))
    tol = 1e-3 if any(part in solver for part in SUBLINEAR) else 1e-6
    began = time.process_time()
    try:
        solution = run(task.problem, choice, tol=tol, max_iter=10**7, time_limit=limit)
    except ValueError:
        return None
    return {
        "data": task.examples.name,
        "kernel": kernel,
        "problem": task.name,
        "C": f"{task.C:.4g}",
        "solver": solver,
        "target": tol,
        "gap": f"{solution.certificate.relative_gap:.2e}",
        "reached": solution.certificate.relative_gap <= tol,
        "iterations": solution.iterations,
        "cpu_seconds": f"{time.process_time() - began:.3g}",
    }


def main() -> None:
    """Run everything and write one row a run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reach", description=__doc__)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--kernels", default="none,rbf")
    parser.add_argument("--solvers", default="", help="parts of names; all by default")
    parser.add_argument("--limit", type=float, default=400.0, help="seconds a run")
    parser.add_argument("--lam", type=float, default=0.1)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/reach.csv"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    wanted = options.solvers.split(",")
    for task, kernel in tasks(options.data.split(","), options.kernels.split(","), options.lam):
        solvers = [s for s in solvers_for(type(task.problem)) if any(part in s for part in wanted)]
        for solver in track(solvers, f"{task.examples.name} {kernel} {task.name}"):
            row = reach(task, kernel, solver, options.limit)
            if row is None:
                continue
            rows.append(row)
            with open(options.out, "w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, list(row), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    short = [row for row in rows if not row["reached"]]
    print(f"{len(rows) - len(short)} of {len(rows)} runs reached their target")
    for row in short:
        print("short:", row)


if __name__ == "__main__":
    main()
