"""Progress of a fit on stderr: a status line on a terminal, or one line per check."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from widemargin.cli.output import Output

if TYPE_CHECKING:
    from widemargin.run import Record

FitCallback = Callable[[str, "Record"], object]


def _describe(title: str, record: Record) -> str:
    return (
        f"{title}: {record.method}, iteration {record.iteration}, primal {record.primal:.8g}, "
        f"gap {record.relative_gap:.1e}, {record.active} active, {record.seconds:.1f} s"
    )


@contextlib.contextmanager
def following(
    output: Output, tol: float, titled: Callable[[str], str] = str
) -> Iterator[FitCallback | None]:
    """Yield the callback that shows the progress of a fit, or None if it is not wanted.

    `titled` says what is shown for the title of a run.
    """
    if output.verbose and not output.quiet:
        yield (
            lambda title, record: sys.stderr.write(_describe(titled(title), record) + "\n") and None
        )
    elif output.shows_progress:
        from rich.console import Console

        with Console(stderr=True).status(f"training to a gap of {tol:g}") as status:
            yield lambda title, record: status.update(_describe(titled(title), record))
    else:
        yield None


@contextlib.contextmanager
def reading(path: str, options: argparse.Namespace) -> Iterator[Callable[[int], None]]:
    """Show a bar in bytes while data are parsed into a cache, on a terminal."""
    quiet = getattr(options, "quiet", False) or getattr(options, "json", False)
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(os.path.basename(path), total=os.path.getsize(path))
        yield lambda done: progress.update(task, completed=done)
