"""CPU seconds to a true suboptimality, and a table of cells that a stopped run goes on with."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

TARGETS, REPEATS = (1e-3, 1e-6), 5
SHORT, SHORT_REPEATS = 0.005, 40
"""Runs shorter than this are repeated so often: their noise is many times larger."""

LONGEST = 30.0
"""CPU seconds that a solver may spend on a cell before it gives up."""

Fit = Callable[[float], Any]


def seconds_to(fits: Mapping[str, Fit], excess: Callable[[Any], float]) -> dict[str, list[float]]:
    """Return each solver's CPU seconds to each target, or infinity.

    Every solver is run at falling tolerances until its weights are that close to the optimum:
    `excess` returns (P − P*) / |P*| of weights. What reached a target is run again, the solvers in
    turn, and the fastest run counts. A solver gives up after `LONGEST` seconds in all.
    """
    found = {name: [math.inf] * len(TARGETS) for name in fits}
    levels: dict[tuple[str, float], list[int]] = {}
    for name, fit in fits.items():
        spent = 0.0
        for level in 10.0 ** -np.arange(0.0, 9.5, 0.5):
            seconds, w = _timed(fit, float(level))
            reached = excess(w)
            for place, target in enumerate(TARGETS):
                if reached <= target and found[name][place] == math.inf:
                    found[name][place] = seconds
                    levels.setdefault((name, float(level)), []).append(place)
            spent += seconds
            if found[name][-1] < math.inf or spent > LONGEST:
                break
    for turn in range(1, SHORT_REPEATS):
        longest = 1.0 if turn < REPEATS else SHORT
        for (name, level), places in levels.items():
            if found[name][places[0]] < longest:
                seconds = _timed(fits[name], level)[0]
                for place in places:
                    found[name][place] = min(found[name][place], seconds)
    return found


def _timed(fit: Fit, level: float) -> tuple[float, Any]:
    began = time.process_time()
    w = fit(level)
    return time.process_time() - began, w


def ratios(times: Mapping[str, Sequence[float]]) -> list[float]:
    """Return the fastest rival's seconds over those of widemargin, for each target."""
    rivals = [seconds for name, seconds in times.items() if name != "widemargin"]
    return [
        min(each[place] for each in rivals) / times["widemargin"][place]
        for place in range(len(TARGETS))
    ]


class Table:
    """Rows of a csv file, written cell by cell; cells that are there already are kept."""

    def __init__(self, path: Path, keys: Sequence[str]) -> None:
        self.path, self.keys = path, tuple(keys)
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open() as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **cell: Any) -> bool:
        """Whether a cell was measured."""
        wanted = {key: str(value) for key, value in cell.items()}
        return any(wanted.items() <= row.items() for row in self.rows)

    def add(self, cell: Mapping[str, Any], times: Mapping[str, Sequence[float]]) -> None:
        """Add the rows of a cell, one per target, and write the table."""
        for place, (target, ratio) in enumerate(zip(TARGETS, ratios(times), strict=True)):
            row = {key: str(value) for key, value in cell.items()}
            row["suboptimality"] = str(target)
            row |= {name: f"{seconds[place]:.4g}" for name, seconds in times.items()}
            row["ratio"] = f"{ratio:.3g}"
            print(row, flush=True)
            self.rows.append(row)
        names = list(dict.fromkeys(name for row in self.rows for name in row if name != "ratio"))
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*names, "ratio"], restval="")
            writer.writeheader()
            writer.writerows(self.rows)

    def summary(self) -> str:
        """Return the geometric mean of the ratios, the least, and how many are low.

        Cells whose target no rival reached have no ratio, and are counted apart.
        """
        reached = [float(row["ratio"]) for row in self.rows if row["widemargin"] != "inf"]
        found = [ratio for ratio in reached if math.isfinite(ratio)]
        missed, alone = len(self.rows) - len(reached), len(reached) - len(found)
        mean = math.exp(sum(math.log(ratio) for ratio in found) / max(1, len(found)))
        low, least = sum(ratio < 0.8 for ratio in found), min(found, default=1.0)
        return (
            f"{len(found)} cells: geometric mean {mean:.2f}x, least {least:.2f}x, "
            f"{low} below 0.8x; {alone} more that no rival reached in time; {missed} where "
            "widemargin missed the target"
        )
