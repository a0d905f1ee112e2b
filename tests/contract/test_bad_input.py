"""Bad input gets a clear sentence before any work: one row of the table each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from widemargin import LinearSVC, LogisticRegression

X = np.random.default_rng(0).normal(size=(20, 3))
y = np.where(np.arange(20) % 2, 1, -1)
LETTERS = np.where(y > 0, "b", "a")


def put(value: float, dtype: str = "float64") -> np.ndarray:
    changed = X.astype(dtype)
    changed[4, 1] = value
    return changed


def put_sparse(value: float) -> Any:
    changed = sp.csr_array(X)
    changed.data[7] = value
    return changed


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
        "Found array with dim 3, while dim <= 2 is required by",
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


NOT_POSITIVE = (0, -1.0, np.nan, np.inf, "1", None, True, [1.0], 1j)

# What is wrong with the arguments, and the start of the message.
ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    *[({"C": v}, f"C must be a positive finite number; got {v!r}") for v in NOT_POSITIVE],
    *[({"tol": v}, f"tol must be a positive finite number; got {v!r}") for v in NOT_POSITIVE],
    *[
        ({"time_limit": v}, f"time_limit must be a positive finite number; got {v!r}")
        for v in (0, -1, np.nan, "1s", True)
    ],
    *[
        ({"max_iter": v}, f"max_iter must be a positive integer; got {v!r}")
        for v in (0, -1, 1.5, None, "10", True)
    ],
    *[
        ({"fit_intercept": v}, f"fit_intercept must be True, False or 'penalised'; got {v!r}")
        for v in ("exact", "penalized", None, 1, 0.0, "True", "False")
    ],
    *[
        (
            {"fit_intercept": "penalised", "intercept_scaling": v},
            f"intercept_scaling must be a positive finite number; got {v!r}",
        )
        for v in (0, -1.0, np.inf, "1")
    ],
    (
        {"intercept_scaling": 2.0},
        "intercept_scaling has a meaning only with fit_intercept='penalised': "
        "the exact intercept needs no scaling",
    ),
    (
        {"fit_intercept": False, "intercept_scaling": 2.0},
        "intercept_scaling has a meaning only with fit_intercept='penalised': ",
    ),
    *[
        ({"solver": v}, "solver must be one of 'auto', 'dual_cd', 'newton', ")
        for v in ("lbfgs", "", None, 3, ["newton"])
    ],
    *[
        ({"class_weight": v}, f"class_weight must be a dict, 'balanced' or None; got {v!r}")
        for v in ("balance", [1.0, 2.0], 3)
    ],
    ({"class_weight": {5: 1.0}}, "class_weight names a class that is not in y: 5"),
    ({"class_weight": {"1": 1.0}}, "class_weight names a class that is not in y: '1'"),
    ({"class_weight": {1: -1.0}}, "class_weight must not be negative; it is for 1"),
    *[
        ({"class_weight": {1: v}}, f"class_weight must be a finite number; for 1 it is {v!r}")
        for v in (np.nan, np.inf, "a", None)
    ],
    ({"class_weight": {1: 0.0}}, "every example of class 1 has weight zero"),
    # The costs leave the range in which P and D can be computed at all.
    ({"C": 1e308}, "C times the weights must lie between "),
    ({"C": 1e-320}, "C times the weights must lie between "),
    *[
        ({"n_jobs": v}, f"n_jobs must be a non-zero integer or None; got {v!r}")
        for v in (0, "2", 1.5)
    ],
    ({"callback": 3}, "callback must be callable or None; got 3"),
    ({"warm_start": "no"}, "warm_start must be True or False; got 'no'"),
    ({"random_state": "a"}, "'a' cannot be used to seed a numpy.random.RandomState instance"),
    ({"random_state": 0.5}, "0.5 cannot be used to seed a numpy.random.RandomState instance"),
    ({"random_state": -1}, "Seed must be between 0 and 2**32 - 1"),
]


@pytest.mark.parametrize("make", [LinearSVC, LogisticRegression])
@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS, ids=lambda v: str(v)[:60])
def test_argument(arguments: dict[str, Any], message: str, make: Any) -> None:
    model = make(**arguments)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        model.fit(X, y)
    assert str(caught.value).startswith(message)
    assert not hasattr(model, "coef_"), "refused before any work"


@pytest.mark.parametrize("loss", ["log_loss", "l2", "", None, 3, ["hinge"]])
def test_unknown_loss(loss: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        LinearSVC(loss).fit(X, y)
    assert str(caught.value) == f"loss must be 'squared_hinge' or 'hinge'; got {loss!r}"


NEAREST = "; the nearest solver that serves it is "


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (
            LinearSVC("hinge", solver="newton"),
            "solver 'newton' needs a loss with second derivatives",
        ),
        (
            LinearSVC(solver="interior_point"),
            "solver 'interior_point' serves the loss 'hinge', not ",
        ),
        (
            LogisticRegression(solver="interior_point"),
            "solver 'interior_point' serves the loss 'hin",
        ),
        (
            LinearSVC(solver="proximal_newton"),
            "solver 'proximal_newton' serves the loss 'hinge', no",
        ),
        (
            LogisticRegression(solver="proximal_newton"),
            "solver 'proximal_newton' serves the loss 'h",
        ),
    ],
    ids=str,
)
def test_solver_that_cannot_serve_the_loss(model: Any, start: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        model.fit(X, y)
    message = str(caught.value)
    assert message.startswith(start)
    # It names one that can: that one is taken at its word.
    nearest = message[message.index(NEAREST) + len(NEAREST) :].strip("'.")
    assert model.set_params(solver=nearest).fit(X, y).status_ == ["converged"]


@pytest.mark.parametrize("name", ["dual", "penalty", "gamma"])
def test_unknown_argument(name: str) -> None:
    with pytest.raises(TypeError, match=f"got an unexpected keyword argument '{name}'"):
        LinearSVC(**{name: None})
    with pytest.raises(ValueError, match=f"Invalid parameter '{name}' for estimator LinearSVC"):
        LinearSVC().set_params(**{name: None})


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.predict(X),
        lambda m: m.decision_function(X),
        lambda m: m.predict_proba(X),
        lambda m: m.certificate_,
        lambda m: m.certificates_,
    ],
)
def test_not_fitted(use: Any) -> None:
    with pytest.raises(
        NotFittedError, match=r"^This LogisticRegression instance is not fitted yet"
    ):
        use(LogisticRegression())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:, :2], "X has 2 features, but LinearSVC is expecting 3 features as input."),
        (
            sp.csr_array(X[:, :2]),
            "X has 2 features, but LinearSVC is expecting 3 features as input.",
        ),
        (put(np.nan), "Input X contains NaN."),
        (put_sparse(np.inf), "Input X contains infinity or a value too large for dtype"),
        (X[0], "Expected 2D array, got 1D array instead"),
        (X[:0], "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required"),
        ([["a"] * 3], "could not convert string to float: 'a'"),
    ],
    ids=range(7),
)
def test_prediction(data: Any, message: str) -> None:
    model = LinearSVC().fit(X, y)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        model.predict(data)
    assert str(caught.value).startswith(message)


def test_a_failed_fit_leaves_the_last_one_alone() -> None:
    model = LinearSVC().fit(X, y)
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(put(np.nan), y)
    np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("value", [np.True_, np.False_])
def test_numpy_booleans_mean_what_they_say(value: Any) -> None:
    """A grid of parameters holds numpy's booleans."""
    expected = LinearSVC(fit_intercept=bool(value)).fit(X, y)
    model = LinearSVC(fit_intercept=value).fit(X, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)


@pytest.mark.parametrize("value", [np.float32(2.0), np.int64(2), 2])
def test_numpy_numbers_are_numbers(value: Any) -> None:
    expected = LinearSVC(C=2.0).fit(X, y)
    np.testing.assert_array_equal(LinearSVC(C=value).fit(X, y).coef_, expected.coef_)
