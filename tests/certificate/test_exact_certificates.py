"""What a certificate says is true in exact arithmetic: judged by fractions, with no tolerance."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

from exact_judge import binary_dual, binary_primal, joint_primal
from nasty_problems import nasty
from widemargin import LinearSVC, LogisticRegression

BINARY = [
    ("hinge", "auto"),
    ("hinge", "dual_cd"),
    ("hinge", "proximal_newton"),
    ("hinge", "interior_point"),
    ("hinge", "pragam"),
    ("squared_hinge", "auto"),
    ("squared_hinge", "dual_cd"),
    ("squared_hinge", "newton"),
    ("squared_hinge", "dual_of_dual"),
    ("squared_hinge", "bmrm_ls"),
    ("logistic", "auto"),
    ("logistic", "dual_cd"),
    ("logistic", "newton"),
    ("logistic", "bmrm_qp"),
]
RULES = ("weston_watkins", "crammer_singer")


def fitted(seed: int, loss: str, solver: str, **more: Any) -> Any:
    """A model of a nasty problem, and the costs of its examples."""
    task = nasty(seed, 2 if "multi_class" not in more else 3)
    kind = LogisticRegression if loss == "logistic" else partial(LinearSVC, loss)
    model = kind(
        C=task.C,
        tol=task.tol,
        solver=solver,
        fit_intercept=task.fit_intercept,
        max_iter=200,
        time_limit=2.0,
        **more,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(task.X, task.y, task.weight)
    weight = np.ones(task.y.size) if task.weight is None else task.weight
    return task, model, task.C * weight


def judge(seed: int, loss: str, solvers: list[str]) -> None:
    """Fit by some solvers; no dual may be above any primal, no primal below the truth."""
    truths, duals = [], []
    for solver in solvers:
        task, model, cost = fitted(seed, loss, solver)
        sign = np.where(task.y == 1, 1, -1)
        certificate = model.certificate_
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(certificate.primal)
        truth = binary_primal(loss, task.X, sign, cost, model.coef_, model.intercept_[0])
        assert certificate.primal >= truth, (seed, loss, solver)
        if loss != "logistic" and certificate.dual > 0.0:
            alpha = model.dual_coef_[0] * sign
            if not task.fit_intercept:
                dual = binary_dual(loss, task.X, sign, cost, alpha)
                assert certificate.dual <= dual, (seed, loss, solver)
        converged = model.status_ == ["converged"]
        assert converged == (certificate.relative_gap <= task.tol)
        truths.append(truth)
        duals.append((certificate.dual, solver))
    for dual, solver in duals:
        assert dual <= min(truths), (seed, loss, solver)


LOSSES = ("hinge", "squared_hinge", "logistic")


@pytest.mark.parametrize("loss", LOSSES)
def test_binary_certificates_are_true(loss: str) -> None:
    for seed in range(27, 35):
        judge(seed, loss, [solver for name, solver in BINARY if name == loss])


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_many_binary_certificates_are_true(loss: str) -> None:
    for seed in range(1000, 1200):
        judge(seed, loss, [solver for name, solver in BINARY if name == loss])


@pytest.mark.parametrize("rule", RULES)
def test_joint_certificates_are_true(rule: str) -> None:
    for seed in range(27, 39):
        task, model, cost = fitted(seed, "hinge", "auto", multi_class=rule)
        truth = joint_primal(rule, task.X, task.y, cost, model.coef_, model.intercept_)
        certificate = model.certificate_
        assert certificate.dual <= truth <= certificate.primal, (seed, rule)
        assert (model.status_ == ["converged"]) == (certificate.relative_gap <= task.tol)
