"""What the commands print: tables or JSON on stdout, notes on stderr."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


class Output:
    """Prints what the options ask for."""

    def __init__(self, options: argparse.Namespace, *, tables_on_stderr: bool = False) -> None:
        self._options = options
        self.json: bool = options.json
        self.quiet: bool = options.quiet
        self.verbose: bool = getattr(options, "verbose", False)
        self._tables_on_stderr = tables_on_stderr

    @property
    def shows_progress(self) -> bool:
        """Whether to show a status line on stderr."""
        return not (self.quiet or self.json or self.verbose) and sys.stderr.isatty()

    def note(self, message: str) -> None:
        """Print a note on stderr."""
        if not self.quiet:
            sys.stderr.write(f"widemargin: {message}\n")

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        title: str | None = None,
        text_columns: int = 1,
        bars: bool = False,
    ) -> None:
        """Print a table; the first `text_columns` and a last column of bars are left-aligned."""
        if self.quiet or self.json:
            return
        from rich.table import Table

        table = Table(title=title, title_justify="left", show_header=any(columns))
        for place, name in enumerate(columns):
            left = place < text_columns or (bars and place == len(columns) - 1)
            table.add_column(name, justify="left" if left else "right", overflow="fold")
        for row in rows:
            table.add_row(*(show(cell) for cell in row))
        self._console().print(table)

    def text(self, message: str) -> None:
        """Print a paragraph."""
        if not (self.quiet or self.json):
            self._console().print(message, highlight=False, markup=False, soft_wrap=True)

    def result(self, *options: str, **content: Any) -> None:
        """Print the command, some of its options and the result as JSON, if asked for."""
        if self.json:
            given = {name: getattr(self._options, name) for name in ("command", *options)}
            sys.stdout.write(json.dumps(_plain(given | content), allow_nan=False) + "\n")

    def _console(self) -> Console:
        from rich.console import Console

        stream = sys.stderr if self._tables_on_stderr else sys.stdout
        # A pipe has no width of its own.
        return Console(file=stream, width=None if stream.isatty() else 160)


def show(cell: Any) -> str:
    """Return a cell as text, numbers with ten digits."""
    from rich.markup import escape

    if isinstance(cell, bool | int) or cell is None:
        return "" if cell is None else f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.10g}"
    return escape(str(cell))


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.2f} %"


def label_text(label: Any) -> str:
    """Return a class label as text: 1 rather than 1.0."""
    if isinstance(label, float) and label.is_integer() and abs(label) < 2**53:
        return str(int(label))
    return repr(label) if isinstance(label, float) else str(label)


def _plain(value: Any) -> Any:
    """Return nested content with Python's own types, and None for NaN and infinity."""
    if isinstance(value, dict):
        return {str(key): _plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(content) for content in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
