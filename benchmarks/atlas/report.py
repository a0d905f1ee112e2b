"""The report on the map: figures, the worst cells, and the tables as files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .design import Cell, cell_at
from .maps import draw
from .store import Row, results_file, write_rows

ORDER = (
    *("hinge", "squared_hinge", "logistic"),
    *("binary", "ovr", "weston_watkins", "crammer_singer"),
    *("tol 0.001", "tol 0.0001", "tol 1e-06"),
    *("dense", "CSR", "free intercept", "no intercept"),
)
FLOOR_SECONDS = 5e-3
WORST = 25


def geometric_mean(values: Any) -> float:
    """Give the geometric mean; nothing of nothing."""
    logs = np.log(np.asarray(list(values), dtype=float))
    return float(np.exp(logs.mean())) if logs.size else math.nan


def solved(row: Row) -> bool:
    """Tell whether some solver reached the tolerance."""
    return not math.isnan(row.get("regret", math.nan))


def long_enough(rows: list[Row]) -> list[Row]:
    """Keep the cells above five milliseconds in which somebody reached the tolerance."""
    return [row for row in rows if row["auto"] > FLOOR_SECONDS and solved(row)]


def summary(rows: list[Row]) -> dict[str, str]:
    """Give the figures of a set of cells."""
    long = long_enough(rows)
    regrets = np.array([row["regret"] for row in long])
    if not len(long):
        return {"cells": "0"}
    return {
        "cells": f"{len(long)}",
        "geometric mean": f"{geometric_mean(regrets):.3f}",
        "at most 1.5": f"{100 * np.mean(regrets <= 1.5):.1f} %",
        "at most 2": f"{100 * np.mean(regrets <= 2.0):.1f} %",
        "worst": f"{regrets.max():.3g}",
        "CPU seconds, auto": f"{sum(row['auto'] for row in long):.4g}",
    }


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """Lay out a table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *lines])


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """Split the cells by kind, loss, tolerance and intercept."""
    found = {"all": rows}
    for name in ORDER:
        found[name] = []
    for row in rows:
        layout = "dense" if row["dense"] else "CSR"
        intercept = "free intercept" if row["intercept"] else "no intercept"
        for name in (row["kind"], row["loss"], f"tol {row['tol']:g}", layout, intercept):
            found[name].append(row)
    return {name: members for name, members in found.items() if members}


def cell_of(row: Row) -> Cell:
    """Give the cell of a row."""
    return cell_at(row["seed"], row["index"])


def worst_line(row: Row) -> list[str]:
    """Describe one cell of the list of the worst."""
    cell = cell_of(row)
    more = "" if row["auto_status"] == "converged" else f"> ({row['auto_status']}) "
    rule = cell.kind if cell.classes == 2 else f"{cell.kind} {cell.classes}"
    return [
        f"{cell.index}",
        cell.shape,
        f"{rule} {cell.loss}{' +b' if cell.intercept else ''}",
        f"{cell.C:.3g}",
        f"{cell.tol:g}",
        f"{more}{row['auto']:.3g}",
        f"{row['best']} {row['best_seconds']:.3g}" if "best_seconds" in row else "",
        f"{row['regret']:.3g}",
        str(row.get("solver_", ""))[:90].replace("|", "/"),
    ]


def regret_report(rows: list[Row]) -> list[str]:
    """Give the part about the regret."""
    unsolved = [row for row in rows if not solved(row)]
    failed = [row for row in rows if solved(row) and row["auto_status"] != "converged"]
    figures = {name: summary(found) for name, found in groups(rows).items()}
    head = list(figures["all"])
    lines = [[name, *(f.get(h, "") for h in head)] for name, f in figures.items()]
    by_regret = sorted(long_enough(rows), key=lambda row: -row["regret"])[:WORST]
    numbers = ", ".join(f"{row['index']} ({row['auto_status']})" for row in failed)
    columns = ["cell", "data", "problem", "C", "tol", "auto s", "best named s", "regret", "solver_"]
    return [
        "## Regret of auto against the best named solver",
        "",
        f"CPU seconds of `auto` over those of the fastest of all solvers, auto included, to the "
        f"same proved tolerance; cells above {1e3 * FLOOR_SECONDS:g} ms of {len(rows)} measured. "
        f"No solver reached the tolerance within its time limit in {len(unsolved)} cells. Cells in "
        f"which auto was stopped or gave up while a named solver converged: {len(failed)}"
        + (f": {numbers}." if failed else "."),
        "",
        markdown(["", *head], lines),
        "",
        f"### The worst {WORST}",
        "",
        markdown(columns, [worst_line(row) for row in by_regret]),
        "",
    ]


def against(rows: list[Row], earlier: list[Row], label: str) -> list[str]:
    """Give the part about another label: how many times faster auto is in the common cells."""
    before = {(row["seed"], row["index"]): row for row in earlier if solved(row)}
    pairs = [(row, before.get((row["seed"], row["index"]))) for row in rows if solved(row)]
    common = [(n, o) for n, o in pairs if o and max(n["auto"], o["auto"]) > FLOOR_SECONDS]
    if not common:
        return []
    common.sort(key=lambda pair: pair[1]["auto"] / pair[0]["auto"])
    gains = [old["auto"] / new["auto"] for new, old in common]
    lines = [
        [
            f"{new['index']}",
            cell_of(new).shape,
            new["loss"],
            *(f"{number:.3g}" for number in (old["auto"], new["auto"], gain)),
            str(new.get("solver_", ""))[:90],
        ]
        for (new, old), gain in zip(common[:10], gains, strict=False)
    ]
    return [
        f"## Against {label}",
        "",
        f"{len(common)} cells in common: auto is {geometric_mean(gains):.2f} times as fast "
        f"(geometric mean), its regret was {summary([o for _, o in common])['geometric mean']} and "
        f"is {summary([n for n, _ in common])['geometric mean']}. The cells that lost most:",
        "",
        markdown(["cell", "data", "loss", f"auto {label}", "auto", "gain", "solver_"], lines),
        "",
    ]


def compared(rows: list[Row]) -> list[Row]:
    """Keep the cells above five milliseconds that have a rival."""
    return [r for r in rows if "ratio" in r and not math.isnan(r["ratio"]) and long_fit(r)]


def long_fit(row: Row) -> bool:
    """Tell whether either side takes more than five milliseconds."""
    return max(row["ours"], row["rival_seconds"]) > FLOOR_SECONDS


def rival_summary(rows: list[Row]) -> dict[str, str]:
    """Give the figures of a set of cells: how many times faster than the fastest rival."""
    found = compared(rows)
    ratios = np.array([row["ratio"] for row in found])
    if not len(found):
        return {"cells": "0"}
    return {
        "cells": f"{len(found)}",
        "geometric mean": f"{geometric_mean(ratios):.2f}",
        "below 0.9": f"{100 * np.mean(ratios < 0.9):.1f} %",
        "below 2": f"{100 * np.mean(ratios < 2.0):.1f} %",
        "worst": f"{ratios.min():.3g}",
        "no rival done": f"{sum(bool(row['bound']) for row in found)}",
    }


def slow_line(row: Row) -> list[str]:
    """Describe one cell of the list of the slowest."""
    cell = cell_of(row)
    rule = cell.kind if cell.classes == 2 else f"{cell.kind} {cell.classes}"
    return [
        f"{cell.index}",
        cell.shape,
        f"{rule} {cell.loss}{' +b' if cell.intercept else ''}",
        f"{cell.C:.3g}",
        f"{row['ours']:.3g} {'' if row['ours_status'] == 'converged' else row['ours_status']}",
        f"{row['rival']} {row['rival_seconds']:.3g}",
        f"{row['ratio']:.3g}",
    ]


def rival_report(rows: list[Row]) -> list[str]:
    """Give the part about the rivals."""
    figures = {name: rival_summary(found) for name, found in groups(rows).items()}
    head = list(figures["all"])
    if head == ["cells"]:
        return []
    lines = [[n, *(f.get(h, "") for h in head)] for n, f in figures.items() if len(f) > 1]
    winners: dict[str, int] = {}
    for row in compared(rows):
        winners[row["rival"]] = winners.get(row["rival"], 0) + 1
    fastest = ", ".join(f"{n} {c}" for n, c in sorted(winners.items(), key=lambda item: -item[1]))
    slowest = sorted(compared(rows), key=lambda row: row["ratio"])[:WORST]
    unknown = sum(row.get("note") == "optimum not known" for row in rows)
    return [
        "## Against the fastest rival at equal true suboptimality",
        "",
        "CPU seconds of the fastest of scikit-learn, LIBLINEAR and Snap ML to a true suboptimality "
        "of 1e-4, over those of widemargin with tol 1e-4, which proves it. Where no rival was done "
        "in 10 times our seconds, or in 10 s and twice ours, that counts. Cells above "
        f"{1e3 * FLOOR_SECONDS:g} ms; those in which no rival solves the same problem (hinges with "
        "a free intercept, Weston-Watkins) are not compared. The optimum was not known to 1e-6 in "
        f"{unknown} cells.",
        "",
        markdown(["", *head], lines),
        "",
        f"The fastest rival, by number of cells: {fastest}.",
        "",
        f"### The slowest {WORST}",
        "",
        markdown(
            ["cell", "data", "problem", "C", "ours s", "rival s", "ratio"],
            [slow_line(row) for row in slowest],
        ),
        "",
    ]


def write(
    regrets: list[Row],
    rivals: list[Row],
    label: str,
    earlier: tuple[str, list[Row]] | None = None,
) -> str:
    """Write the tables, the text and the maps; give the text."""
    parts = ["# The map of shapes", ""]
    if regrets:
        parts += regret_report(regrets)
        write_rows(results_file("atlas", label, ".csv"), regrets)
        draw(long_enough(regrets), "regret", label)
    if earlier:
        parts += against(regrets, earlier[1], earlier[0])
    if rivals:
        parts += rival_report(rivals)
        write_rows(results_file("atlas_rivals", label, ".csv"), rivals)
        draw(compared(rivals), "ratio", label)
    text = "\n".join(parts)
    results_file("atlas", label, ".md").write_text(text)
    return text
