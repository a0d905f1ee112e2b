"""What comes in is checked once, before any work: arrays and numbers, one sentence a refusal."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array, check_X_y
from sklearn.utils.validation import check_consistent_length, validate_data

from widemargin.data.block_work import Threads
from widemargin.data.blocks import cuts_of, rows_of_block
from widemargin.data.rows import Rows, as_rows_array
from widemargin.instruction_sets import core

_ALLOWED: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}

_MOST_FEATURES = 2**47
"""A weight vector of this length takes all the memory that a processor of today can address."""


def validate_rows(estimator: Any, X: Any, y: Any, threads: int = 1) -> tuple[Any, Rows, Any]:
    """Return X in the layout that rows need, the rows, and y as an array.

    X is not copied where its layout allows it. Finiteness is read off a sum of squares; only if
    that is not finite does scikit-learn's own check run, for its message.

    Parameters
    ----------
    estimator : estimator or None
        Gets the number and the names of the features, and is named in messages.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    threads : int
        That look for values that are not finite.
    """
    if getattr(X, "format", "csr") != "csr":
        check_consistent(X)  # before it is converted; the row view checks a CSR matrix itself
    if not _is_plain_column(y):
        if estimator is None:
            X, y = check_X_y(X, y, **_ALLOWED)
        else:
            X, y = validate_data(estimator, X, y, **_ALLOWED)
    else:
        # Plain arrays need none of the checks that cost more than a small fit.
        X = _checked(estimator, X)
        if X.shape[0] != y.shape[0]:
            check_consistent_length(X, y)
    return *_viewed(estimator, X, threads), y


def validate_new_rows(estimator: Any, X: Any) -> Any:
    """Return rows to score, checked as those of the fit were and as wide as they."""
    check_consistent(X)
    return validate_data(
        estimator,
        X,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        reset=False,
    )


def validate_unlabelled(estimator: Any, X: Any) -> tuple[Any, Rows]:
    """Return X in the layout that rows need, and the rows, as `validate_rows` does."""
    if getattr(X, "format", "csr") != "csr":
        check_consistent(X)
    return _viewed(estimator, _checked(estimator, X))


def _checked(estimator: Any, X: Any) -> Any:
    """Return X as scikit-learn checks it; plain matrices are told from their attributes."""
    if not _is_plain_matrix(X):
        known = estimator is not None
        return validate_data(estimator, X, **_ALLOWED) if known else check_array(X, **_ALLOWED)
    if estimator is not None:
        estimator.n_features_in_ = X.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    return X


def _viewed(estimator: Any, X: Any, threads: int = 1) -> tuple[Any, Rows]:
    """Return a validated X in the layout that rows need, and the rows."""
    if X.shape[1] > _MOST_FEATURES:
        raise ValueError(f"X has {X.shape[1]} features: weights for them fit into no memory")
    X = as_rows_array(X)
    rows = Rows.of(X, threads=threads)
    if not _is_finite(rows, threads):
        _refuse(X, rows, None if estimator is None else type(estimator).__name__)
    return X, rows


def _is_finite(rows: Rows, threads: int) -> bool:
    """Return what `Rows.is_finite` does; threads share long columns."""
    if threads == 1 or rows.weights > rows.count:
        return rows.is_finite()
    cuts = cuts_of(rows.count, rows_of_block(rows.array))
    totals = np.empty(cuts.size - 1)

    def add(place: int) -> None:
        totals[place] = rows.view.total_squared_norm(int(cuts[place]), int(cuts[place + 1]))

    Threads(threads).each(totals.size, add)
    return bool(np.isfinite(totals.sum()))


def _refuse(X: Any, rows: Rows, estimator_name: str | None) -> NoReturn:
    """Say which values are not finite, or whose squares overflow."""
    assert_all_finite(X, input_name="X", estimator_name=estimator_name)
    long = np.flatnonzero(~np.isfinite(rows.norms))
    if long.size:
        raise ValueError(
            f"row {long[0]} of X is so long that its squared norm overflows; scale the features"
        )
    raise ValueError("the sum of squares of X overflows; scale the features")


def check_consistent(X: Any) -> None:
    """Raise an error if pointers or indices of a sparse matrix are out of range, in one pass.

    Nothing else does: scipy and scikit-learn take them on trust, and read what is not there.
    """
    if not sp.issparse(X) or not hasattr(X, "check_format"):
        return
    try:
        X.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"X is not a consistent sparse matrix: {error}") from None


def _is_plain_column(y: Any) -> bool:
    """Whether y is an array of finite numbers, one per example."""
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biuf":
        return False
    if y.dtype == np.float64 or y.dtype == np.float32:
        return math.isfinite(core.largest_magnitude(y))
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def _is_plain_matrix(X: Any) -> bool:
    """Whether X is an array or a CSR matrix of floats with at least one row and one column."""
    if type(X) not in (np.ndarray, sp.csr_matrix, sp.csr_array) or X.ndim != 2:
        return False
    return X.dtype in (np.float64, np.float32) and min(X.shape) > 0


def check_number(name: str, value: Any, allowed: Callable[[float], bool], what: str) -> None:
    """Raise an error unless the value is a real number that is allowed."""
    plain = type(value) is float or type(value) is int  # asking an abstract class takes longer
    real = plain or (isinstance(value, numbers.Real) and not isinstance(value, bool))
    if not real or not allowed(float(value)):
        raise ValueError(f"{name} must be {what}; got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Raise an error unless the value is a positive finite number."""
    check_number(name, value, lambda v: v > 0.0 and math.isfinite(v), "a positive finite number")


def check_not_negative(name: str, value: Any) -> None:
    """Raise an error unless the value is a finite number, zero or above."""
    check_number(
        name, value, lambda v: v >= 0.0 and math.isfinite(v), "a finite number, not negative"
    )


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise an error unless the value is a positive integer, or one from ``least`` on."""
    plain = type(value) is int
    whole = plain or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
    if not whole or value < least:
        kind = "a positive integer" if least == 1 else f"an integer from {least} on"
        raise ValueError(f"{name} must be {kind}; got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Raise an error unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}")


def check_intercept(value: Any) -> None:
    """Raise an error unless the value names a kind of intercept."""
    known = isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "penalised")
    if not known:
        raise ValueError(f"fit_intercept must be True, False or 'penalised'; got {value!r}")
