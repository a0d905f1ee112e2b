"""``widemargin certify`` of regressions and outlier detectors."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.cli import scores
from widemargin.cli.certify import Finding, bounds_of
from widemargin.cli.inputs import fit_width, read_data
from widemargin.cli.options import INTERCEPTS
from widemargin.cli.output import Output
from widemargin.cli.progress import following
from widemargin.cli.training import bounded_problem

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.model_io import ScoreModel

_NEEDED = {
    "regression": (("C", "-C"), ("epsilon", "--epsilon")),
    "one_class": (("nu", "--nu"),),
}
"""What must be known about the training of a model of each kind, and the option that says it."""

_FOREIGN = {
    "regression": ("nu",),
    "one_class": ("C", "epsilon", "coef_bounds", "positive", "intercept", "intercept_scaling"),
}
_NAMES = {"regression": "a regression", "one_class": "an outlier detector"}


def certify(options: argparse.Namespace, output: Output, model: ScoreModel) -> int:
    """Compute the objective at the model's weights, and search for a bound on the optimum."""
    scores.check_options(options)
    model = _as_asked(model, options)
    data = read_data(options.data, options, model)
    state = _regression if model.kind == "regression" else _one_class
    problem, w, b, judge = state(model, data, options)
    with following(output, options.tol) as callback:
        finding = bounds_of(problem, w, b, options, model.kind.replace("_", " "), callback)
    if not finding.finished:
        output.note("interrupted: these are the bounds found so far")
    if options.exact:
        finding = replace(finding, certificate=_exactly(judge, finding))
    _report(options, output, model, finding)
    return 0 if finding.certificate.relative_gap <= options.tol else 1


def _as_asked(model: ScoreModel, options: argparse.Namespace) -> ScoreModel:
    """Return the model, with the options in place of what its file says about the training."""
    for name in _FOREIGN[model.kind]:
        if getattr(options, name) not in (None, False):
            option = f"-{name}" if name == "C" else f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is not for {_NAMES[model.kind]}, which {options.model} is")
    changes = {
        "C": options.C,
        "epsilon": options.epsilon,
        "nu": options.nu,
        "intercept_kind": options.intercept,
        "intercept_scaling": options.intercept_scaling,
    }
    model = replace(model, **{name: value for name, value in changes.items() if value is not None})
    for name, option in _NEEDED[model.kind]:
        if getattr(model, name) is None:
            raise ValueError(
                f"{options.model} does not say which {name} it was trained with: pass {option}"
            )
    if model.intercept_kind == "none" and model.intercept:
        raise ValueError("the model has an intercept: --intercept must be exact or penalised")
    return model


def _regression(model: ScoreModel, data: Data, options: argparse.Namespace) -> Any:
    """Return the problem, the model's weights and intercept in it, and what judges them exactly."""
    from widemargin.data.coefficient_bounds import bounds_of
    from widemargin.data.target_set import TargetSet
    from widemargin.exact.verify import exact_regression
    from widemargin.problems.regression import RegressionProblem

    scores.check_numbers(data, options.data)
    training = TargetSet.of(
        fit_width(data.X, model.n_features),
        data.y,
        C=float(model.C or 1.0),
        fit_intercept=INTERCEPTS[model.intercept_kind],
        intercept_scaling=model.intercept_scaling,
    )
    epsilon = float(model.epsilon or 0.0)
    problem = bounded_problem(RegressionProblem.of(training, model.loss, epsilon), options)
    bounds = bounds_of(options, training.rows.features)
    w, b = np.array(model.coef), 0.0
    if training.scaling:
        w = np.append(w, model.intercept / training.scaling)
    elif training.free_intercept:
        b = problem.own_intercept(w, model.intercept)

    def judge(beta: Any) -> Any:
        exact = exact_regression(training, model.loss, epsilon, bounds)
        primal = exact.primal(model.coef, float(model.intercept)).upper
        return primal, exact.dual(beta, primal).value.lower

    return problem, w, b, judge


def _one_class(model: ScoreModel, data: Data, options: argparse.Namespace) -> Any:
    """Return the same for an outlier detector; labels of the data do not matter."""
    from widemargin.data.validation import validate_unlabelled
    from widemargin.exact.integers import ExactRows, Scaled
    from widemargin.exact.one_class import ExactOneClass
    from widemargin.problems.one_class import OneClassProblem

    X, rows = validate_unlabelled(None, fit_width(data.X, model.n_features))
    cost, nu, rho = np.ones(rows.count), float(model.nu or 1.0), -model.intercept
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"--nu must be above 0 and at most 1; got {nu:g}")
    problem = OneClassProblem.stated(rows, cost, nu)

    def judge(alpha: Any) -> Any:
        exact = ExactOneClass(ExactRows(X), Scaled.of(cost), nu)
        return exact.primal(model.coef, rho).upper, exact.dual(problem.given(alpha)).value.lower

    w = problem.own(np.array(model.coef))
    return problem, w, 1.0 - float(problem.own(rho)), judge


def _exactly(judge: Any, finding: Finding) -> Any:
    """Return the certificate with P and D computed in exact arithmetic and rounded outwards."""
    from widemargin.exact.integers import float_above, float_below
    from widemargin.problems.certificate import Certificate

    primal, dual = judge(finding.alpha)
    least = finding.certificate.least
    return Certificate(float_above(primal), float_below(dual), least=least)


def _report(
    options: argparse.Namespace, output: Output, model: ScoreModel, finding: Finding
) -> None:
    certificate = finding.certificate
    proved = certificate.relative_gap <= options.tol
    names = ("primal", "dual", "gap", "relative gap", "best objective found")
    values = (
        *(certificate.primal, certificate.dual, f"{certificate.gap:.3e}"),
        *(f"{certificate.relative_gap:.2e}", finding.best_primal),
    )
    about: dict[str, Any] = {"nu": model.nu}
    title = f"one class, nu = {model.nu}"
    if model.kind == "regression":
        about = {"loss": model.loss, "epsilon": model.epsilon, "C": model.C}
        about["intercept"] = model.intercept_kind
        title = f"{model.loss}, epsilon = {model.epsilon:g}, C = {model.C:g}"
        title += f", intercept {model.intercept_kind}"
    output.table(names, [values], title=f"{options.model}: {title}")
    how = "proven in exact arithmetic" if options.exact else "proven"
    output.text(
        f"The objective {'is' if proved else 'is not'} {how} to be within {100 * options.tol:g} % "
        f"of the optimum (relative gap {certificate.relative_gap:.2e}, tol {options.tol:g})."
    )
    output.result(
        *("model", "data", "tol", "exact"),
        **about,
        primal=certificate.primal,
        dual=certificate.dual,
        relative_gap=certificate.relative_gap,
        best_primal=finding.best_primal,
        certified=proved,
    )
