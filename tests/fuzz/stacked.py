"""Paths over C and the stacked problems of searches, as models that the campaign can fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from tests.fuzz.nasty import Data

from widemargin import path
from widemargin.data.centring import given_intercepts
from widemargin.data.training_set import TrainingSet
from widemargin.exact.binary import ExactBinary
from widemargin.exact.integers import ExactRows
from widemargin.exact.losses import EXACT_LOSSES
from widemargin.exact.verdict import ExactCertificate
from widemargin.exact.verify import both_classes, exact_binary, exact_joint
from widemargin.interrupt import Interrupt
from widemargin.problems.losses import LOSSES
from widemargin.problems.rules import rule_for
from widemargin.selection.engines.base import Effort
from widemargin.selection.engines.class_lanes import ClassLanes
from widemargin.selection.engines.fold_lanes import FoldLanes
from widemargin.selection.folds import Folds


class OverC(BaseEstimator):
    """`path` as a model: one certificate per C and class."""

    def __init__(
        self,
        Cs: Any = (),
        loss: str = "hinge",
        multi_class: str = "ovr",
        l1_ratio: float = 0.0,
        fit_intercept: Any = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        time_limit: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.Cs, self.loss, self.multi_class, self.l1_ratio = Cs, loss, multi_class, l1_ratio
        self.fit_intercept, self.intercept_scaling = fit_intercept, intercept_scaling
        self.class_weight, self.solver, self.tol = class_weight, solver, tol
        self.max_iter, self.time_limit, self.random_state = max_iter, time_limit, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OverC:
        """Solve at every C; a path says by `converged` that it fell short, a model warns."""
        settings = self.get_params()
        Cs, seed = settings.pop("Cs"), settings.pop("random_state")
        over = path(X, y, list(Cs), sample_weight=sample_weight, seed=seed, **settings)
        self.path_ = over
        found = [solution for row in over.solutions for solution in row]
        self.status_ = [solution.status.name.lower() for solution in found]
        self.primal_ = np.array([solution.certificate.primal for solution in found])
        self.dual_ = np.array([solution.certificate.dual for solution in found])
        self.coef_, self.intercept_ = over.coefs, over.intercepts
        if not over.converged:
            warnings.warn("short of the tolerance", ConvergenceWarning, stacklevel=2)
        return self

    def untrue(self, data: Data) -> str:
        """Say which certificate of the path is not true."""
        unit = TrainingSet.of(
            data.X,
            data.y,
            data.sample_weight,
            class_weight=self.class_weight,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
        )
        for at, C in enumerate(self.path_.Cs):
            # Its costs are those at C = 1 times C, rounded once.
            costs = replace(unit, cost=unit.cost * float(C), C=float(C))
            found = self._untrue_at(costs, at)
            if found:
                return f"at C = {C!r}: {found}"
        return ""

    def _untrue_at(self, data: TrainingSet, at: int) -> str:
        coef, intercept = self.coef_[at], self.intercept_[at]
        rule = rule_for(self.multi_class, data.classes.size)
        exact: Any
        for place, solution in enumerate(self.path_.solutions[at]):
            if rule != "ovr":
                exact = exact_joint(data, rule)
                primal = exact.primal(both_classes(coef), both_classes(intercept))
                given = solution.alpha
                alpha = given.toarray() if sp.issparse(given) else np.array(given)
                alpha[np.arange(data.codes.size), data.codes] = 0.0
            else:
                rows = ExactRows(data.X)
                exact = exact_binary(data, rows, place, self.loss, self.l1_ratio)
                primal = exact.primal(coef[place], float(intercept[place]))
                alpha = solution.alpha
            dual = exact.dual(alpha, primal.upper)
            claim = solution.certificate
            verdict = ExactCertificate(str(place), claim.primal, claim.dual, primal, *dual)
            if verdict.verdict != "true":
                return f"{verdict}"
        return ""


class Stacked(BaseEstimator):
    """The folds of a search in the lanes of one problem, by each of the two engines."""

    def __init__(
        self,
        engine: str = "folds",
        Cs: Any = (),
        loss: str = "logistic",
        fit_intercept: Any = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        time_limit: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.engine, self.Cs, self.loss = engine, Cs, loss
        self.fit_intercept, self.intercept_scaling = fit_intercept, intercept_scaling
        self.class_weight, self.tol, self.max_iter = class_weight, tol, max_iter
        self.time_limit, self.random_state = time_limit, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Stacked:
        """Solve all folds at every C, and keep what each lane claims."""
        data = TrainingSet.of(
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
        )
        half = np.arange(data.rows.count) < data.rows.count // 2
        splits = [(np.flatnonzero(half), np.flatnonzero(~half))]
        splits += [(np.flatnonzero(~half), np.flatnonzero(half))]
        folds = Folds(data, splits, LOSSES[self.loss])
        engine = FoldLanes(folds) if self.engine == "folds" else ClassLanes(folds)
        self.claims_: list[Any] = []
        self.status_, primal, dual = [], [], []
        for C in self.Cs:
            effort = Effort(self.tol, self.max_iter, None, self.random_state, 1, Interrupt())
            solved = engine.solve(float(C), effort)
            self.claims_ += list(_lanes(engine, solved))
            self.status_ += ["solved"] * solved.primal.size
            primal.append(solved.primal.ravel())
            dual.append(solved.dual.ravel())
        self.primal_, self.dual_ = np.concatenate(primal), np.concatenate(dual)
        self.coef_, self.intercept_ = engine.weights()
        warnings.warn("folds are solved as well as they are", ConvergenceWarning, stacklevel=2)
        return self

    def untrue(self, data: Data) -> str:
        """Say which certificate of a lane is not true."""
        free = self.fit_intercept is True
        for about, X, signed, C, w, b, alpha, claimed in self.claims_:
            signs, loss = np.where(signed < 0.0, -1.0, 1.0), EXACT_LOSSES[self.loss]
            exact = ExactBinary.of(ExactRows(X), signs, C * np.abs(signed), loss, free)
            primal = exact.primal(w, b)
            dual = exact.dual(np.abs(alpha), primal.upper)
            verdict = ExactCertificate(about, *claimed, primal, *dual)
            if verdict.verdict != "true":
                return f"{about} at C = {C!r}: {verdict}"
        return ""


def _lanes(engine: Any, solved: Any) -> Any:
    """Yield of each lane its data, its point and what is claimed."""
    data = engine.folds.data
    whole = _with_constant(data.X, data.scaling)
    for group in engine.groups:
        if isinstance(engine, FoldLanes):
            problem, rows, X = group.problem, data.rows, whole
            point, _, _ = problem.certify_lanes(group.solution.point)
            w, b, alpha, C = point.w, point.b, point.alpha, problem.C
            places = [(fold, group.place) for fold in group.members]
        else:
            rows, X = group.rows, whole[engine.folds.splits[group.fold][0]]
            w, alpha, C = group.w, group.known.alpha, group.known.C
            b, places = np.zeros(w.shape[1]), [(group.fold, place) for place in group.places]
        for lane, place in enumerate(places):
            line = np.ascontiguousarray(w[:, lane])
            intercept = given_intercepts(line, float(b[lane]), rows.shift)
            claimed = float(solved.primal[place]), float(solved.dual[place])
            about = f"{type(engine).__name__} fold {place[0]} class {place[1]}"
            kept = group.signed[:, lane].copy(), C, line, float(intercept), alpha[:, lane].copy()
            yield about, X, *kept, claimed


def _with_constant(X: Any, scaling: float) -> Any:
    """Return the rows with the constant feature behind a penalised intercept."""
    if not scaling:
        return X
    column = np.full((X.shape[0], 1), scaling)
    return sp.hstack([X, column], "csr") if sp.issparse(X) else np.hstack([X, column])
