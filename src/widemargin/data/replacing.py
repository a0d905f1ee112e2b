"""Write a file in full or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; rename it to `path` if the block ends well.

    A device or a pipe (``/dev/stdout``) is written directly; a symbolic link stays one, its target
    is replaced; permissions stay as they were.

    Parameters
    ----------
    path : path-like
    text : bool
        Write str, as UTF-8 with plain newlines, instead of bytes.

    Yields
    ------
    file object
    """
    mode = "w" if text else "wb"
    options: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"} if text else {}
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a directory")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        with _named(path), open(path, mode, **options) as direct:
            yield direct
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {target.parent} to write {target.name} to")
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    # Not tempfile: its files are private (0600), and the renamed one would stay so.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with _named(path):
            with open(descriptor, mode, **options) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors of the system that have none: a full disk says so without a name."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise
