"""``widemargin train | tune | predict | certify | convert | bench | demo``: arguments to code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from widemargin.cli import bench, certify, convert, demo, predict, train, tune

OK, NOT_REACHED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all well; tolerance not reached, answer written; bad usage or input; interrupted
with nothing written."""

_CODES = """\
exit codes: 0 all well; 1 the tolerance was not reached or a search was cut short (the answer is
written all the same); 2 bad usage or bad input; 130 interrupted with nothing written."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    top = argparse.ArgumentParser(
        prog="widemargin",
        description="Large-margin linear classifiers, trained fast and returned with a proof.",
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    try:
        number = version("widemargin")
    except PackageNotFoundError:
        number = "unknown"
    top.add_argument("--version", action="version", version=f"widemargin {number}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for module in (train, tune, predict, certify, convert, bench, demo):
        module.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit code.
    """
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has said what it had to say
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        return _say("interrupted; nothing was written", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has closed it; a second complaint at exit helps nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except (ValueError, OSError, ImportError, MemoryError) as error:
        if os.environ.get("WIDEMARGIN_TRACEBACK", "") not in ("", "0"):
            raise
        return _say(_one_line(error), BAD_INPUT)


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"widemargin: {message}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
