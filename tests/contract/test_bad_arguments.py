"""Bad arguments and wrong use get a clear sentence: one row of the table each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from bad_values import X, put, put_sparse, y
from widemargin import LinearSVC, LogisticRegression

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
        ({"max_iter": v}, f"max_iter must be an integer from 0 on; got {v!r}")
        for v in (-1, 1.5, None, "10", True)
    ],
    *[
        ({"verbose": v}, f"verbose must be True, False or a number from 0 on; got {v!r}")
        for v in ("q", None, 1.5, -1)
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
    *[
        ({"solver": v}, "solver must be one of 'auto', 'dual_cd', 'newton', ")
        for v in ("bfgs", "", None, 3, ["newton"])
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
    if make is LogisticRegression and arguments.get("C") == np.inf:
        return  # no penalty: tests/certificate/test_unpenalised.py
    model = make(**arguments)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        model.fit(X, y)
    assert str(caught.value).startswith(message)
    assert not hasattr(model, "coef_"), "refused before any work"


@pytest.mark.parametrize("loss", ["log_loss", "", None, 3, ["hinge"]])
def test_unknown_loss(loss: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        LinearSVC(loss).fit(X, y)
    assert str(caught.value) == f"loss must be 'squared_hinge' or 'hinge'; got {loss!r}"


NEAREST = "; the nearest solver that supports it is "


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (
            LinearSVC("hinge", solver="newton"),
            "solver 'newton' needs a loss with second derivatives",
        ),
        (
            LinearSVC(solver="interior_point"),
            "solver 'interior_point' supports the loss 'hinge', not ",
        ),
        (
            LogisticRegression(solver="interior_point"),
            "solver 'interior_point' supports the loss 'hin",
        ),
        (
            LinearSVC(solver="proximal_newton"),
            "solver 'proximal_newton' supports the loss 'hinge', no",
        ),
        (
            LogisticRegression(solver="proximal_newton"),
            "solver 'proximal_newton' supports the loss 'h",
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


@pytest.mark.parametrize("name", ["duality", "gamma"])
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
