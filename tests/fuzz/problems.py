"""What the campaign of certificates draws: every kind of problem, every solver of the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from tests.fuzz.nasty import Random
from tests.fuzz.stacked import OverC, Stacked

from widemargin import (
    KernelSVC,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    LogisticRegression,
    LogisticRegressionCV,
    RobustSVC,
    RobustSVCCV,
    SequenceCRF,
    SequenceSVC,
    StructuredSVC,
)
from widemargin.auto.registry import METHODS, method_named, solvers_for
from widemargin.data.rows import Rows
from widemargin.estimators.structured_models import MulticlassModel
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.bounded import BoundedBinary, BoundedRegression
from widemargin.problems.conditional import ConditionalProblem
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.kernel_pairs import KernelPairsProblem
from widemargin.problems.losses import LOSSES
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.problems.one_class import OneClassProblem
from widemargin.problems.regression import RegressionProblem
from widemargin.problems.robust import RobustProblem
from widemargin.problems.sequence import SequenceProblem
from widemargin.problems.sparse_multinomial import SparseMultinomialProblem
from widemargin.problems.sparse_weights import SparseProblem
from widemargin.problems.structured import StructuredProblem
from widemargin.problems.unpenalised import UnpenalisedProblem

Settings = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of problem.

    Attributes
    ----------
    share : float
        How often it is drawn; kinds whose fits take long are drawn less often.
    serves : tuple of str
        The kinds of problems in the registry that its fits solve.
    classes : tuple of int
        The least and the largest number of classes.
    make : callable
        ``make(random, settings, classes)`` returns a model.
    seconds : float
        The limit of a fit, per class.
    """

    share: float
    serves: tuple[str, ...]
    classes: tuple[int, int]
    make: Callable[[Random, Settings, int], Any]
    seconds: float = 0.3


def _C(random: Random, decades: float = 6.0) -> float:
    return float(10.0 ** random.uniform(-decades, decades))


def _intercept(random: Random) -> Settings:
    kind = [True, True, False, "penalised"][random.integers(4)]
    if kind != "penalised":
        return {"fit_intercept": kind}
    return {"fit_intercept": kind, "intercept_scaling": float(random.choice([1.0, 0.3, 1e3]))}


def _solver(random: Random, names: Any) -> str:
    return str(random.choice(list(names)))


@cache
def margin_solvers(loss: str) -> list[str]:
    """Return the solvers of binary problems that support a loss."""
    labels, cost = np.array([1.0, -1.0]), np.ones(2)
    tiny = BinaryProblem(Rows.of(np.eye(2)), labels, cost, LOSSES[loss], False)
    names = [name for name in solvers_for(BinaryProblem) if name in METHODS]
    return ["auto", *(n for n in names if method_named(n, BinaryProblem).refuses(tiny) is None)]


def _margins(random: Random, settings: Settings, classes: int) -> Any:
    loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
    settings = {**settings, **_intercept(random), "C": _C(random)}
    settings["solver"] = _solver(random, margin_solvers(loss))
    if loss == "logistic":
        return LogisticRegression(multi_class="ovr", **settings)
    return LinearSVC(loss, **settings)


def _sparse(random: Random, settings: Settings, classes: int) -> Any:
    settings = {**settings, **_intercept(random), "C": _C(random), "penalty": "elasticnet"}
    settings["l1_ratio"] = float(random.choice([1.0, 1.0, 0.999, 0.5, 1e-3]))
    settings["solver"] = _solver(random, solvers_for(SparseProblem))
    if random.integers(2):
        return LogisticRegression(multi_class="ovr", **settings)
    return LinearSVC(**settings)


def _multinomial(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(MultinomialProblem))
    return LogisticRegression(C=_C(random), solver=solver, **_intercept(random), **settings)


def _sparse_multinomial(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(SparseMultinomialProblem))
    ratio = float(random.choice([1.0, 0.5]))
    settings = {**settings, **_intercept(random)}
    return LogisticRegression(C=_C(random), l1_ratio=ratio, solver=solver, **settings)


def _unpenalised(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(UnpenalisedProblem))
    rule = "ovr" if random.random() < 0.5 else "multinomial"
    free = bool(random.integers(2))
    return LogisticRegression(
        C=np.inf, multi_class=rule, solver=solver, fit_intercept=free, **settings
    )


def _joint(random: Random, settings: Settings, classes: int) -> Any:
    rule = str(random.choice(["weston_watkins", "crammer_singer"]))
    solver = _solver(random, solvers_for(MulticlassProblem))
    return LinearSVC(
        "hinge", C=_C(random), multi_class=rule, solver=solver, **_intercept(random), **settings
    )


def _robust(random: Random, settings: Settings, classes: int) -> Any:
    return RobustSVC(
        radius=float(random.choice([0.0, 1e-6, 0.01, 0.1, 1.0, 100.0])),
        label_cost=float(random.choice([np.inf, np.inf, 0.1, 1.0, 10.0])),
        norm=float(random.choice([1.0, 2.0, np.inf])),
        l2=float(random.choice([0.0, 0.0, 1e-3, 1.0])),
        solver=_solver(random, solvers_for(RobustProblem)),
        fit_intercept=bool(random.integers(2)),
        **settings,
    )


def _kernel(random: Random, settings: Settings, classes: int) -> Any:
    loss = str(random.choice(["hinge", "squared_hinge"]))
    free = bool(random.integers(2))
    solver = _solver(random, solvers_for(KernelProblem))
    settings = {**settings, "C": _C(random, 3.0), "solver": solver, "fit_intercept": free}
    return KernelSVC("linear", loss, **settings)


def _kernel_features(random: Random, settings: Settings, classes: int) -> Any:
    """Return a model with a kernel whose features are few and exact, for whole numbers."""
    make = (_kernel, _kernel_pairs, _kernel_joint)[random.integers(3)]
    model = make(random, settings, classes)
    if random.random() < 0.5:
        return model.set_params(kernel="precomputed")
    return model.set_params(kernel="poly", degree=2, gamma=1.0, coef0=float(random.integers(2)))


def _kernel_pairs(random: Random, settings: Settings, classes: int) -> Any:
    model = _kernel(random, settings, classes)
    solver = _solver(random, solvers_for(KernelPairsProblem))
    return model.set_params(multi_class="ovo", solver=solver)


def _kernel_joint(random: Random, settings: Settings, classes: int) -> Any:
    rule = str(random.choice(["weston_watkins", "crammer_singer"]))
    solver = _solver(random, solvers_for(KernelMulticlassProblem))
    return KernelSVC("linear", C=_C(random, 3.0), multi_class=rule, solver=solver, **settings)


def _sequence(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(SequenceProblem))
    cost: Any = "hamming"
    if random.random() < 0.3:
        cost = 10.0 ** random.uniform(-3.0, 3.0, size=(classes, classes))
        np.fill_diagonal(cost, 0.0)
    both = bool(random.integers(2))
    return SequenceSVC(_C(random), cost=cost, boundaries=both, solver=solver, **settings)


def _conditional(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(ConditionalProblem))
    return SequenceCRF(_C(random), boundaries=bool(random.integers(2)), solver=solver, **settings)


def _structured(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(StructuredProblem))
    return StructuredSVC(MulticlassModel(classes), _C(random, 3.0), solver=solver, **settings)


def _regression(random: Random, settings: Settings, classes: int) -> Any:
    return LinearSVR(
        loss=str(random.choice(["epsilon_insensitive", "squared_epsilon_insensitive"])),
        epsilon=float(random.choice([0.0, 0.0, 1e-6, 0.1, 1.0, 1e3])),
        C=_C(random),
        solver=_solver(random, solvers_for(RegressionProblem)),
        **_intercept(random),
        **settings,
    )


def _one_class(random: Random, settings: Settings, classes: int) -> Any:
    nu = float(random.choice([1e-6, 1e-3, 0.1, 0.5, 1.0, random.random() + 1e-9]))
    return LinearOneClassSVM(
        min(nu, 1.0), solver=_solver(random, solvers_for(OneClassProblem)), **settings
    )


def _bounds(random: Random) -> Settings:
    """Return bounds, around zero or not, equal or on one side alone."""
    if random.random() < 0.3:
        return {"positive": True}
    low = float(random.choice([0.0, 1.0, -1.0]) * 10.0 ** random.uniform(-6.0, 6.0))
    width = float(random.choice([0.0, 1.0, np.inf]) * 10.0 ** random.uniform(-6.0, 6.0))
    return {"coef_bounds": (None if random.random() < 0.2 else low, low + width)}


def _bounded(random: Random, settings: Settings, classes: int) -> Any:
    loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
    solver = _solver(random, solvers_for(BoundedBinary))
    settings = {**settings, **_intercept(random), **_bounds(random), "C": _C(random)}
    if loss == "logistic":
        return LogisticRegression(multi_class="ovr", solver=solver, **settings)
    return LinearSVC(loss, solver=solver, **settings)


def _bounded_regression(random: Random, settings: Settings, classes: int) -> Any:
    solver = _solver(random, solvers_for(BoundedRegression))
    model = _regression(random, settings, classes)
    return model.set_params(solver=solver, **_bounds(random))


def _search(random: Random, settings: Settings, classes: int) -> Any:
    loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
    settings = {**settings, "Cs": 3, "cv": 2, **_intercept(random)}
    sparse = loss != "hinge" and random.random() < 0.25
    if sparse:
        settings["penalty"] = "l1"
    if loss != "logistic":
        return LinearSVCCV(loss, **settings)
    rule = "ovr" if sparse or random.random() < 0.5 else "multinomial"
    return LogisticRegressionCV(multi_class=rule, use_legacy_attributes=False, **settings)


def _regression_search(random: Random, settings: Settings, classes: int) -> Any:
    loss = str(random.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    epsilon = float(random.choice([0.0, 0.1, 1e3]))
    settings = {**settings, "Cs": 3, "cv": 2, **_intercept(random)}
    return LinearSVRCV(loss=loss, epsilon=epsilon, **settings)


def _robust_search(random: Random, settings: Settings, classes: int) -> Any:
    norm = float(random.choice([1.0, 2.0, np.inf]))
    return RobustSVCCV([0.0, 0.1, 1.0], norm=norm, cv=2, **settings)


def _values_of_C(random: Random) -> list[float]:
    return sorted({_C(random) for _ in range(random.integers(1, 5))})


def _path(random: Random, settings: Settings, classes: int) -> Any:
    loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
    rule, ratio = "ovr", 0.0
    if random.random() < 0.3:
        rules = {"hinge": ["weston_watkins", "crammer_singer"], "logistic": ["multinomial"]}
        rule = str(random.choice(rules.get(loss, ["ovr"])))
    if loss != "hinge" and rule == "ovr" and random.random() < 0.3:
        ratio = float(random.choice([1.0, 0.5]))
    Cs = _values_of_C(random)
    return OverC(Cs, loss, rule, ratio, **_intercept(random), **settings)


def _lanes(random: Random, settings: Settings, classes: int) -> Any:
    engine = str(random.choice(["folds", "classes"]))
    loss = str(random.choice(["squared_hinge", "logistic"]))
    settings = {**settings, **_intercept(random)}
    if engine == "classes" and settings["fit_intercept"] is True:  # it has no free intercepts
        settings["fit_intercept"] = False
    return Stacked(engine, _values_of_C(random), loss, **settings)


def _blocks(random: Random, settings: Settings, classes: int) -> Any:
    return _margins(random, settings, classes).set_params(n_jobs=int(random.integers(1, 4)))


def _disk(random: Random, settings: Settings, classes: int) -> Any:
    model = _blocks(random, settings, classes)
    # Most solvers refuse rows that are not in memory.
    streams = "proximal_newton" if getattr(model, "loss", "") == "hinge" else "newton"
    return model.set_params(solver=_solver(random, ["auto", streams]))


KINDS = {
    "binary": Kind(38.0, ("binary",), (2, 2), _margins),
    "ovr": Kind(12.0, ("binary",), (2, 4), _margins),
    "sparse": Kind(10.0, ("sparse_weights",), (2, 3), _sparse),
    "joint": Kind(14.0, ("multiclass",), (2, 4), _joint),
    "multinomial": Kind(9.0, ("multinomial",), (3, 4), _multinomial),
    "sparse multinomial": Kind(1.0, ("sparse_multinomial",), (3, 4), _sparse_multinomial),
    "no penalty": Kind(5.0, ("unpenalised", "unpenalised_multinomial"), (2, 4), _unpenalised),
    "robust": Kind(6.0, ("robust",), (2, 4), _robust, 0.03),
    "kernel": Kind(1.0, ("kernel",), (2, 3), _kernel, 0.03),
    "kernel pairs": Kind(0.5, ("kernel_pairs",), (3, 4), _kernel_pairs, 0.03),
    "kernel joint": Kind(1.0, ("kernel_multiclass",), (2, 4), _kernel_joint, 0.03),
    "kernel features": Kind(0.5, (), (2, 4), _kernel_features, 0.03),
    "sequence": Kind(5.0, ("sequence",), (2, 4), _sequence),
    "conditional": Kind(4.0, ("conditional",), (2, 4), _conditional, 0.1),
    "structured": Kind(2.0, ("structured",), (2, 4), _structured, 0.1),
    "regression": Kind(10.0, ("regression",), (2, 2), _regression),
    "regression bounded": Kind(2.0, ("bounded",), (2, 2), _bounded_regression),
    "bounded": Kind(4.0, ("bounded",), (2, 2), _bounded),
    "one class": Kind(5.0, ("one_class",), (2, 2), _one_class),
    "blocks": Kind(5.0, ("binary",), (2, 2), _blocks),
    "disk": Kind(1.5, (), (2, 3), _disk),
    "path": Kind(2.0, (), (2, 4), _path, 0.1),
    "lanes": Kind(4.0, ("lanes",), (2, 4), _lanes, 0.1),
    "search": Kind(1.0, (), (2, 3), _search),
    "regression search": Kind(0.5, (), (2, 2), _regression_search),
    "robust search": Kind(0.3, (), (2, 3), _robust_search, 0.03),
}
"""By the first word of a row of the campaign's table."""
