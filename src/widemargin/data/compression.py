"""Files compressed by gzip, bzip2 or xz, recognised by suffix or by their first bytes."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from widemargin.data.replacing import replacing


class Compression(NamedTuple):
    """One way to compress a file."""

    name: str
    suffix: str
    signature: bytes
    open: Callable[..., Any]


COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b", gzip.open),
    Compression("bzip2", ".bz2", b"BZh", bz2.open),
    Compression("xz", ".xz", b"\xfd7zXZ\x00", lzma.open),
)
READ_ERRORS = (EOFError, OSError, lzma.LZMAError, zlib.error)
"""What reading a truncated or corrupt compressed file raises."""


def compression_named(path: str | os.PathLike[str]) -> Compression | None:
    """Return the compression that a file name ends in, or None."""
    name = os.fspath(path).lower()
    return next((one for one in COMPRESSIONS if name.endswith(one.suffix)), None)


def compression_of(start: bytes) -> Compression | None:
    """Return the compression that a file's first bytes show, or None."""
    return next((one for one in COMPRESSIONS if start.startswith(one.signature)), None)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` on success, compressed if its name says so."""
    compression = compression_named(path)
    with replacing(path) as file:
        if compression is None:
            yield file
        else:
            with compression.open(file, "wb") as compressed:
                yield compressed
