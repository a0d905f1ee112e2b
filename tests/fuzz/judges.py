"""Judges of what a model claims: exact arithmetic, or exact bounds of the same optimum."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from tests.fuzz.nasty import Data

from widemargin import LinearSVC, LogisticRegression, verify_exactly
from widemargin.data.training_set import TrainingSet
from widemargin.exact.bounds import Bounds
from widemargin.exact.integers import ExactRows, Scaled
from widemargin.exact.verdict import ExactCertificate
from widemargin.exact.verify import (
    both_classes,
    chain_weights,
    exact_binary,
    exact_chains,
    exact_joint,
)
from widemargin.problems.kernel_pairs import pairs_of


def untrue(kind: str, model: Any, data: Data) -> str:
    """Say which claim of a fitted model is not true; nothing if all are."""
    return _JUDGES.get(kind, _kept)(model, data)


def quiet(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit without warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return model.fit(X, y, sample_weight)


def _kept(model: Any, data: Data) -> str:
    """Judge a model that keeps its dual variables."""
    report = verify_exactly(model, data.X, data.y, data.sample_weight)
    for problem in report.problems:
        if problem.verdict != "true":
            return f"{_size(problem)}: {problem}"
    # The sum of true certificates can be rounded the wrong way.
    whole = model.certificate_
    primal = sum((p.exact_primal.lower for p in report.problems), Fraction(0))
    dual = sum((p.exact_dual.upper for p in report.problems), Fraction(0))
    if not (whole.primal >= primal and whole.dual <= dual):
        return f"the certificate of the whole model is not true: {whole}"
    return ""


def _size(problem: ExactCertificate) -> str:
    """Say how far a claim is from the truth, relative to the objective."""
    P = problem.exact_primal.upper
    over = [P - Fraction(problem.primal), Fraction(problem.dual) - problem.exact_dual.lower]
    share = float(max(over) / P) if P > 0 else float("inf")
    return "untrue by rounding" if share < 1e-9 else f"untrue by {share:.0e} of the objective"


def _excluded(primal: float, dual: float, bounds: tuple[Fraction, Fraction]) -> str:
    """Say whether claims exclude an optimum that lies between exact bounds."""
    lower, upper = bounds
    if not dual <= upper:
        return f"dual {float(dual)!r} above an objective of {float(upper)!r}"
    if not primal >= lower:
        return f"primal {float(primal)!r} below the bound {float(lower)!r}"
    return ""


def _optimum(linear: Any, X: Any, y: Any, weight: Any) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield exact bounds of the optima of a linear model's problems."""
    report = verify_exactly(quiet(linear, X, y, weight), X, y, weight)
    for problem in report.problems:
        yield problem.exact_dual.lower, problem.exact_primal.upper


def _kernel(model: Any, data: Data) -> str:
    """Compare a linear kernel with a linear model: both have the same optimum.

    A kernel model does not keep its dual variables. What it claims is false where its dual value is
    above an objective that is attained, or its primal value below a bound that is proved.
    """
    joint = model.multi_class not in ("ovr", "ovo")
    linear = LinearSVC(
        model.loss,
        C=model.C,
        tol=1e-7,
        multi_class=model.multi_class if joint else "ovr",
        fit_intercept=not joint and model.fit_intercept is not False,
        class_weight=model.class_weight,
        time_limit=0.1,
    )
    optima = _optimum(linear, data.X, data.y, data.sample_weight)
    if model.multi_class == "ovo" and np.unique(data.y).size > 2:
        optima = _optima_of_pairs(linear, data)
    for primal, dual, bounds in zip(model.primal_, model.dual_, optima, strict=True):
        found = _excluded(primal, dual, bounds)
        if found:
            return found
    return ""


def _kernel_features(model: Any, data: Data) -> str:
    """Compare with a linear model of the kernel's own features, which are whole numbers."""
    X = data.X
    if model.kernel == "poly":  # (x·z + c)² is the sum of all products of two of (x, c)
        X = np.hstack([X, np.full((len(X), 1), model.coef0)])
        X = np.einsum("ij,ik->ijk", X, X).reshape(len(X), -1)
    return _kernel(model, replace(data, X=X))


def _claims(model: Any, data: Data) -> str:
    """Ask a model of the campaign's own, which kept what every problem claims."""
    return str(model.untrue(data))


def _optima_of_pairs(linear: Any, data: Data) -> Iterator[tuple[Fraction, Fraction]]:
    labels = np.unique(data.y)
    X = data.X.tocsr() if sp.issparse(data.X) else data.X
    for first, second in pairs_of(labels.size):
        kept = np.flatnonzero((data.y == labels[first]) | (data.y == labels[second]))
        weight = None if data.sample_weight is None else data.sample_weight[kept]
        yield from _optimum(clone(linear), X[kept], data.y[kept], weight)


def _unpenalised(model: Any, data: Data) -> str:
    """Compare with the losses at the model's own weights, at others, and at zero."""
    other = LogisticRegression(
        C=1e6,
        multi_class=model.multi_class,
        fit_intercept=model.fit_intercept,
        class_weight=model.class_weight,
        time_limit=0.1,
    )
    quiet(other, data.X, data.y, data.sample_weight)
    own = _losses(model, data, model.coef_, model.intercept_)
    attained = [own, _losses(model, data, other.coef_, other.intercept_)]
    attained.append(_losses(model, data, 0.0 * model.coef_, 0.0 * model.intercept_))
    for place, (primal, dual) in enumerate(zip(model.primal_, model.dual_, strict=True)):
        lowest = min(losses[place].upper for losses in attained)
        found = _excluded(primal, dual, (own[place].upper, lowest))
        if found:
            return found
    return ""


def _losses(model: Any, data: Data, coef: Any, intercept: Any) -> list[Bounds]:
    """Return the sums of the log losses, without a penalty."""
    about = TrainingSet.of(
        data.X,
        data.y,
        data.sample_weight,
        C=1.0,
        class_weight=model.class_weight,
        fit_intercept=model.fit_intercept,
    )
    if model.multi_class == "multinomial" and about.classes.size > 2:
        w, b = both_classes(coef), both_classes(intercept)
        half_square = Bounds.exactly(Scaled.of(w).squared_length() / 2)
        return [exact_joint(about, "multinomial").primal(w, b) - half_square]
    rows, found = ExactRows(about.X), []
    for place in range(len(about.positives)):
        half_square = Bounds.exactly(Scaled.of(coef[place]).squared_length() / 2)
        problem = exact_binary(about, rows, place, "logistic")
        found.append(problem.primal(coef[place], float(intercept[place])) - half_square)
    return found


def _conditional(model: Any, data: Data) -> str:
    """Compare with P at the model's own weights, and at those of another solver."""
    exact = exact_chains(model, data.X, data.y, data.sample_weight)
    own = exact.log_primal(chain_weights(model))
    other = clone(model).set_params(
        solver="exponentiated_gradient", tol=1e-6, max_iter=300, time_limit=0.1
    )
    quiet(other, data.X, data.y, data.sample_weight)
    lowest = min(own.upper, exact.log_primal(chain_weights(other)).upper)
    return _excluded(model.certificate_.primal, model.certificate_.dual, (own.upper, lowest))


def _structured(model: Any, data: Data) -> str:
    """Compare with Crammer and Singer's problem, which has the same optimum."""
    labels, codes = np.unique(data.y, return_inverse=True)
    settings = {"C": model.C, "fit_intercept": False, "multi_class": "crammer_singer"}
    linear = LinearSVC("hinge", tol=1e-7, time_limit=0.1, **settings)
    (bounds,) = _optimum(linear, data.X, codes, data.sample_weight)
    about = TrainingSet.of(data.X, codes, data.sample_weight, C=model.C, fit_intercept=False)
    coef = model.coef_.reshape(labels.size, -1)
    own = exact_joint(about, "crammer_singer").primal(coef, np.zeros(labels.size))
    found = _excluded(model.certificate_.primal, model.certificate_.dual, bounds)
    if not found and not model.certificate_.primal >= own.upper:
        return f"primal {model.certificate_.primal!r} below the objective {float(own.upper)!r}"
    return found


_JUDGES = {
    "kernel": _kernel,
    "kernel pairs": _kernel,
    "kernel joint": _kernel,
    "kernel features": _kernel_features,
    "path": _claims,
    "lanes": _claims,
    "no penalty": _unpenalised,
    "conditional": _conditional,
    "structured": _structured,
}
"""Kinds whose models do not keep their dual variables, or not under the usual names."""
