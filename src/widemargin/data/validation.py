"""What comes in is checked here, once, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from widemargin.data.rows import Rows, as_rows_array

Vector = NDArray[np.float64]


def validate_rows(estimator: Any, X: Any, y: Any) -> tuple[Rows, Any]:
    """Return the data as rows, and y as an array; X is not copied where its layout allows it.

    Finiteness is read off the squared norms, which are needed anyway; only if one is not finite
    does scikit-learn's own check run, for its message.
    """
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
    )
    X = as_rows_array(X)
    rows = Rows.of(X)
    if not np.isfinite(rows.norms.sum()):
        assert_all_finite(X, input_name="X", estimator_name=type(estimator).__name__)
        worst = int(np.argmax(~np.isfinite(rows.norms)))
        raise ValueError(
            f"row {worst} of X is so long that its squared norm overflows; scale the features"
        )
    return rows, y


def encode_labels(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes in sorted order and each example's place among them.

    Two classes, the common case, are told apart by comparing instead of sorting.
    """
    y = np.asarray(y)
    pair = _two_values(y)
    if pair is None:
        classes, codes = np.unique(y, return_inverse=True)
    else:
        classes = pair
        codes = (y == classes[-1]).view(np.int8)
    # What kind of target it is depends on the values that occur, not on how often.
    check_classification_targets(classes)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {classes[0]!r}"
        )
    return classes, codes


def _two_values(y: NDArray[Any]) -> NDArray[Any] | None:
    """Return the two values that occur, sorted, or None if there are not exactly two."""
    if y.dtype.kind not in "biuf" or y.size == 0:
        return None
    first = y == y[0]
    others = np.flatnonzero(~first)
    if others.size == 0:
        return None
    second = y[others[0]]
    if not np.all(first | (y == second)):
        return None
    return np.array(sorted([y[0], second]), dtype=y.dtype)


def check_sample_weight(sample_weight: Any, count: int) -> Vector | None:
    """Return the weights as float64, or None for all ones."""
    if sample_weight is None:
        return None
    weight: Vector
    if np.isscalar(sample_weight):
        weight = np.full(count, float(sample_weight))  # type: ignore[arg-type]
    else:
        weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be one-dimensional, got shape {weight.shape}")
    if weight.size != count:
        raise ValueError(f"sample_weight has length {weight.size}, but X has {count} rows")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if (weight < 0.0).any():
        raise ValueError(
            f"sample_weight must not be negative; entry {int(np.argmax(weight < 0.0))} is "
            f"{weight[np.argmax(weight < 0.0)]:g}"
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row")
    return weight


def class_costs(
    C: float,
    classes: NDArray[Any],
    codes: NDArray[Any],
    class_weight: Any,
    sample_weight: Vector | None,
) -> Vector:
    """Return c_i = C · sample weight · class weight."""
    check_consistent_length(codes, sample_weight)
    if class_weight is None:
        cost = np.full(codes.size, C)
    else:
        if isinstance(class_weight, dict):
            unknown = [key for key in class_weight if key not in classes]
            if unknown:
                raise ValueError(f"class_weight names a class that is not in y: {unknown[0]!r}")
            negative = [key for key, value in class_weight.items() if not value >= 0.0]
            if negative:
                raise ValueError(f"class_weight must not be negative; it is for {negative[0]!r}")
        weights = compute_class_weight(class_weight, classes=classes, y=classes[codes])
        cost = C * weights[codes]
    return cost if sample_weight is None else cost * sample_weight
