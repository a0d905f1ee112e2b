r"""The package's own model format: one file that contains no code and is fully checked.

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
from widemargin.estimators.linear_scores import LinearScores
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.model import LinearModel, model_of
from widemargin.problems.calibration import Calibration

MAGIC = b"\x89WIDEMG\n"
SCHEMA = 1

_PREAMBLE = struct.Struct("<8sIIQ")
_DIGEST = 32
_ALIGNMENT = 64
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")


def save_model(model: LinearScores | LinearModel, path: str | os.PathLike[str]) -> None:
    """Write a model in the package's own format.

    The file is written under a temporary name and renamed, so that no reader sees half of it.

    Parameters
    ----------
    model : LinearModel, or a fitted LinearSVC, LogisticRegression or RobustSVC
    path : path-like

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVC
    >>> from widemargin.model_io import load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     save_model(LinearSVC().fit(X, y), path)
    ...     load_model(path).loss
    'squared_hinge'
    """
    model = model_of(model)
    header, arrays = _contents(model, path)
    header["arrays"] = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-(_PREAMBLE.size + len(text)) % _ALIGNMENT)
    size = _PREAMBLE.size + len(text) + sum(a.nbytes for a in arrays.values()) + _DIGEST
    digest = hashlib.sha256()
    with replacing(path) as file:
        parts: list[Any] = [_PREAMBLE.pack(MAGIC, SCHEMA, len(text), size), text]
        for part in (*parts, *map(np.ascontiguousarray, arrays.values())):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())


def _contents(
    model: LinearModel, path: str | os.PathLike[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a model's file."""
    arrays: dict[str, NDArray[Any]] = {"coef": model.coef, "intercept": model.intercept}
    if model.primal is not None and model.dual is not None:
        arrays |= {"primal": model.primal, "dual": model.dual}
    header: dict[str, Any] = {
        "loss": model.loss,
        "C": model.C,
        "intercept_kind": model.intercept_kind,
        "intercept_scaling": model.intercept_scaling,
        "class_weight": _weights_out(model.class_weight, path),
        "status": list(model.status),
        "solver": model.solver,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "version": model.version,
    }
    if model.multi_class != "ovr":
        header["multi_class"] = model.multi_class
    if model.calibration is not None:
        header["calibration"] = model.calibration.method
        arrays["calibration_values"] = model.calibration.values
        arrays["calibration_lengths"] = np.asarray(model.calibration.lengths, dtype=np.int64)
    if model.classes.dtype.kind in "UO":
        values = model.classes.tolist()
        if not all(isinstance(value, str) for value in values):
            raise ModelFormatError(path, "classes must be all numbers or all strings to be saved")
        header["classes"] = values
        header["classes_are_objects"] = model.classes.dtype.kind == "O"
    else:
        arrays["classes"] = model.classes
    return header, {name: _little_endian(name, array, path) for name, array in arrays.items()}


def load_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LinearModel

    Raises
    ------
    ModelFormatError
        If the file is not a model, has a newer schema, is truncated or corrupt.
    """
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
    try:
        return _parse(body[_PREAMBLE.size :], _PREAMBLE.unpack(start)[2])
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


def _parse(body: memoryview, header_length: int) -> LinearModel:
    header = json.loads(bytes(body[:header_length]).decode())
    arrays = _arrays(header.pop("arrays"), body[header_length:])
    as_objects = header.pop("classes_are_objects", False)
    classes = header.pop("classes", None)
    if classes is None:
        native = arrays.pop("classes")
        classes = native.astype(native.dtype.newbyteorder("="))
    elif not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ValueError("classes are neither numbers nor strings")
    else:
        classes = np.array(classes, dtype=object if as_objects else str)
    names, method = header.pop("feature_names"), header.pop("calibration", None)
    tables = [arrays.pop(f"calibration_{name}", None) for name in ("values", "lengths")]
    return LinearModel(
        **arrays,  # type: ignore[arg-type]
        classes=classes,
        class_weight=_weights_in(header.pop("class_weight")),
        status=tuple(header.pop("status")),
        feature_names=None if names is None else tuple(names),
        calibration=None if method is None else Calibration(method, *map(np.array, tables)),
        **header,
    )


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


def _weights_out(weights: Any, path: str | os.PathLike[str]) -> Any:
    """Return pairs instead of a dict: JSON's keys are strings, labels may be numbers."""
    if not isinstance(weights, dict):
        return weights
    labels = [key.item() if isinstance(key, np.generic) else key for key in weights]
    if not all(isinstance(label, str | int | float) for label in labels):
        raise ModelFormatError(path, "class_weight must name classes by number or string")
    return [[label, float(weight)] for label, weight in zip(labels, weights.values(), strict=True)]


def _weights_in(weights: Any) -> Any:
    return dict(weights) if isinstance(weights, list) else weights


def _little_endian(name: str, array: NDArray[Any], path: str | os.PathLike[str]) -> NDArray[Any]:
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in _DTYPES:
        raise ModelFormatError(path, f"{name} of type {array.dtype} cannot be saved")
    return array
