"""Classes and their weights as model files have them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.model_io.container import Arrays
from widemargin.model_io.errors import ModelFormatError


def classes_out(
    classes: NDArray[Any], header: dict[str, Any], arrays: Arrays, path: str | os.PathLike[str]
) -> None:
    """Put classes into the arrays if they are numbers, or into the header if they are strings."""
    if classes.dtype.kind in "UO":
        values = classes.tolist()
        if not all(isinstance(value, str) for value in values):
            raise ModelFormatError(path, "classes must be all numbers or all strings to be saved")
        header["classes"] = values
        header["classes_are_objects"] = classes.dtype.kind == "O"
    else:
        arrays["classes"] = classes


def classes_in(header: dict[str, Any], arrays: Arrays) -> NDArray[Any]:
    """Take the classes out of a header or its arrays."""
    as_objects = header.pop("classes_are_objects", False)
    classes = header.pop("classes", None)
    if classes is None:
        native = arrays.pop("classes")
        return native.astype(native.dtype.newbyteorder("="))
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ValueError("classes are neither numbers nor strings")
    return np.array(classes, dtype=object if as_objects else str)


def weights_out(weights: Any, path: str | os.PathLike[str]) -> Any:
    """Return pairs instead of a dict: JSON's keys are strings, labels may be numbers."""
    if not isinstance(weights, dict):
        return weights
    labels = [key.item() if isinstance(key, np.generic) else key for key in weights]
    if not all(isinstance(label, str | int | float) for label in labels):
        raise ModelFormatError(path, "class_weight must name classes by number or string")
    return [[label, float(weight)] for label, weight in zip(labels, weights.values(), strict=True)]


def weights_in(weights: Any) -> Any:
    """Undo `weights_out`."""
    return dict(weights) if isinstance(weights, list) else weights
