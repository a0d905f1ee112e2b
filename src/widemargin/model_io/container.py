r"""The container of the package's own model files: a header, arrays and a checksum, no code.

=================  ============================================================================
8 bytes            ``\x89WIDEMG\n``
4 bytes            schema number, little-endian; every schema keeps these first twelve bytes
4 bytes            length h of the header
8 bytes            length of the whole file
h bytes            header: JSON in UTF-8, padded with blanks so that the arrays start at a
                   multiple of 64
arrays             raw, little-endian, C order, in the order of the header's ``arrays``
32 bytes           SHA-256 of everything before
=================  ============================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.replacing import replacing
from widemargin.model_io.errors import ModelFormatError

MAGIC = b"\x89WIDEMG\n"
SCHEMA = 1

_PREAMBLE = struct.Struct("<8sIIQ")
_DIGEST = 32
_ALIGNMENT = 64
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")

Arrays = dict[str, NDArray[Any]]


def write_container(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays under a temporary name, then rename the file."""
    arrays = {name: _little_endian(name, array, path) for name, array in arrays.items()}
    entries = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]
    text = json.dumps({**header, "arrays": entries}, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-(_PREAMBLE.size + len(text)) % _ALIGNMENT)
    size = _PREAMBLE.size + len(text) + sum(a.nbytes for a in arrays.values()) + _DIGEST
    digest = hashlib.sha256()
    with replacing(path) as file:
        parts: list[Any] = [_PREAMBLE.pack(MAGIC, SCHEMA, len(text), size), text]
        for part in (*parts, *map(np.ascontiguousarray, arrays.values())):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file, or raise `ModelFormatError`."""
    with open(path, "rb") as file:
        start = file.read(_PREAMBLE.size)
        actual = os.fstat(file.fileno()).st_size
        reason = _preamble_fault(start, actual)
        if reason is not None:
            raise ModelFormatError(path, reason)
        content = start + file.read()
    body = memoryview(content)[:-_DIGEST]
    if hashlib.sha256(body).digest() != content[-_DIGEST:]:
        raise ModelFormatError(path, "the file is corrupt: its checksum does not match")
    length = _PREAMBLE.unpack(start)[2]
    body = body[_PREAMBLE.size :]
    try:
        header = json.loads(bytes(body[:length]).decode())
        return header, _arrays(header.pop("arrays"), body[length:])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFormatError(path, f"the file's content is invalid: {error}") from error


def _preamble_fault(start: bytes, actual: int) -> str | None:
    """Say what is wrong with a file of `actual` bytes that starts so, or None."""
    if not start or start[: len(MAGIC)] != MAGIC[: len(start)]:
        hint = "; load_liblinear reads LIBLINEAR's" if start.startswith(b"solver_type") else ""
        return f"this is not a widemargin model{hint}"
    schema = struct.unpack_from("<I", start, 8)[0] if len(start) >= 12 else SCHEMA
    if schema != SCHEMA:
        hint = ": install a newer one" if schema > SCHEMA else ""
        return f"the model has schema {schema}; this widemargin reads schema {SCHEMA}{hint}"
    if len(start) < _PREAMBLE.size:
        return f"the file is truncated: it ends after {actual} bytes"
    _, _, header_length, size = _PREAMBLE.unpack(start)
    if actual < size:
        return f"the file is truncated: it has {actual} of {size} bytes"
    if actual > size or size < _PREAMBLE.size + header_length + _DIGEST:
        return f"the file is corrupt: it should have {size} bytes and has {actual}"
    return None


def _arrays(entries: Any, body: memoryview) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    position = 0
    for entry in entries:
        name, dtype, shape = entry["name"], entry["dtype"], entry["shape"]
        if dtype not in _DTYPES or any(not isinstance(n, int) or n < 0 for n in shape):
            raise ValueError(f"array {name!r} of {dtype!r}, shape {shape}")
        end = position + math.prod(shape) * np.dtype(dtype).itemsize
        if end > len(body):
            raise ValueError(f"array {name!r} does not fit into the file")
        arrays[name] = np.frombuffer(body[position:end], dtype=dtype).reshape(shape)
        position = end
    if position != len(body):
        raise ValueError("bytes are left over")
    return arrays


def _little_endian(name: str, array: NDArray[Any], path: str | os.PathLike[str]) -> NDArray[Any]:
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in _DTYPES:
        raise ModelFormatError(path, f"{name} of type {array.dtype} cannot be saved")
    return array
