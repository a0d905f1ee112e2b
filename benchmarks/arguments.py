"""Command lines of scripts that take names, or nothing, and answer ``--help``."""

from __future__ import annotations

import argparse


def no_arguments(about: str | None) -> None:
    """Parse a command line without arguments."""
    _parser(about).parse_args()


def names_asked_for(about: str | None, word: str, known: tuple[str, ...] = ()) -> list[str]:
    """Return the names on the command line, an empty list for all; refuse those not known."""
    parser = _parser(about)
    listed = f": {', '.join(known)}" if known else ""
    parser.add_argument(word, nargs="*", help=f"default: all{listed}")
    names: list[str] = getattr(parser.parse_args(), word)
    unknown = [name for name in names if known and name not in known]
    if unknown:
        parser.error(f"unknown {word}: {', '.join(unknown)}; known: {', '.join(known)}")
    return names


def _parser(about: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
