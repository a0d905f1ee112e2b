"""The command line: ``widemargin train``, ``tune``, ``predict``, ``certify`` and others."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from widemargin.cli import (
    bench,
    certify,
    convert,
    demo,
    one_class,
    predict,
    report,
    scores,
    sequences,
    train,
    tune,
)
from widemargin.cli.parser import Parser
from widemargin.cli.written import forget, written

OK, NOT_REACHED, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: success; tolerance not reached or interrupted, answer written; bad usage or input;
an error of the program itself; interrupted with nothing written."""

_CODES = """\
exit codes: 0 success; 1 the tolerance was not reached, or the work was stopped early (the answer is
written anyway); 2 bad usage, bad input, or not enough memory or disk; 3 an error in widemargin
itself; 130 interrupted with nothing written."""


_COMMANDS = {
    "train": train,
    "tune": tune,
    "predict": predict,
    "certify": certify,
    "report": report,
    "convert": convert,
    "bench": bench,
    "demo": demo,
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = Parser(
        prog="widemargin",
        description="Train large-margin linear classifiers fast, with a certificate of optimality.",
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    try:
        number = version("widemargin")
    except PackageNotFoundError:
        number = "unknown"
    top.add_argument("--version", action="version", version=f"widemargin {number}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for module in _COMMANDS.values():
        module.add_to(commands)
    for module in (sequences, scores, one_class):  # reached by train --task
        module.add_to(commands)
    return top


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command, also one in LIBLINEAR's spelling."""
    words = list(arguments)
    if words and not words[0].startswith("-") and words[0] not in _COMMANDS:
        parser().error(f"there is no command {words[0]!r}; there are {', '.join(_COMMANDS)}")
    if words[:1] == ["train"] and "--liblinear" in words:
        from widemargin.cli.liblinear_train import translate

        ours, notes = translate([word for word in words[1:] if word != "--liblinear"])
        for note in notes:
            _say(note, OK)
        words = ours
    return parser().parse_args(sequences.asked_for(words))


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
        options = parsed(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as stop:  # argparse has already printed the reason
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    forget()
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        files = written()
        if files:
            return _say(f"interrupted after {' and '.join(files)} had been written", NOT_REACHED)
        return _say("interrupted; nothing was written", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has closed it; do not complain a second time at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except Exception as error:
        if options.debug or os.environ.get("WIDEMARGIN_TRACEBACK", "") not in ("", "0"):
            traceback.print_exc()
        return _refused(error, arguments is None)


def _refused(error: Exception, own_process: bool) -> int:
    """Say in one line what went wrong; return the exit code."""
    if own_process and isinstance(error, MemoryError):
        _leave(_say(_one_line(error), BAD_INPUT))
    if isinstance(error, ValueError | OSError | ImportError | MemoryError):
        return _say(_one_line(error), BAD_INPUT)
    files = written()
    return _say(
        f"internal error: {type(error).__name__}: {_one_line(error)}"
        + (f"; {' and '.join(files)} had been written" if files else "")
        + "; this is a bug in widemargin: please report it, with the output of --debug",
        INTERNAL,
    )


def _leave(code: int) -> None:
    """End the process at once: modules that had no memory to load may crash as Python ends."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"widemargin: {message}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
