"""Tables and the plot of the speed comparison."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

from .harness import Harness, Timing

COLUMNS = (
    "data",
    "loss",
    "C",
    "target",
    "widemargin_seconds",
    "widemargin_suboptimality",
    "best_rival",
    "best_rival_seconds",
    "ratio",
    "matched_tol",
    "matched_seconds",
    "matched_ratio",
    "rivals",
    "note",
)
Row = dict[str, str]


def rivals_table(harness: Harness, path: Path) -> None:
    """Write the fastest rivals of the search, for every cell on record."""
    lines = ["# Fastest rivals, seconds of a single fit", ""]
    heads = [f"{target:g}: first | second | third" for target in harness.targets]
    lines.append(f"| data | loss | C | P* | certified | {' | '.join(heads)} |")
    lines.append("|---" * (5 + 3 * len(harness.targets)) + "|")
    for cell in harness.records.cells():
        row = [cell.data, cell.loss, f"{cell.C:g}", f"{harness.optima[cell]:.8g}"]
        row.append("yes" if harness.optima.certified(cell) else "no")
        for target in harness.targets:
            best = [f"{fit.peer} {fit.seconds:.4g}" for fit in harness.ranking(cell, target)[:3]]
            row += best + ["none in the cap" if not best else ""] * (3 - len(best))
        lines.append(f"| {' | '.join(row)} |")
    path.write_text("\n".join(lines) + "\n")


def row_of(timing: Timing, harness: Harness) -> Row:
    """Flatten a comparison; rivals outside it are listed with their time from the search."""
    cell, best = timing.cell, timing.best
    others = {fit.peer: f"{fit.seconds:.5g}" for fit in harness.ranking(cell, timing.target)}
    others |= {name: f"{seconds:.5g}" for name, (_, seconds) in timing.rivals.items()}
    for _, peer in harness.rivals(cell.loss):
        fits = harness.records.of(cell, peer["name"]).values()
        tried = [fit for fit in fits if fit.primal is None and fit.note]
        failed = tried[-1].note if tried else "not reached on its ladder"
        others.setdefault(peer["name"], failed.replace(";", ",") if fits else "not run")
    return {
        "data": cell.data,
        "loss": cell.loss,
        "C": f"{cell.C:g}",
        "target": f"{timing.target:g}",
        "widemargin_seconds": "" if timing.widemargin is None else f"{timing.widemargin:.5g}",
        "widemargin_suboptimality": "" if timing.reached is None else f"{timing.reached:.2e}",
        "best_rival": best[0] if best else "",
        "best_rival_seconds": f"{best[1]:.5g}" if best else seconds_given_up(timing),
        "ratio": "" if timing.ratio is None else f"{timing.ratio:.3f}",
        "matched_tol": f"{timing.matched[0]:g}" if timing.matched else "",
        "matched_seconds": f"{timing.matched[1]:.5g}" if timing.matched else "",
        "matched_ratio": "" if timing.matched_ratio is None else f"{timing.matched_ratio:.3f}",
        "rivals": "; ".join(f"{name}: {text}" for name, text in others.items()),
        "note": timing.note,
    }


def seconds_given_up(timing: Timing) -> str:
    """Say for how long the rivals were let run when none reached the target."""
    return "" if timing.given_up is None else f"over {timing.given_up:.5g}"


def read_rows(path: Path) -> list[Row]:
    """Read an earlier table, empty when there is none; columns that it lacks are empty too."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [dict.fromkeys(COLUMNS, "") | row for row in csv.DictReader(file)]


def merge(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Replace the rows measured again and keep the others."""
    rows = {(r["data"], r["loss"], r["C"], r["target"]): r for r in [*old, *new]}
    return list(rows.values())


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write the table of every cell."""
    temporary = path.with_suffix(".new")
    with temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(path)


def summary(rows: Sequence[Row], absent: dict[str, str], skipped: dict[str, str]) -> str:
    """Write the figures that the comparison is judged by, as markdown."""
    lines = ["# Speed against the fastest rival of each cell", ""]
    lines.append("One thread, no intercept, whole `fit`; ratio = rival's median / widemargin's.")
    lines.append("A rival runs with the tolerance of its ladder that reaches the target soonest.")
    heads = "| target | cells | geometric mean | smallest | below 0.8 | no rival | missed |"
    for title, key in (
        ("With `tol` = target: the certificate proves the target", "ratio"),
        ("With the `tol` that reaches the target soonest, as for the rivals", "matched_ratio"),
    ):
        lines += ["", f"## {title}", "", heads, "|---|---|---|---|---|---|---|"]
        for target in sorted({row["target"] for row in rows}, key=float, reverse=True):
            lines.append(summary_line([row for row in rows if row["target"] == target], key))
    lines += ["", "*no rival*: none reached the target in the time it was given. These cells are"]
    lines += ["counted apart; their ratios are that time's, lower bounds, and not in the mean."]
    lines += ["*missed*: widemargin failed or stopped short of the target.", ""]
    for title, reasons in (("Rivals not available", absent), ("Data not available", skipped)):
        if reasons:
            lines += [f"## {title}", ""]
            lines += [f"- {name}: {reason}" for name, reason in reasons.items()] + [""]
    heads = "| data | loss | C | target | widemargin | best rival | ratio | soonest tol | ratio |"
    lines += ["## Every cell", "", heads, "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        rival = (
            f"{row['best_rival']} {row['best_rival_seconds']}" if row["best_rival"] else "none, "
        )
        rival = rival if row["best_rival"] else f"{rival}{row['best_rival_seconds'] or 'not run'}"
        ours = row["widemargin_seconds"] or row["note"] or "-"
        cell = f"{row['data']} | {row['loss']} | {row['C']} | {row['target']}"
        matched = f"{row['matched_tol'] or '-'} | {row['matched_ratio'] or '-'}"
        lines.append(f"| {cell} | {ours} | {rival} | {row['ratio'] or '-'} | {matched} |")
    return "\n".join(lines) + "\n"


def summary_line(rows: Sequence[Row], key: str) -> str:
    """Write the figures of one target, by one kind of ratio."""
    compared = [row for row in rows if row[key] and row["best_rival"]]
    ratios = [float(row[key]) for row in compared]
    mean = f"{geometric_mean(ratios):.2f}" if ratios else "-"
    worst = min(compared, key=lambda row: float(row[key]), default=None)
    smallest = f"{worst[key]} ({cell_name(worst)})" if worst else "-"
    slow = sum(ratio < 0.8 for ratio in ratios)
    alone = [row[key] or "-" for row in rows if not row["best_rival"]]
    missed = sum(not row["widemargin_seconds"] for row in rows)
    apart = f"{len(alone)}: {', '.join(alone)}" if alone else "0"
    target = rows[0]["target"]
    return f"| {target} | {len(compared)} | {mean} | {smallest} | {slow} | {apart} | {missed} |"


def cell_name(row: Row) -> str:
    """Name a row's cell in a few letters."""
    return f"{row['data']} {row['loss']} C={row['C']}"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw the ratio of every cell on a logarithmic axis, one panel a target.

    Hollow: no rival reached the target, a lower bound. Dotted: the mean over the others.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    targets = sorted({row["target"] for row in rows}, key=float, reverse=True)
    data = list(dict.fromkeys(row["data"] for row in rows))
    ordered = sorted(rows, key=lambda row: data.index(row["data"]))
    cells = list(dict.fromkeys(cell_name(row) for row in ordered))
    colours = {"hinge": "C0", "squared_hinge": "C1", "logistic": "C2"}
    height = 1.5 + 0.17 * len(cells)
    figure, panels = pyplot.subplots(
        1, len(targets), figsize=(4 + 4 * len(targets), height), sharey=True, squeeze=False
    )
    for panel, target in zip(panels[0], targets, strict=True):
        for row in rows:
            if row["target"] == target and row["ratio"]:
                place = len(cells) - cells.index(cell_name(row))
                colour = colours[row["loss"]]
                face = colour if row["best_rival"] else "white"
                panel.plot(float(row["ratio"]), place, "o", color=colour, markerfacecolor=face)
        ratios = [float(r["ratio"]) for r in rows if r["target"] == target and r["ratio"]]
        if ratios:
            met = [float(r["ratio"]) for r in rows if r["target"] == target and r["best_rival"]]
            if met:
                panel.axvline(geometric_mean(met), color="grey", linestyle=":")
            # Decades alone leave the axis without a number when all ratios are near one.
            low, high = math.floor(math.log2(min(ratios))), math.ceil(math.log2(max(ratios)))
            ticks = [2.0**k for k in range(min(low, 0), max(high, 0) + 1)]
            panel.set_xscale("log", base=2)
            panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.axvline(1.0, color="black", linewidth=0.8)
        panel.set_title(f"within {target} of the optimum")
        panel.set_xlabel("fastest rival's seconds / widemargin's")
        panel.grid(axis="x", alpha=0.3)
    panels[0][0].set_yticks([len(cells) - k for k in range(len(cells))], cells, fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
