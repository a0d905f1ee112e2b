"""Regenerate figure 1: ``python -m benchmarks.published.fw [--part l2|frank_wolfe] [--data ...]``.

``l2`` times the accelerated dual of the dual against Clarabel on the same quadratic program, rbf
kernel, to a relative gap of 1e-6. ``frank_wolfe`` runs the Frank-Wolfe family on the joint duals,
all compiled, and draws their curves.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from benchmarks.problems import data_folder
from widemargin.auto.registry import choice_of
from widemargin.benchmark import compare
from widemargin.benchmark.tasks import Examples, find_examples, make_task
from widemargin.run import run

from .quadratic_program import crammer_singer, squared_hinge

FAMILY = [
    "frank_wolfe",
    "corrective_frank_wolfe",
    "block_frank_wolfe",
    "oblivious_frank_wolfe",
    "away_frank_wolfe",
    "pairwise_frank_wolfe",
]


def l2(names: list[str], results: Path, limit: float, rounds: int) -> None:
    """Time both solvers of the L2-SVM in turns, the kernel matrix given to both."""
    rows = []
    for name in names:
        examples = find_examples(name, str(data_folder()))
        task = make_task("squared_hinge", examples, intercept="exact", kernel="rbf")
        K = task.problem.gram.whole
        ours, dual = [], 0.0
        for _ in range(rounds):
            began = time.perf_counter()
            solution = run(
                task.problem,
                choice_of("dual_of_dual", type(task.problem)),
                tol=1e-6,
                max_iter=100_000,
            )
            ours.append(time.perf_counter() - began)
            dual = solution.certificate.dual
            assert solution.status.name == "CONVERGED", solution.message
        theirs, value, status = squared_hinge(K, task.signs, task.C, limit)
        row = {
            "data": name,
            "n": task.signs.size,
            "dual_of_dual": float(np.median(ours)),
            "clarabel": theirs,
            "status": status,
            "ratio": theirs / float(np.median(ours)),
            "iterations": solution.iterations,
            "dual": dual,
            "clarabel_dual": value,
        }
        print(row, flush=True)
        rows.append(row)
    _write(results / "l2.csv", rows)


def frank_wolfe(
    names: list[str], results: Path, until: float, limit: float, qp: bool, kernel: str | None
) -> None:
    """Draw the curves of the family for both rules."""
    rows = []
    for rule in ("crammer_singer", "weston_watkins"):
        for name in names:
            examples = find_examples(name, str(data_folder()))
            result = compare(rule, [examples], FAMILY, until=until, kernel=kernel, time_limit=limit)
            result.write_csv(results / f"{name}.{rule}.csv")
            for path in result.write_figures(results):
                path.replace(results / f"{name}.{rule}.png")
            for method in result.methods(examples.name):
                curve = result.curve(examples.name, method)
                near = [m.seconds for m in curve if m.suboptimality <= 1e-2]
                gap = [m.seconds for m in curve if m.gap <= 1e-2]
                rows.append(
                    {
                        "data": name,
                        "rule": rule,
                        "method": method,
                        "seconds_to_suboptimality_1e-2": min(near, default=np.inf),
                        "seconds_to_gap_1e-2": min(gap, default=np.inf),
                        "gap": curve[-1].gap,
                        "seconds": curve[-1].seconds,
                    }
                )
                print(rows[-1], flush=True)
            if qp and rule == "crammer_singer":
                rows.append(_quadratic_program(name, examples, limit))
                print(rows[-1], flush=True)
    _write(results / "frank_wolfe.csv", rows)


def _quadratic_program(name: str, examples: Examples, limit: float) -> dict:
    task = make_task("crammer_singer", examples, kernel="linear")
    problem = task.problem
    seconds, _, status = crammer_singer(
        problem.gram.whole, problem.labels, problem.classes, task.C, limit
    )
    return {
        "data": name,
        "rule": "crammer_singer",
        "method": f"clarabel ({status})",
        "seconds_to_suboptimality_1e-2": np.nan,
        "seconds_to_gap_1e-2": np.nan,
        "gap": np.nan,
        "seconds": seconds,
    }


def _write(path: Path, rows: list[dict]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Parse the arguments and run the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("l2", "frank_wolfe", "all"), default="all")
    parser.add_argument("--data", help="sets, separated by commas")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each run")
    parser.add_argument("--until", type=float, default=1e-3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-qp", action="store_true")
    parser.add_argument(
        "--kernel", help="of the Frank-Wolfe part; by default the linear problem, K never formed"
    )
    parser.add_argument("--results", default="benchmarks/results/fw")
    options = parser.parse_args()
    results = Path(options.results)
    results.mkdir(parents=True, exist_ok=True)
    chosen = options.data.split(",") if options.data else None
    if options.part in ("l2", "all"):
        l2(chosen or ["kr-vs-kp", "usps"], results, options.limit, options.rounds)
    if options.part in ("frank_wolfe", "all"):
        names = chosen or ["dna.scale", "usps"]
        frank_wolfe(names, results, options.until, options.limit, not options.no_qp, options.kernel)


if __name__ == "__main__":
    main()
