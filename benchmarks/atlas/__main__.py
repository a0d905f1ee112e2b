"""Measure `solver="auto"` over the map of shapes: ``python -m benchmarks.atlas``.

Each cell is a generated problem. widemargin's `auto` runs against every named solver that serves
the problem, to the same tolerance, and against the rivals, to the same true suboptimality. Results
are kept as they come: a second run goes on where the first one ended. CPU seconds, one thread.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..session import ONE_THREAD


def arguments() -> argparse.ArgumentParser:
    """Describe the command line."""
    from .design import DEFAULT_CELLS, DEFAULT_SEED
    from .regret import LONG_LIMIT
    from .store import NOW

    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas", description=__doc__)
    add = parser.add_argument
    add("--cells", type=int, default=DEFAULT_CELLS, help="number of cells")
    add("--first", type=int, default=0, help="number of the first cell")
    add("--cells-list", default="", help="these cells only, e.g. 3,17,44")
    add("--filter", default="", help='cells whose name contains this, e.g. "ovr", "hinge dense"')
    add("--seed", type=int, default=DEFAULT_SEED, help="seed of the design")
    add("--label", default=NOW, help="name of this set of results, e.g. before")
    add("--against", default="", help="another label that the report compares with")
    add("--again", action="store_true", help="measure cells again that were measured before")
    add("--minutes", type=float, default=float("inf"), help="stop after the cell that exceeds this")
    add("--cap", type=float, default=LONG_LIMIT, help="CPU seconds after which a solver gives up")
    add("--core", type=int, help="pin the fits to this core")
    add("--only-regret", action="store_true", help="skip the rivals")
    add("--rivals-only", action="store_true", help="skip the regret")
    add("--show", action="store_true", help="write and print the report, measure nothing")
    add("--findings", action="store_true", help="the cells in which auto was found to lose")
    return parser


def chosen(options: argparse.Namespace) -> Iterator[Any]:
    """Give the cells that the options name."""
    from .design import cell_at

    listed = [int(number) for number in options.cells_list.split(",") if number]
    for index in listed or range(options.first, options.first + options.cells):
        cell = cell_at(options.seed, index)
        if options.filter in cell.name:
            yield cell


def parts(options: argparse.Namespace) -> dict[str, Any]:
    """Give what is measured on each cell, by name: functions of (cell, X, y)."""
    from . import regret, rivals

    found: dict[str, Any] = {}
    if not options.rivals_only:
        found["regret"] = partial(regret.measure, core=options.core, long_limit=options.cap)
    if not options.only_regret:
        found["rivals"] = partial(rivals.measure, core=options.core)
    return found


def line(part: str, cell: Any, row: dict[str, Any]) -> str:
    """Describe what was measured."""
    if part == "regret":
        found = (
            f"auto {row['auto']:.3g} {row['auto_status']}, {row['best']} "
            f"{row['best_seconds']:.3g}, regret {row['regret']:.3g}"
        )
    else:
        found = (
            f"ours {row['ours']:.3g} {row['ours_status']}, {row['rival']} "
            f"{row['rival_seconds']:.3g}, ratio {row['ratio']:.3g} {row['note']}"
        )
    return f"{cell.index:5d} {cell.name}, {cell.shape}, C={cell.C:g}: {found}"


def walk(options: argparse.Namespace) -> None:
    """Measure the cells, with a bar that moves only between them."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from .data import generate
    from .store import Store

    measured = parts(options)
    stores = {part: Store(part, options.label) for part in measured}

    def missing(cell: Any) -> list[str]:
        return [part for part in measured if options.again or not stores[part].done(cell)]

    cells = [cell for cell in chosen(options) if missing(cell)]
    until = time.monotonic() + 60 * options.minutes
    text = TextColumn("{task.description}")
    # The bar's thread would take its turns on the core that is measured.
    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), text, auto_refresh=False
    ) as bar:
        task = bar.add_task("", total=len(cells))
        for cell in cells:
            if time.monotonic() > until:
                break
            bar.update(task, description=f"{cell.index}: {cell.name}, {cell.shape}", refresh=True)
            X, y = generate(cell)
            for part in missing(cell):
                row = stores[part].add(cell, measured[part](cell, X, y))
                bar.console.print(line(part, cell, row), highlight=False, soft_wrap=True)
            bar.advance(task)


def main() -> None:
    """Do what the options ask for."""
    import warnings

    from rich.console import Console

    options = arguments().parse_args()
    warnings.filterwarnings("ignore")
    console = Console()
    if options.findings:
        from . import findings

        if not options.show:
            for row in findings.take(options.label, options.core, options.filter, options.again):
                console.print(
                    f"{row['data']}, {row['problem']}: auto {row['auto']:.3g} "
                    f"{row['auto_status']}, {row.get('best')} {row.get('best_seconds')}, "
                    f"scikit-learn {row['scikit_learn']:.3g}",
                    highlight=False,
                    soft_wrap=True,
                )
        console.print(findings.report(), markup=False, highlight=False, soft_wrap=True)
        return
    from . import report
    from .store import Store

    if not options.show:
        walk(options)
    found = [Store(part, options.label).of([options.seed]) for part in ("regret", "rivals")]
    earlier = None
    if options.against:
        earlier = (options.against, Store("regret", options.against).of([options.seed]))
    text = report.write(*found, options.label, earlier)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # Thread counts are read when the libraries load, so the process starts over with them set.
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.atlas", *sys.argv[1:]])
    main()
