"""RobustSVC against generic solvers: whole fits at tol 1e-6, and hybrid at 1e-4.

A cell is data x norm x penalty. Seconds are CPU seconds of the one thread that works, so that a
busy machine does not count; ours are of the whole fit, certificate and all. The rivals' come from
`rivals` (run that first): the solver alone, to its default accuracy. What a rival did not finish
counts as slower than those that did. Every run measures our side again.

    python -m benchmarks.published.drsvm.speed [data ...] [--repeats N]
"""

from __future__ import annotations

import argparse
import math
import statistics

from benchmarks.published.drsvm.common import CELLS, NORMS, RESULTS, fit, load, read, write

HYBRID = ("a9a", "ijcnn1", "w8a")


def fastest(rivals: list[dict[str, str]], name: str, q: str, l2: float) -> tuple[str, float] | None:
    """Return the fastest rival of a cell that solved it, and its seconds."""
    seconds = {
        r["solver"]: float(r["seconds"])
        for r in rivals
        if (r["data"], r["q"], float(r["c"]), r["outcome"]) == (name, q, l2, "solved")
    }
    return min(seconds.items(), key=lambda pair: pair[1]) if seconds else None


def measure(
    name: str, q: str, l2: float, rival: tuple[str, float], repeats: int
) -> dict[str, str] | None:
    """Measure our side of one cell."""
    data = load(name)
    if data is None:
        return None
    runs = [fit(*data, NORMS[q], l2, tol=1e-6) for _ in range(repeats)]
    seconds = statistics.median(run[1] for run in runs)
    certificate = runs[0][0].certificate_
    row = {
        "data": name,
        "q": q,
        "c": str(l2),
        "rival": rival[0],
        "rival_seconds": f"{rival[1]:.3f}",
        "auto_seconds": f"{seconds:.4f}",
        "auto_gap": f"{certificate.relative_gap:.1e}",
        "objective": f"{certificate.primal:.9f}",
        "ratio": f"{rival[1] / seconds:.1f}",
        "hybrid_seconds": "",
        "hybrid_gap": "",
        "hybrid_ratio": "",
    }
    if name in HYBRID:
        runs = [fit(*data, NORMS[q], l2, tol=1e-4, solver="hybrid") for _ in range(repeats)]
        seconds = statistics.median(run[1] for run in runs)
        row["hybrid_seconds"] = f"{seconds:.4f}"
        row["hybrid_gap"] = f"{runs[0][0].certificate_.relative_gap:.1e}"
        row["hybrid_ratio"] = f"{rival[1] / seconds:.1f}"
    return row


def summary(rows: list[dict[str, str]], column: str, title: str) -> str:
    """Return one sentence: geometric mean and smallest ratio."""
    cells = [(float(r[column]), f"{r['data']}, norm {r['q']}, c = {r['c']}") for r in rows]
    mean = math.exp(sum(math.log(ratio) for ratio, _ in cells) / len(cells))
    ratio, name = min(cells)
    return (
        f"{title}: {len(cells)} cells, geometric mean {mean:.1f}x, smallest {ratio:.1f}x ({name})."
    )


def report(rows: list[dict[str, str]]) -> str:
    """Return the table as Markdown."""
    lines = ["# RobustSVC against generic solvers", ""]
    lines += ["CPU seconds on one core; radius 0.1, label cost 1, no intercept. The rival is the"]
    lines += ["fastest of ECOS, Clarabel and HiGHS at its default accuracy, its solver alone;"]
    lines += ["`auto` is the whole fit at tol 1e-6, `hybrid` at tol 1e-4.", ""]
    lines += [summary(rows, "ratio", "`auto`"), ""]
    compared = [r for r in rows if r["hybrid_ratio"]]
    if compared:
        lines += [summary(compared, "hybrid_ratio", "`hybrid`"), ""]
    lines += ["| data | norm | c | rival | seconds | auto | ratio | hybrid | ratio |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    keys = ("data", "q", "c", "rival", "rival_seconds", "auto_seconds", "ratio")
    keys += ("hybrid_seconds", "hybrid_ratio")
    lines += [f"| {' | '.join(r[key] for key in keys)} |" for r in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all cells, and write the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", nargs="*", default=CELLS)
    arguments.add_argument("--repeats", type=int, default=5)
    options = arguments.parse_args()
    rivals = read("rivals.csv")
    rows = {(r["data"], r["q"], r["c"]): r for r in read("speed.csv") if "rival" in r}
    for name in options.data:
        for q, l2 in ((q, l2) for q in NORMS for l2 in (0.0, 1.0)):
            rival = fastest(rivals, name, q, l2)
            row = None if rival is None else measure(name, q, l2, rival, options.repeats)
            if row is not None:
                rows[name, q, str(l2)] = row
                print(row, flush=True)
    if rows:
        write("speed.csv", rows.values())
        text = report(list(rows.values()))
        (RESULTS / "speed.md").write_text(text, encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
