"""Fits on rows in blocks: certified, and with the same bits for any number of threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC, LogisticRegression, verify_exactly
from widemargin.auto.machine import MACHINE
from widemargin.data import blocks
from widemargin.methods.newton import _multiclass_system
from widemargin.problems import threaded
from widemargin.problems.multiclass import RULES

MODELS = {
    "hinge": lambda **given: LinearSVC("hinge", solver="proximal_newton", **given),
    "squared_hinge": lambda **given: LinearSVC(solver="newton", **given),
    "logistic": lambda **given: LogisticRegression(solver="newton", **given),
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 64)
    monkeypatch.setattr(blocks, "DENSE_VALUES", 2**10)
    monkeypatch.setattr(blocks, "SPARSE_VALUES", 2**10)
    monkeypatch.setattr(blocks, "MATRIX_ROWS", 1)
    monkeypatch.setattr(threaded, "CHUNK", 128)


def examples(layout: str, count: int = 900, width: int = 12) -> tuple[Any, Any]:
    random = np.random.default_rng(7)
    X = random.standard_normal((count, width))
    if layout == "csr":
        X[random.random(X.shape) < 0.5] = 0.0
    y = np.where(X @ random.standard_normal(width) + random.standard_normal(count) > 0.4, 1, -1)
    return (sp.csr_array(X) if layout == "csr" else X.astype(layout)), y


def bits(model: Any) -> tuple[bytes, ...]:
    dual = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    kept = model.coef_, model.intercept_, model.primal_, model.dual_, dual
    return tuple(np.ascontiguousarray(numbers).tobytes() for numbers in kept)


@pytest.mark.parametrize("intercept", [True, "penalised"])
@pytest.mark.parametrize("layout", ["float64", "float32", "csr"])
@pytest.mark.parametrize("name", list(MODELS))
def test_the_same_bits_for_any_number_of_threads(
    name: str, layout: str, intercept: bool | str
) -> None:
    X, y = examples(layout)
    make, given = MODELS[name], {"fit_intercept": intercept, "C": 0.5}
    one = make(n_jobs=1, **given).fit(X, y)
    assert one.certificate_.relative_gap <= one.tol
    for jobs in (2, 3, 8):
        assert bits(make(n_jobs=jobs, **given).fit(X, y)) == bits(one)
    # Without blocks the sums are others, and the answer is the same to within the tolerance.
    plain = make(**given).fit(X, y)
    assert one.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=one.tol)


@pytest.mark.parametrize("intercept", [True, "penalised"])
@pytest.mark.parametrize("layout", ["float64", "float32", "csr"])
def test_all_classes_at_once(layout: str, intercept: bool | str) -> None:
    X, _ = examples(layout)
    scores = X @ np.random.default_rng(3).standard_normal((12, 4))
    y = np.argmax(scores + np.random.default_rng(4).standard_normal(scores.shape), axis=1)
    given = {"solver": "newton", "fit_intercept": intercept, "C": 0.5}
    one = LogisticRegression(n_jobs=1, **given).fit(X, y)
    assert one.certificate_.relative_gap <= one.tol
    for jobs in (2, 3, 8):
        assert bits(LogisticRegression(n_jobs=jobs, **given).fit(X, y)) == bits(one)
    plain = LogisticRegression(**given).fit(X, y)
    assert one.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=one.tol)
    assert verify_exactly(one, X, y)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("layout", "intercept"), [("float64", True), ("float32", "penalised"), ("csr", False)]
)
def test_joint_hinges(rule: str, layout: str, intercept: bool | str) -> None:
    X, _ = examples(layout)
    scores = X @ np.random.default_rng(3).standard_normal((12, 4))
    y = np.argmax(scores + 2 * np.random.default_rng(4).standard_normal(scores.shape), axis=1)
    given = {"multi_class": rule, "fit_intercept": intercept, "C": 0.5, "solver": "proximal_newton"}
    one = LinearSVC("hinge", n_jobs=1, **given).fit(X, y)
    assert one.certificate_.relative_gap <= one.tol
    for jobs in (2, 3, 8):
        assert bits(LinearSVC("hinge", n_jobs=jobs, **given).fit(X, y)) == bits(one)
    plain = LinearSVC("hinge", **given).fit(X, y)
    assert one.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=one.tol)
    assert verify_exactly(one, X, y)


@pytest.mark.parametrize("system", ["_by_ties", "_factorised", "_conjugate_gradients"])
def test_systems_of_joint_hinges(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = examples("csr", count=500)
    y = np.argmax(X.toarray()[:, :3] + np.random.default_rng(1).standard_normal((500, 3)), axis=1)
    solve, taken = getattr(_multiclass_system, system), []

    def counted(*given: Any) -> Any:
        taken.append(system)
        return solve(*given)

    prices = {"_by_ties": "tied_work", "_factorised": "matrix_work"}
    for name, price in prices.items():
        work = 0.0 if name == system else np.inf
        monkeypatch.setattr(_multiclass_system, price, lambda *_, work=work: work)
    if system == "_conjugate_gradients":
        machine = replace(MACHINE, largest_multiclass=1)
        monkeypatch.setattr(_multiclass_system, "MACHINE", machine)
    monkeypatch.setattr(_multiclass_system, system, counted)
    given = {"multi_class": "crammer_singer", "C": 0.1, "solver": "proximal_newton"}
    one, two = (LinearSVC("hinge", n_jobs=jobs, **given).fit(X, y) for jobs in (1, 2))
    assert taken
    assert bits(one) == bits(two)
    assert one.status_ == ["converged"]


def test_all_classes_at_once_with_wide_rows_and_sweeps() -> None:
    random = np.random.default_rng(0)
    X = sp.random_array((600, 2500), density=0.01, format="csr", rng=random)
    y = np.argmax(X @ random.standard_normal((2500, 3)), axis=1)
    for solver in ("newton", "dual_cd", "auto"):
        one, two = (LogisticRegression(solver=solver, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
        assert one.certificate_.relative_gap <= 1e-4
        assert bits(one) == bits(two)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_certificates_hold_in_exact_arithmetic(name: str) -> None:
    X, y = examples("float64", count=500, width=5)
    model = MODELS[name](n_jobs=2, tol=1e-8).fit(X, y)
    assert verify_exactly(model, X, y)


def test_wide_rows_take_conjugate_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X = sp.random_array((600, 2500), density=0.01, format="csr", rng=random)
    y = np.where(X @ random.standard_normal(2500) > 0, 1, -1)
    for name in MODELS:
        one, two = (MODELS[name](n_jobs=jobs).fit(X, y) for jobs in (1, 2))
        assert one.certificate_.relative_gap <= 1e-4
        assert bits(one) == bits(two)


def test_auto_with_threads() -> None:
    X, y = examples("csr")
    fits = [LinearSVC(n_jobs=jobs).fit(X, y) for jobs in (1, 2, -1)]
    assert bits(fits[0]) == bits(fits[1]) == bits(fits[2])
    assert fits[0].status_ == ["converged"]


def test_a_single_block_is_the_plain_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 2**10)
    monkeypatch.setattr(blocks, "DENSE_VALUES", 2**20)
    X, y = examples("float64")
    assert bits(LinearSVC(n_jobs=2).fit(X, y)) == bits(LinearSVC().fit(X, y))


def test_without_a_penalty() -> None:
    X, y = examples("float64")
    one, two = (LogisticRegression(C=np.inf, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert bits(one) == bits(two)
    np.testing.assert_allclose(one.coef_, LogisticRegression(C=np.inf).fit(X, y).coef_, rtol=1e-3)
