"""CPU seconds of the generic solvers alone, for every cell that `speed` compares with.

Each solve runs in a process of its own, which is ended at the limit: what did not finish took at
least that long. HiGHS is given twice the time of the faster of the others. Cells already measured
are kept, so a run can be continued.

    python -m benchmarks.published.drsvm.rivals [data ...] [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.published.drsvm.common import CELLS, NORMS, RIVALS, generic, load, read, write


def alone(name: str, q: str, l2: float, solver: str, limit: float) -> tuple[str, float] | None:
    """Solve one cell in a process of its own; return objective and seconds, or None on failure."""
    command = [sys.executable, "-m", "benchmarks.published.drsvm.rivals", "--solve"]
    command += [name, q, str(l2), solver, str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2.0 * limit + 30.0)
    except subprocess.TimeoutExpired:
        return "", limit
    answer = done.stdout.split()
    if len(answer) != 2:
        return None
    return "" if answer[0] == "nan" else answer[0], float(answer[1])


def solve(name: str, q: str, l2: str, solver: str, limit: str) -> None:
    """Print objective and seconds of one solve; nothing if the solver failed."""
    data = load(name)
    assert data is not None
    found = generic(solver, *data, NORMS[q], float(l2), float(limit))
    if found is not None:
        print(f"{found[0]:.9f} {found[1]:.4f}")


def main() -> None:
    """Measure what is missing."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", nargs="*", default=CELLS)
    arguments.add_argument("--limit", type=float, default=120.0)
    arguments.add_argument("--solve", nargs=5, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.solve:
        solve(*options.solve)
        return
    rows = read("rivals.csv")
    done = {(r["data"], r["q"], float(r["c"]), r["solver"]) for r in rows}
    for name in options.data:
        for q, l2 in ((q, l2) for q in NORMS for l2 in (0.0, 1.0)):
            for solver in RIVALS:
                if (name, q, l2, solver) in done or load(name) is None:
                    continue
                if solver == "HIGHS" and q == "2":
                    continue
                known = [
                    float(r["seconds"])
                    for r in rows
                    if (r["data"], r["q"], float(r["c"])) == (name, q, l2)
                    and r["outcome"] == "solved"
                ]
                most = 2.0 * min(known) + 1.0 if solver == "HIGHS" and known else options.limit
                found = alone(name, q, l2, solver, most)
                outcome = "failed" if found is None else "solved" if found[0] else "stopped"
                rows.append(
                    {
                        "data": name,
                        "q": q,
                        "c": str(l2),
                        "solver": solver,
                        "outcome": outcome,
                        "objective": found[0] if found is not None else "",
                        "seconds": f"{found[1]:.4f}" if found is not None else "",
                    }
                )
                write("rivals.csv", rows)
                print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
