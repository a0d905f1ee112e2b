"""Progress bars on standard error."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, TypeVar

from widemargin.run import Record

Entered = TypeVar("Entered", bound="Bar")


class Bar:
    """Shows a bar of rich's while its context is entered."""

    _progress: Any

    def __enter__(self: Entered) -> Entered:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()


class ProgressBar(Bar):
    """Show how far the relative gap has fallen towards the tolerance, on a logarithmic scale.

    One bar a problem; it appears with the first record, so short fits show none for long.
    """

    def __init__(self, titles: list[str], tol: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._tol = tol
        self._titles = titles
        self._starts: dict[int, float] = {}
        self._tasks: dict[int, int] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("gap {task.fields[gap]:.1e} -> {task.fields[tol]:.0e}"),
            TextColumn("{task.fields[method]}, {task.fields[active]} active"),
            TimeElapsedColumn(),
            # Standard output belongs to the program that trains.
            console=Console(stderr=True),
        )

    def update(self, place: int, record: Record) -> None:
        """Draw one record."""
        gap = max(record.relative_gap, 1e-16)
        start = self._starts.setdefault(place, max(gap, 10 * self._tol))
        share = math.log(start / gap) / math.log(start / self._tol) if gap < start else 0.0
        if place not in self._tasks:
            self._tasks[place] = self._progress.add_task(
                self._titles[place], total=1.0, gap=gap, tol=self._tol, method="", active=0
            )
        self._progress.update(
            self._tasks[place],
            completed=min(max(share, 0.0), 1.0),
            gap=gap,
            method=record.method,
            active=record.active,
        )
