"""Labels as classes and places among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets


def plain(label: Any) -> Any:
    """Return a label as Python's own type, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def encode_labels(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes in sorted order and each example's place among them.

    Two classes, the common case, are told apart by comparing instead of sorting.
    """
    y = np.asarray(y)
    pair = _two_classes(y)
    if pair is not None:
        classes, codes = pair
    else:
        if y.dtype == object:
            kinds = sorted({type(label).__name__ for label in y})
            if len(kinds) > 1:
                raise ValueError(f"y has labels of different types, {' and '.join(kinds)}")
        classes, codes = np.unique(y, return_inverse=True)
    # What kind of target it is depends on the values that occur, not on how often; whole numbers
    # and strings are classes whatever they are.
    whole = classes.dtype.kind == "f" and bool(np.all(classes == np.rint(classes)))
    if not whole and classes.dtype.kind not in "biuUS":
        check_classification_targets(classes)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {plain(classes[0])!r}"
        )
    return classes, codes


def different_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the classes in sorted order; two numbers are found without sorting."""
    pair = _two_classes(y)
    return np.unique(y) if pair is None else pair[0]


def _two_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return what `encode_labels` does, or None if there are not exactly two numbers."""
    if y.dtype.kind not in "biuf" or y.size == 0:
        return None
    ends = np.array([np.minimum.reduce(y), np.maximum.reduce(y)])
    last = y == ends[1]
    first = y == ends[0]
    # By counts, which take much less time than to look through a third array.
    if ends[0] == ends[1] or np.count_nonzero(first) + np.count_nonzero(last) != y.size:
        return None
    return ends, last.view(np.int8)


def places(y: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return each label's place among given classes."""
    codes = np.full(y.size, -1, dtype=np.intp)
    for place, label in enumerate(classes):
        codes[y == label] = place
    if (codes < 0).any():
        stranger = plain(y[int(np.argmax(codes < 0))])
        text = f"{stranger:g}" if isinstance(stranger, float) else f"{stranger!r}"
        raise ValueError(f"the data have the label {text}, which the model does not know")
    return codes
