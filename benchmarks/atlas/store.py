"""Rows of results: appended to a file of the cache folder as they come, one file a label."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..problems import cache_folder
from .design import Cell

Row = dict[str, Any]
Key = tuple[int, int]
RESULTS = Path(__file__).parents[1] / "results"
NOW = "now"


def results_file(stem: str, label: str, suffix: str) -> Path:
    """Give a file of the results folder; the label "now" has no name of its own."""
    return RESULTS / f"{stem}{'' if label == NOW else '_' + label}{suffix}"


def shown(value: Any) -> Any:
    """Write numbers with the digits that were measured."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.5g}"
    return str(value).replace("\n", " ")


def read_value(text: str) -> Any:
    """Read a number where there is one."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a whole table at once; the columns are those of all rows, in order of appearance."""
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    temporary = path.with_suffix(".new")
    with temporary.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows({name: shown(value) for name, value in row.items()} for row in rows)
    temporary.replace(path)


def read_rows(path: Path) -> list[Row]:
    """Read a table; empty fields are left out."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            {name: read_value(text) for name, text in row.items() if text not in ("", None)}
            for row in csv.DictReader(file)
        ]


class Store:
    """The rows of one part of the map (`regret` or `rivals`), by seed and number of the cell."""

    def __init__(self, part: str, label: str, folder: Path | None = None) -> None:
        folder = folder or cache_folder() / "atlas"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{part}_{label}.csv"
        self.rows: dict[Key, Row] = {}
        for row in read_rows(self.path):
            # A later measurement of a cell replaces the earlier one.
            self.rows[row["seed"], row["index"]] = row

    def done(self, cell: Cell) -> bool:
        """Tell whether a cell was measured."""
        return (cell.seed, cell.index) in self.rows

    def add(self, cell: Cell, measured: Row) -> Row:
        """Keep a row, here and in the file."""
        row = {**asdict(cell), **measured}
        self.rows[cell.seed, cell.index] = row
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            table = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                table.writeheader()
            table.writerow({name: shown(value) for name, value in row.items()})
        return row

    def of(self, seeds: Sequence[int] = ()) -> list[Row]:
        """List the rows of some seeds, or all, in order."""
        return [row for key, row in sorted(self.rows.items()) if not seeds or key[0] in seeds]
