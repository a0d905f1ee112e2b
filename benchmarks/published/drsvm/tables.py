"""The tables of DRSVM: for each published row, the objective and time that our method needs.

A method runs until its own certificate's primal value is at the published objective + 1e-6, or
until the limit. Rows of YALMIP are matched by our interior point at tol 1e-9.
"""

from __future__ import annotations

import argparse
import csv

from benchmarks.published.drsvm.common import NORMS, REFERENCE, fit, load, read, write
from widemargin.run import Record

OURS = {
    "M-ISG": "isg",
    "IPPA": "ippa",
    "Hybrid": "hybrid",
    "GS-ADMM": "gs_admm",
    "YALMIP": "interior_point",
}
NAMES = {"ijcnn": "ijcnn1"}


def measure(row: dict[str, str], optimum: float | None, limit: float) -> dict[str, str] | None:
    """Run one row of a table."""
    data = load(NAMES.get(row["dataset"], row["dataset"]))
    if data is None:
        return None
    published = float(row["objective"]) if row["objective"] else None
    goal = published if published is not None else optimum
    if goal is None:
        return None
    reached: list[float] = []

    def watch(_: str, record: Record) -> bool:
        if record.primal <= goal + 1e-6:
            reached.append(record.seconds)
        return bool(reached)

    solver = OURS[row["method"]]
    model, seconds = fit(
        *data,
        NORMS[row["cost_q"]],
        float(row["c"]),
        solver=solver,
        tol=1e-9,
        max_iter=10**6,
        time_limit=limit,
        callback=None if solver == "interior_point" else watch,
    )
    return {
        **{key: row[key] for key in ("table", "cost_q", "c", "dataset", "method")},
        "published": row["objective"],
        "paper_seconds": row["paper_seconds"],
        "solver": solver,
        "objective": f"{model.primal_[0]:.8f}",
        "seconds": f"{seconds:.3f}",
        "certified_gap": f"{model.certificate_.relative_gap:.1e}",
        "reached": str(model.primal_[0] <= goal + 1e-6),
    }


def main() -> None:
    """Run the rows that are missing, or all that were asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--limit", type=float, default=60.0, help="seconds a row")
    arguments.add_argument("--methods", nargs="*", default=list(OURS))
    arguments.add_argument("--data", nargs="*")
    arguments.add_argument("--again", action="store_true", help="also rows that were measured")
    options = arguments.parse_args()
    with (REFERENCE / "drsvm_tables.csv").open() as file:
        published = list(csv.DictReader(file))
    with (REFERENCE / "drsvm_optima.csv").open() as file:
        optima = {
            (r["dataset"], r["q"], float(r["c"])): float(r["optimum"]) for r in csv.DictReader(file)
        }
    rows = {_key(row): row for row in read("tables.csv")}
    for row in published:
        if _key(row) in rows and not options.again:
            continue
        if row["method"] not in options.methods:
            continue
        if options.data and row["dataset"] not in options.data:
            continue
        key = (NAMES.get(row["dataset"], row["dataset"]), row["cost_q"], float(row["c"]))
        result = measure(row, optima.get(key), options.limit)
        if result is not None:
            rows[_key(row)] = result  # in its place, if it was there
            write("tables.csv", list(rows.values()))
            print(result, flush=True)
    reached = sum(row["reached"] == "True" for row in rows.values())
    print(reached, "of", len(rows), "rows reached")


def _key(row: dict[str, str]) -> tuple[str, str, str]:
    return row["table"], row["dataset"], row["method"]


if __name__ == "__main__":
    main()
