"""Compare the speed of widemargin with the fastest rival of each cell.

``python -m benchmarks.speed --data a9a,w8a --losses hinge --C 0.1,1 --targets 1e-3,1e-6``

Seconds are CPU seconds of the process that fits, and so are the limits.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import problems, report
from .harness import CAP_SECONDS, Harness
from .peers.base import LOSSES
from .records import Cell, Optima, Records
from .session import Sessions


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)

    def listed(text: str) -> list[str]:
        return [part for part in text.split(",") if part]

    def numbers(text: str) -> list[float]:
        return [float(part) for part in listed(text)]

    parser.add_argument("--data", type=listed, default=list(problems.SPEED))
    parser.add_argument("--losses", type=listed, default=list(LOSSES))
    parser.add_argument("--C", type=numbers, default=[0.1, 1.0, 100.0])
    parser.add_argument("--targets", type=numbers, default=[1e-3, 1e-6])
    parser.add_argument("--peers", type=listed, default=[], help="parts of rivals' names")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cap", type=float, default=CAP_SECONDS, help="seconds a fit may take")
    parser.add_argument("--core", type=int, help="pin everything to this core")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--search-only", action="store_true", help="rivals only, no comparison")
    parser.add_argument("--no-search", action="store_true", help="use the rivals' fits on record")
    options = parser.parse_args()
    for kind, given, known in (
        ("data set", options.data, problems.SOURCES),
        ("loss", options.losses, LOSSES),
    ):
        for name in given:
            if name not in known:
                parser.error(f"unknown {kind} {name!r}: choose from {', '.join(known)}")
    return options


def cells_of(options: argparse.Namespace, names: Iterable[str]) -> Iterator[Cell]:
    """Enumerate the cells of some data sets."""
    for data, loss, C in product(names, options.losses, options.C):
        yield Cell(data, loss, C)


def measure_data(
    data: str,
    options: argparse.Namespace,
    harness: Harness,
    tell: Callable[[str], None],
    console: Console,
) -> Iterator[list[report.Row]]:
    """Measure one data set and yield the rows of each cell."""
    harness.sessions.use(problems.arrays_file(data))
    X, y = problems.load(data)
    for cell in cells_of(options, [data]):
        tell(f"{cell}: optimum")
        if not harness.certify(cell):
            console.print(f"[yellow]{cell}: optimum not certified, best known is used")
        if not options.no_search:
            for fit in harness.search(cell, X, y):
                tell(f"{cell}: {fit.peer} at {fit.level:g} took {fit.seconds:.3g} s")
        rows = []
        for target in () if options.search_only else options.targets:
            tell(f"{cell}: comparing at {target:g}")
            timing = harness.compare(cell, target, X, y, options.repeats)
            rows.append(report.row_of(timing, harness))
            ratio = "-" if timing.ratio is None else f"{timing.ratio:.2f}"
            rival = timing.best[0] if timing.best else "no rival"
            console.print(f"{cell} {target:g}: {ratio} x {rival} {timing.note}")
        yield rows


def main() -> None:
    """Search, compare and write the tables."""
    options = arguments()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "speed.csv"
    rows = report.read_rows(table)
    cells = list(cells_of(options, options.data))
    skipped: dict[str, str] = {}
    console = Console()
    records = Records()
    with (
        closing(Sessions.open(widemargin=not options.search_only)) as sessions,
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        ) as progress,
    ):
        for name, reason in sessions.absent.items():
            console.print(f"[yellow]not available: {name}: {reason}")
        harness = Harness(
            sessions, records, Optima(records), options.targets, options.cap, options.peers
        )
        task = progress.add_task("starting", total=len(cells))

        def tell(text: str) -> None:
            progress.update(task, description=text)

        for data in options.data:
            try:
                for new in measure_data(data, options, harness, tell, console):
                    rows = report.merge(rows, new)
                    report.rivals_table(harness, options.out / "rivals.md")
                    if not options.search_only:
                        report.write_rows(rows, table)
                    progress.advance(task)
            except problems.MissingDataError as error:
                skipped[data] = str(error)
                progress.advance(task, len(options.losses) * len(options.C))
        absent = sessions.absent
    if not options.search_only:
        (options.out / "speed.md").write_text(report.summary(rows, absent, skipped))
        report.plot(rows, options.out / "speed.png")
        console.print(f"written: {table}, with speed.md and speed.png beside it")


if __name__ == "__main__":
    main()
