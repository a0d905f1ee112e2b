"""RobustSVC against generic solvers: whole fits at tol 1e-6, and hybrid at 1e-4.

A cell is data x norm x penalty. Ours and the rivals run by turns. Seconds are CPU seconds of the
one thread that works, so that a busy machine does not count; the rivals' are those of the solver
alone, to its default accuracy. Cells already measured are kept, so a run can be continued.
"""

from __future__ import annotations

import argparse
import math
import statistics

from benchmarks.published.drsvm.common import NORMS, fit, generic, load, read, write

CELLS = ("a4a", "a5a", "a8a", "a9a", "ijcnn1", "w8a")
RIVALS = ("ECOS", "CLARABEL", "HIGHS")


def measure(name: str, q: str, l2: float, repeats: int) -> dict[str, object] | None:
    """Measure one cell."""
    data = load(name)
    if data is None:
        return None
    X, y = data
    ours = []
    for _ in range(repeats):
        model, seconds = fit(X, y, NORMS[q], l2, tol=1e-6)
        ours.append(seconds)
    row: dict[str, object] = {
        "data": name,
        "q": q,
        "c": l2,
        "auto_seconds": round(statistics.median(ours), 4),
        "auto_gap": f"{model.certificate_.relative_gap:.1e}",
        "objective": f"{model.primal_[0]:.9f}",
    }
    fastest = math.inf
    for rival in RIVALS:
        # HiGHS is stopped at twice the fastest of the others.
        found = generic(rival, X, y, NORMS[q], l2, limit=max(2.0 * fastest, 1.0))
        row[rival] = "" if found is None else round(found[1], 4)
        if found is not None:
            fastest = min(fastest, found[1])
        if rival == "CLARABEL":
            ours.append(fit(X, y, NORMS[q], l2, tol=1e-6)[1])
    row["auto_seconds"] = round(statistics.median(ours), 4)
    row["ratio"] = round(fastest / float(statistics.median(ours)), 2)
    row["hybrid_seconds"] = row["hybrid_gap"] = row["hybrid_ratio"] = ""
    if name in ("a9a", "ijcnn1", "w8a"):
        model, seconds = fit(
            X, y, NORMS[q], l2, tol=1e-4, solver="hybrid", max_iter=5000, time_limit=20.0 * fastest
        )
        row["hybrid_seconds"] = round(seconds, 3)
        row["hybrid_gap"] = f"{model.certificate_.relative_gap:.1e}"
        if model.certificate_.relative_gap <= 1e-4:
            row["hybrid_ratio"] = round(fastest / seconds, 2)
    return row


def main() -> None:
    """Measure the cells that are missing, and print the means."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", nargs="*", default=CELLS)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    rows = list(read("speed.csv"))
    done = {(r["data"], r["q"], float(r["c"])) for r in rows}
    for name in options.data:
        for q in NORMS:
            for l2 in (0.0, 1.0):
                if (name, q, l2) in done:
                    continue
                row = measure(name, q, l2, options.repeats)
                if row is not None:
                    rows.append({key: str(value) for key, value in row.items()})
                    write("speed.csv", rows)
                    print(row, flush=True)
    ratios = [float(r["ratio"]) for r in rows]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} cells: geometric mean {mean:.1f}x, smallest {min(ratios):.1f}x")


if __name__ == "__main__":
    main()
