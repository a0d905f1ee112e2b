"""All classes at once where it is hard: large C on separable data, many classes, limits, Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

from oracle_multiclass import RULES, MulticlassOracle, make_classes
from widemargin import LinearSVC


def check(oracle: MulticlassOracle, model: LinearSVC) -> None:
    """Recompute P and D; the rounding of a margin counts as many times as C says."""
    P, D = oracle.primal(*oracle.weights_of(model)), oracle.dual(oracle.beta_of(model))
    rounding = 1e-13 * float(oracle.c.sum())
    assert model.certificate_.relative_gap <= 1e-4
    allowed = model.certificate_.rounding + 1e-10 * P + rounding
    assert -rounding <= model.certificate_.primal - P <= allowed
    assert -rounding <= D - model.certificate_.dual <= allowed
    assert -rounding <= P - D <= 1e-4 * P + rounding


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("n", "d", "k", "C"), [(99, 40, 40, 100.0), (300, 30, 10, 1e4), (60, 40, 5, 1e5)]
)
def test_newton_on_separable_data(rule: str, n: int, d: int, k: int, C: float) -> None:
    X, y = make_classes(n, d, k, seed=3)
    model = LinearSVC("hinge", C=C, multi_class=rule, solver="proximal_newton", max_iter=2000)
    model.fit(X, y)
    assert model.status_ == ["converged"]
    check(MulticlassOracle(X, y, np.full(y.size, C), rule), model)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("C", [1e3, 1e5])
def test_auto_on_separable_data(rule: str, C: float) -> None:
    X, y = make_classes(60, 40, 5, seed=3)
    model = LinearSVC("hinge", C=C, multi_class=rule, max_iter=20_000).fit(X, y)
    check(MulticlassOracle(X, y, np.full(y.size, C), rule), model)


@pytest.mark.parametrize("rule", RULES)
def test_a_thousand_classes_with_intercepts(rule: str) -> None:
    X, y = make_classes(2000, 10, 1000, seed=1)
    model = LinearSVC("hinge", C=0.01, multi_class=rule, tol=0.1).fit(X, y)
    MulticlassOracle(X, y, np.full(y.size, 0.01), rule).check(model, 0.1)


def busy(rule: str, solver: str, **arguments: Any) -> tuple[LinearSVC, float]:
    """Fit something that takes long; give the model and the seconds of the processor."""
    X, y = make_classes(3000, 20, 300, seed=1)
    model = LinearSVC(
        "hinge", C=100.0, multi_class=rule, solver=solver, tol=1e-13, max_iter=10**9, **arguments
    )
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(KeyboardInterrupt):
            model.fit(X, y)
    return model, time.process_time() - began


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("solver", ["auto", "block_dual_cd", "walrus", "proximal_newton"])
def test_time_limit(rule: str, solver: str) -> None:
    model, used = busy(rule, solver, time_limit=0.5)
    assert model.status_ == ["time_limit"]
    assert used < 2.5
    assert model.certificate_.dual <= model.certificate_.primal


@pytest.mark.parametrize("rule", RULES)
def test_interrupt(rule: str) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    model, used = busy(rule, "auto")
    timer.join()
    assert model.status_ == ["interrupted"]
    assert used < 2.5
    assert model.certificate_.dual <= model.certificate_.primal
