"""What is kept between runs: every fit of the search, and the best optimum known of each cell."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from .peers.base import LOSSES
from .problems import cache_folder


class Cell(NamedTuple):
    """One problem: data set, loss and C."""

    data: str
    loss: str
    C: float

    def __str__(self) -> str:
        return f"{self.data} {self.loss} C={self.C:g}"


@dataclass(frozen=True)
class Fit:
    """One fit of the search; `primal` is None when it failed or ran out of time at `seconds`."""

    data: str
    loss: str
    C: float
    peer: str
    level: float
    seconds: float
    primal: float | None
    note: str = ""


class Records:
    """The fits of the search, appended to a file as they come."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "fits.jsonl"
        self.fits: dict[tuple[Cell, str], dict[float, Fit]] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                self._keep(Fit(**json.loads(line)))

    def _keep(self, fit: Fit) -> None:
        # A later fit at the same level replaces the earlier one.
        cell = Cell(fit.data, fit.loss, fit.C)
        self.fits.setdefault((cell, fit.peer), {})[fit.level] = fit

    def add(self, fit: Fit) -> None:
        """Keep a fit, here and in the file."""
        self._keep(fit)
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(fit)) + "\n")

    def of(self, cell: Cell, peer: str) -> dict[float, Fit]:
        """Give the fits of a peer on a cell, by level."""
        return self.fits.get((cell, peer), {})

    def cells(self) -> list[Cell]:
        """List the cells with fits, data sets in the order of their first fit."""
        order = list(dict.fromkeys(cell.data for cell, _ in self.fits))
        return sorted(
            {cell for cell, _ in self.fits},
            key=lambda cell: (order.index(cell.data), LOSSES.index(cell.loss), cell.C),
        )

    def peers(self, cell: Cell) -> list[str]:
        """Name the peers with fits on a cell."""
        return [peer for known, peer in self.fits if known == cell]


class Optima:
    """The smallest objective known of each cell, with the lower bound where there is one."""

    def __init__(self, records: Records, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "optima.json"
        self.records = records
        self.known: dict[str, dict[str, float | str]] = {}
        if self.path.exists():
            self.known = json.loads(self.path.read_text())

    def store(self, cell: Cell, primal: float, dual: float, source: str) -> None:
        """Keep a certified optimum if its gap is smaller than that of the one known."""
        old = self.known.get(str(cell))
        if old is None or primal - dual < float(old["primal"]) - float(old["dual"]):
            self.known[str(cell)] = {"primal": primal, "dual": dual, "source": source}
            temporary = self.path.with_suffix(".new")
            temporary.write_text(json.dumps(self.known, indent=1))
            temporary.replace(self.path)

    def certified(self, cell: Cell) -> bool:
        """Tell whether the optimum is known to 1e-8, a hundredth of the tightest target."""
        known = self.known.get(str(cell))
        return known is not None and float(known["primal"]) - float(known["dual"]) <= 1e-8 * float(
            known["primal"]
        )

    def __getitem__(self, cell: Cell) -> float:
        """Give the smallest objective anyone reached, infinite when there is none."""
        seen = [
            fit.primal
            for peer in self.records.peers(cell)
            for fit in self.records.of(cell, peer).values()
            if fit.primal is not None
        ]
        if str(cell) in self.known:
            seen.append(float(self.known[str(cell)]["primal"]))
        return min(seen, default=float("inf"))
