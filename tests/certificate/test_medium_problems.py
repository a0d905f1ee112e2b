"""Problems that are not tiny: the branches of the compiled loops that small ones never reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import (
    KernelSVC,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    SequenceCRF,
    SequenceSVC,
)
from widemargin.auto.machine import MACHINE

Rng = np.random.Generator


def _classes(random: Rng, rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    X = random.normal(size=(rows, columns))
    scores = X @ random.normal(size=(columns, classes)) + 2.0 * random.normal(size=(rows, classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("epsilon_insensitive", "dual_cd"),
        ("epsilon_insensitive", "proximal_newton"),
        ("squared_epsilon_insensitive", "dual_cd"),
        ("squared_epsilon_insensitive", "newton"),
    ],
)
def test_regressions(loss: str, solver: str, layout: Any) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 90)) * (random.random((900, 90)) < 0.5)
    y = X @ random.normal(size=90) + random.normal(size=900)
    model = LinearSVR(loss=loss, epsilon=0.5, C=1.0, solver=solver, max_iter=4000).fit(layout(X), y)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rule", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("solver", ["block_dual_cd", "proximal_newton"])
def test_joint_rules(solver: str, rule: str, layout: Any) -> None:
    X, y = _classes(np.random.default_rng(1), 500, 60, 12)
    model = LinearSVC("hinge", C=0.1, multi_class=rule, solver=solver).fit(layout(X), y)
    assert model.certificate_.relative_gap <= model.tol


def test_sweeps_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    short = replace(MACHINE, call=50_000.0)
    monkeypatch.setattr("widemargin.methods.coordinate.dual_cd.MACHINE", short)
    random = np.random.default_rng(6)
    X = random.normal(size=(900, 8))
    y = X @ random.normal(size=8) + random.normal(size=900)
    model = LinearSVR(epsilon=0.5, solver="dual_cd", max_iter=4000).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol


def test_joint_rules_by_conjugate_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = replace(MACHINE, largest_multiclass=10, largest_factorised=10)
    monkeypatch.setattr("widemargin.methods.newton._multiclass_system.MACHINE", narrow)
    X, y = _classes(np.random.default_rng(7), 200, 10, 4)
    model = LinearSVC("hinge", C=0.1, multi_class="weston_watkins", solver="proximal_newton")
    assert model.fit(X, y).certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("kernel", ["rbf", lambda A, B: rbf_kernel(A, B, 0.2)])
@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_kernels_that_do_not_fit(kernel: Any, tol: float) -> None:
    """Rows of K are computed again, in compiled code or by a function."""
    random = np.random.default_rng(2)
    X = random.normal(size=(300, 5))
    y = X[:, 0] + random.normal(size=300) > 0.0
    model = KernelSVC(kernel, C=10.0, tol=tol, memory=0.2).fit(X, y)
    assert model.certificate_.relative_gap <= tol


def test_pairs_of_classes() -> None:
    X, y = _classes(np.random.default_rng(8), 200, 5, 3)
    model = KernelSVC("rbf", C=10.0, multi_class="ovo", tol=1e-10).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("solver", ["frank_wolfe", "corrective_frank_wolfe"])
def test_frank_wolfe(solver: str) -> None:
    X, y = _classes(np.random.default_rng(3), 120, 10, 4)
    model = KernelSVC("rbf", C=0.05, multi_class="weston_watkins", fit_intercept=False, tol=1e-2)
    model.set_params(solver=solver).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol


def test_sequences() -> None:
    random = np.random.default_rng(4)
    X = [random.normal(size=(random.integers(2, 30), 8)) for _ in range(60)]
    y = [(part[:, :3] + 0.5 * random.normal(size=(len(part), 3))).argmax(axis=1) for part in X]
    model = SequenceSVC(C=0.1, warm_start=True).fit(X, y)
    first = int(np.sum(model.n_iter_))
    assert int(np.sum(model.fit(X, y).n_iter_)) < first
    crf = SequenceCRF(C=0.1).fit(X, y)
    assert np.allclose(np.concatenate(crf.predict_proba(X)).sum(axis=1), 1.0)


def test_multinomial() -> None:
    X, y = _classes(np.random.default_rng(5), 400, 30, 6)
    model = LogisticRegression(C=1.0, multi_class="multinomial", tol=1e-8).fit(sp.csr_array(X), y)
    assert model.certificate_.relative_gap <= model.tol
