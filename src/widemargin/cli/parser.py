"""An argument parser whose options stand anywhere among the file names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """Take options before, between and after file names; take no abbreviation for an option."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        super().__init__(*args, **settings)
        self._within = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; see `argparse.ArgumentParser.parse_known_intermixed_args`."""
        # That method calls this one for each of its passes; commands are found in one.
        if self._within or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._within = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._within = False


class Items(argparse.Action):
    """A list separated by commas; the option may also be given several times.

    The values that follow it are file names, never further items.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add the items of one value."""
        before = getattr(namespace, self.dest, None) or []
        setattr(namespace, self.dest, [*before, *values])


def items(text: str) -> list[str]:
    """Parse a list of words."""
    return [item for item in text.split(",") if item]
