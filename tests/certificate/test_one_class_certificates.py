"""Certificates of one-class problems: true in exact arithmetic, whatever the solver."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from nasty_problems import nasty
from widemargin import LinearOneClassSVM, verify_exactly


@pytest.mark.parametrize("solver", ["auto", "dual_cd", "proximal_newton", "interior_point"])
def test_certificates_hold_in_exact_arithmetic(solver: str) -> None:
    for seed in range(30):
        task, random = nasty(seed), np.random.default_rng([seed, 9])
        nu = float(random.choice([1e-3, 0.1, 0.5, 1.0]))
        model = LinearOneClassSVM(nu, solver=solver, tol=task.tol, max_iter=200, time_limit=2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.X, sample_weight=task.weight)
        assert np.isfinite(model.coef_).all()
        report = verify_exactly(model, task.X, sample_weight=task.weight)
        assert report.problems[0].verdict == "true", (seed, str(report))
        converged = model.status_ == ["converged"]
        assert converged == (model.certificate_.relative_gap <= task.tol)


def test_a_false_certificate_is_found() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3)) + 2.0
    model = LinearOneClassSVM(0.2).fit(X)
    assert verify_exactly(model, X)
    model.dual_ = model.dual_ * 0.99
    assert verify_exactly(model, X).problems[0].verdict == "false"
    model.primal_ = model.primal_ * 1.01
    assert not verify_exactly(model, X)


def test_the_origin_among_the_examples() -> None:
    X = np.random.default_rng(1).normal(size=(300, 4))
    with pytest.warns(UserWarning, match="the origin lies among the examples"):
        model = LinearOneClassSVM(0.5).fit(X)
    assert model.status_ == ["converged"]
    assert not model.coef_.any()
    assert model.offset_[0] == 0.0
    assert model.primal_[0] == 0.0
    assert -1e-15 < model.dual_[0] <= 0.0
    assert (model.predict(X) == 1).all()
    assert verify_exactly(model, X)


def test_nu_bounds_the_share_of_outliers() -> None:
    X = np.random.default_rng(2).normal(size=(2000, 3)) + 3.0
    for nu in (0.01, 0.1, 0.5):
        model = LinearOneClassSVM(nu, tol=1e-6).fit(sp.csr_matrix(X))
        outside = float((model.decision_function(X) < -1e-3).mean())
        assert outside <= nu
        assert model.support_.size >= nu * 2000 - 1


def test_warm_start_takes_fewer_passes() -> None:
    X = np.random.default_rng(3).random((300, 500))
    model = LinearOneClassSVM(0.1, solver="dual_cd", warm_start=True, tol=1e-6).fit(X)
    assert model.fit(X).n_iter_ == 0
    cold = LinearOneClassSVM(0.1001, solver="dual_cd", tol=1e-6).fit(X)
    model.set_params(nu=0.1001).fit(X)
    # A step works until the violation has fallen tenfold: few differ in number, all in work.
    assert model.n_iter_ <= cold.n_iter_
    assert model.history_[0]["passes"][-1] < cold.history_[0]["passes"][-1]


def test_a_weight_of_two_is_a_row_given_twice() -> None:
    random = np.random.default_rng(4)
    X, weight = random.normal(size=(300, 4)) + 2.0, random.integers(0, 3, size=300)
    once = LinearOneClassSVM(0.1, tol=1e-9).fit(X, sample_weight=weight)
    twice = LinearOneClassSVM(0.1, tol=1e-9).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(once.primal_, twice.primal_, rtol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nu": 0.0}, "nu must be a number above 0 and at most 1"),
        ({"nu": 1.5}, "nu must be"),
        ({"nu": "auto"}, "nu must be"),
        ({"solver": "newton"}, "does not support one-class problems"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_arguments_are_checked(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LinearOneClassSVM(**arguments).fit(np.ones((3, 2)))
