"""Bad data get a clear sentence before any work: one row of the table each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bad_values import X, put, put_sparse, y
from widemargin import LinearSVC, LinearSVCCV, LogisticRegression, LogisticRegressionCV

LETTERS = np.where(y > 0, "b", "a")


def corrupt_csr(indices: list[int], pointers: list[int]) -> Any:
    matrix = sp.csr_array((3, 2))
    matrix.data, matrix.indices = np.ones(len(indices)), np.array(indices)
    matrix.indptr = np.array(pointers)
    return matrix


def weights(value: Any) -> np.ndarray:
    changed = np.ones(20, dtype=type(value))
    changed[7] = value
    return changed


# What is wrong with the data: X, y, sample_weight, the start of the message.
DATA: dict[str, tuple[Any, Any, Any, str]] = {
    # values
    "NaN": (put(np.nan), y, None, "Input X contains NaN."),
    "NaN in float32": (put(np.nan, "float32"), y, None, "Input X contains NaN."),
    "NaN in CSR": (put_sparse(np.nan), y, None, "Input X contains NaN."),
    "infinity": (put(np.inf), y, None, "Input X contains infinity or a value too large for dtype"),
    "minus infinity": (put(-np.inf), y, None, "Input X contains infinity or a value too large"),
    "infinity in CSR": (put_sparse(np.inf), y, None, "Input X contains infinity or a value too"),
    "norm overflows": (
        put(1e200),
        y,
        None,
        "row 4 of X is so long that its squared norm overflows; scale the features",
    ),
    "sum overflows": (
        np.full((20, 3), 5e153),
        y,
        None,
        "the sum of squares of X overflows; scale the features",
    ),
    "too wide": (
        sp.csr_matrix((np.ones(20), np.full(20, 2**61), np.arange(21)), shape=(20, 2**62)),
        y,
        None,
        "X has 4611686018427387904 features: weights for them fit into no memory",
    ),
    "words": (np.full((20, 3), "a"), y, None, "could not convert string to float: "),
    "complex": (X + 1j, y, None, "Complex data not supported"),
    "missing in a frame": (pd.DataFrame({"a": [1.0, None] * 10}), y, None, "Input X contains NaN."),
    "words in a frame": (
        pd.DataFrame({"a": ["x", "y"] * 10}),
        y,
        None,
        "could not convert string to float: 'x'",
    ),
    # shapes
    "one-dimensional": (X[0], y, None, "Expected 2D array, got 1D array instead"),
    "three-dimensional": (
        X[None],
        y,
        None,
        "Found array with dim 3",  # scikit-learn's versions go on in different words
    ),
    "scalar": (3.0, y, None, "Expected 2D array, got scalar array instead"),
    "no rows": (X[:0], y[:0], None, "Found array with 0 sample(s) (shape=(0, 3)) while a minimum"),
    "no columns": (X[:, :0], y, None, "Found array with 0 feature(s) (shape=(20, 0)) while a mini"),
    "ragged lists": (
        [[1.0, 2.0], [1.0]],
        [0, 1],
        None,
        "setting an array element with a sequence.",
    ),
    # corrupt CSR
    "column past the end": (
        corrupt_csr([0, 5, 1], [0, 1, 2, 3]),
        [0, 1, 0],
        None,
        "a column index is out of range",
    ),
    "column past the end, no entry missing": (
        corrupt_csr([0, 1, 0, 7, 0, 1], [0, 2, 4, 6]),
        [0, 1, 0],
        None,
        "a column index is out of range",
    ),
    "uneven rows, no entry missing": (
        corrupt_csr([0, 1, 2, 0, 0, 1], [0, 3, 4, 6]),
        [0, 1, 0],
        None,
        "a row holds more entries than there are columns",
    ),
    "negative column": (
        corrupt_csr([0, -1, 1], [0, 1, 2, 3]),
        [0, 1, 0],
        None,
        "a column index is out of range",
    ),
    "row pointers decrease": (
        corrupt_csr([0, 1, 1], [0, 2, 1, 3]),
        [0, 1, 0],
        None,
        "row pointers must not decrease",
    ),
    "row pointers past the data": (
        corrupt_csr([0, 1, 1], [0, 1, 2, 9]),
        [0, 1, 0],
        None,
        "Last value of index pointer should be less than the size of index and data arrays",
    ),
    "row pointers start below zero": (
        corrupt_csr([0, 1, 1], [-1, 1, 2, 3]),
        [0, 1, 0],
        None,
        "index pointer should start with 0",
    ),
    "too few row pointers": (
        corrupt_csr([0, 1, 1], [0, 1, 3]),
        [0, 1, 0],
        None,
        "index pointer size 3 should be 4",
    ),
    # labels
    "no labels": (
        X,
        None,
        None,
        "This {estimator} estimator requires y to be passed, but the target y is None.",
    ),
    "too few labels": (
        X,
        y[:-1],
        None,
        "Found input variables with inconsistent numbers of samples: [20, 19]",
    ),
    "too many labels": (
        X,
        np.append(y, 1),
        None,
        "Found input variables with inconsistent numbers of samples: [20, 21]",
    ),
    "two columns of labels": (
        X,
        np.c_[y, y],
        None,
        "y should be a 1d array, got an array of shape (20, 2) instead.",
    ),
    "NaN label": (X, np.where(y > 0, np.nan, 1.0), None, "Input y contains NaN."),
    "infinite label": (X, np.where(y > 0, np.inf, 1.0), None, "Input y contains infinity or a"),
    "regression target": (X, np.linspace(0, 1, 20), None, "Unknown label type: continuous."),
    "one class": (
        X,
        np.ones(20, dtype=int),
        None,
        "This solver needs samples of at least 2 classes in the data, but the data contains only "
        "one class: 1",
    ),
    "one class of words": (
        X,
        ["spam"] * 20,
        None,
        "This solver needs samples of at least 2 classes in the data, but the data contains only "
        "one class: 'spam'",
    ),
    "labels of two types": (
        X,
        np.array([1, "a"] * 10, dtype=object),
        None,
        "y has labels of different types, int and str",
    ),
    "missing labels": (
        X,
        np.array([1, None] * 10, dtype=object),
        None,
        "y has labels of different types, NoneType and int",
    ),
    # sample weights
    "too few weights": (X, y, np.ones(19), "sample_weight has length 19, but X has 20 rows"),
    "a column of weights": (
        X,
        y,
        np.ones((20, 1)),
        "sample_weight must be one-dimensional, got shape (20, 1)",
    ),
    "negative weight": (X, y, weights(-2.0), "sample_weight must not be negative; entry 7 is -2"),
    "negative constant weight": (X, y, -1.0, "sample_weight must not be negative; entry 0 is -1"),
    "NaN weight": (X, y, weights(np.nan), "sample_weight contains NaN or infinity"),
    "infinite weight": (X, y, weights(np.inf), "sample_weight contains NaN or infinity"),
    "all weights zero": (X, y, np.zeros(20), "sample_weight is zero for every row"),
    "a class without weight": (X, y, (y > 0) * 1.0, "every example of class -1 has weight zero"),
    "a class of words without weight": (
        X,
        LETTERS,
        (y > 0) * 1.0,
        "every example of class 'a' has weight zero",
    ),
    "words as weights": (X, y, ["a"] * 20, "sample_weight must be numbers"),
    "a dict as weights": (X, y, {"a": 1}, "sample_weight must be numbers"),
    "complex weights": (X, y, np.full(20, 1.0 + 1j), "sample_weight must be numbers"),
}


@pytest.mark.parametrize("make", [LinearSVC, LogisticRegression])
@pytest.mark.parametrize("case", DATA)
def test_data(case: str, make: Any) -> None:
    data, labels, weight, message = DATA[case]
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning on the way would be noise
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
            model.fit(data, labels, sample_weight=weight)
    assert str(caught.value).startswith(message.format(estimator=make.__name__))
    assert not hasattr(model, "coef_"), "refused before any work"


@pytest.mark.parametrize("Search", [LinearSVCCV, LogisticRegressionCV])
def test_searches_name_files_that_do_not_exist(Search) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file matches 'data/\*\.parquet'"):
        Search().fit("data/*.parquet", label="y")
