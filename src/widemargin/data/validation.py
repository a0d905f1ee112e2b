"""What comes in is checked here, once, before any work."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from widemargin.data.rows import Rows, as_rows_array

Vector = NDArray[np.float64]

_SMALLEST_COST, _LARGEST_COST = 1e-50, 1e50
"""Beyond these, squares of weights and dual variables leave the range of floating point."""


def validate_rows(estimator: Any, X: Any, y: Any) -> tuple[Rows, Any]:
    """Return the data as rows, and y as an array; X is not copied where its layout allows it.

    Finiteness is read off a sum of squares; only if that is not finite does scikit-learn's own
    check run, for its message.
    """
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "accept_large_sparse": True,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": False,
    }
    if not _is_plain_column(y):
        X, y = validate_data(estimator, X, y, **options)
    else:
        # What is as it should be needs none of the checks that cost more than a small fit.
        if _is_plain_matrix(X):
            estimator.n_features_in_ = X.shape[1]
            if hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
        else:
            X = validate_data(estimator, X, **options)
        check_consistent_length(X, y)
    X = as_rows_array(X)
    rows = Rows.of(X)
    if not rows.is_finite():
        assert_all_finite(X, input_name="X", estimator_name=type(estimator).__name__)
        worst = int(np.argmax(~np.isfinite(rows.norms)))
        raise ValueError(
            f"row {worst} of X is so long that its squared norm overflows; scale the features"
        )
    return rows, y


def _is_plain_column(y: Any) -> bool:
    """Whether y is an array of finite numbers, one an example."""
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biuf":
        return False
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def _is_plain_matrix(X: Any) -> bool:
    """Whether X is an array or a CSR matrix of floats with at least one row and one column."""
    if type(X) not in (np.ndarray, sp.csr_matrix, sp.csr_array) or X.ndim != 2:
        return False
    return X.dtype in (np.float64, np.float32) and min(X.shape) > 0


def plain(label: Any) -> Any:
    """Return a label as Python's own type, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def encode_labels(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes in sorted order and each example's place among them.

    Two classes, the common case, are told apart by comparing instead of sorting.
    """
    y = np.asarray(y)
    pair = _two_values(y)
    if pair is None:
        if y.dtype == object:
            kinds = sorted({type(label).__name__ for label in y})
            if len(kinds) > 1:
                raise ValueError(f"y has labels of different types, {' and '.join(kinds)}")
        classes, codes = np.unique(y, return_inverse=True)
    else:
        classes = pair
        codes = (y == classes[-1]).view(np.int8)
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
    given = np.asarray(sample_weight)
    try:
        if given.dtype.kind not in "biufO":
            raise TypeError
        weight: Vector = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numbers") from None
    if weight.ndim == 0:
        weight = np.full(count, float(weight))
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
    factor = np.ones(codes.size) if sample_weight is None else sample_weight
    if class_weight is not None:
        factor = factor * _class_weights(class_weight, classes, codes, factor)[codes]
    cost = C * factor
    largest, smallest = float(cost.max()), float(np.min(cost, where=cost > 0.0, initial=np.inf))
    if not (largest <= _LARGEST_COST and smallest >= _SMALLEST_COST):
        raise ValueError(
            f"C times the weights must lie between {_SMALLEST_COST:g} and {_LARGEST_COST:g} where "
            f"it is not zero; it goes from {smallest:g} to {largest:g}"
        )
    return cost


def check_every_class(classes: NDArray[Any], codes: NDArray[Any], cost: Vector) -> None:
    """Refuse costs that leave a class without any example."""
    for place, label in enumerate(classes):
        if not cost[codes == place].any():
            raise ValueError(f"every example of class {plain(label)!r} has weight zero")


def _class_weights(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[Any], sample_weight: Vector
) -> Vector:
    if isinstance(class_weight, str) and class_weight == "balanced":
        # By weight, so that a weight of 2 means a row given twice here too.
        share = np.bincount(codes, sample_weight, minlength=classes.size) * classes.size
        return np.divide(sample_weight.sum(), share, out=np.zeros_like(share), where=share > 0.0)
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}")
    known = {plain(label): place for place, label in enumerate(classes)}
    weights = np.ones(classes.size)
    for label, value in class_weight.items():
        if plain(label) not in known:
            raise ValueError(f"class_weight names a class that is not in y: {plain(label)!r}")
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not number or not np.isfinite(value):
            raise ValueError(
                f"class_weight must be a finite number; for {plain(label)!r} it is {value!r}"
            )
        if value < 0.0:
            raise ValueError(f"class_weight must not be negative; it is for {plain(label)!r}")
        weights[known[plain(label)]] = float(value)
    return weights
