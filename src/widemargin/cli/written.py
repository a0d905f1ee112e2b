"""Which of the files that a command was asked for are there: said when it is cut short.

A file appears under its name by a rename. Its identity before the work and now tell whether that
has happened, whichever instant an interrupt or an error falls on.
"""

from __future__ import annotations

import os

_before: dict[str, tuple[int, int, int] | None] = {}


def expect(path: str) -> None:
    """Remember a file that the command will write."""
    _before[path] = _identity(path)


def forget() -> None:
    """Start a new command."""
    _before.clear()


def written() -> list[str]:
    """Return the expected files that have been written."""
    return [path for path, before in _before.items() if _identity(path) != before]


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns
