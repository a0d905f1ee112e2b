"""``widemargin certify``: certify a model trained elsewhere."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from widemargin.cli import scores, sequences
from widemargin.cli.inputs import fit_width, read_any_model, read_data
from widemargin.cli.options import (
    INTERCEPTS,
    LOSSES,
    MULTI_CLASS,
    NUMBER,
    add_bounds,
    add_data_options,
    add_disk_options,
    add_output_options,
    add_stopping_options,
    adder,
    parse_class_weight,
)
from widemargin.cli.output import Output, label_text
from widemargin.cli.parser import Items, items
from widemargin.cli.progress import following
from widemargin.cli.training import bounded_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.cli.progress import FitCallback
    from widemargin.data.training_set import TrainingSet
    from widemargin.model_io import LinearModel
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.certificate import Certificate, Point
    from widemargin.problems.rules import JointProblem
    from widemargin.run import Record


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "certify",
        help="certify a model trained elsewhere",
        description="Compute the objective at a model's weights, search for a lower bound on the "
        "optimum, and print both. Exit code 1 if the gap is above --tol. Pass what the model file "
        "does not contain: LIBLINEAR's files do not contain C.",
    )
    parser.add_argument("model", help="a widemargin or LIBLINEAR model")
    parser.add_argument("data", help="the data it was trained on")
    add = adder(parser.add_argument_group("problem (default: that of the model file)"))
    add("--loss", None, "loss function", choices=LOSSES)
    add("-C", None, "weight of the losses in the objective", **NUMBER)
    add("--epsilon", None, "half-width of the tube of a regression", **scores.EPSILON)
    share = "share of outliers that an outlier detector was trained with"
    add("--nu", None, share, metavar="SHARE", **NUMBER)
    add("--multi-class", None, "multiclass rule", choices=MULTI_CLASS)
    add_bounds(add)
    kinds = "LIBLINEAR models with a bias are penalised"
    add("--intercept", None, kinds, choices=tuple(INTERCEPTS))
    add("--intercept-scaling", None, "value of a penalised intercept's feature", **NUMBER)
    add(
        "--class-weight",
        None,
        "factors on C per class, separated by commas",
        type=items,
        action=Items,
        metavar="LABEL=WEIGHT",
    )
    add = adder(parser.add_argument_group("search for the bound"))
    add_stopping_options(add, 1e-3, "relative gap to certify", 60.0, "per problem")
    exact = (
        "compute the bounds in exact arithmetic, apart from the kernels that found them; about ten "
        "seconds per class and million stored values"
    )
    parser.add_argument("--exact", action="store_true", help=exact)
    add_data_options(parser)
    add_disk_options(parser)
    add_output_options(parser, checks=True)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Finding:
    """The bounds of one problem, and the best objective that the search found."""

    certificate: Certificate
    best_primal: float
    finished: bool
    alpha: Any


def run(options: argparse.Namespace) -> int:
    """Read both files, certify every problem, report."""
    from widemargin.data.coefficient_bounds import bounds_of as coefficient_bounds
    from widemargin.model_io import LinearModel

    output = Output(options)
    model = read_any_model(options.model, ("widemargin certify MODEL DATA", options.data))
    if not isinstance(model, LinearModel):
        return _certify_other(options, output, model)
    data = read_data(options.data, options, model)
    model = _as_asked(model, options)
    if data.y is None:
        raise ValueError(f"{options.data} has no labels")
    training = training_set_of(model, data.X, data.y)
    problems = _bounded(problems_of(model, training), options)
    titles = [label_text(label) for label in model.classes.tolist()]
    titles = titles[1:] if len(problems) == 1 else titles
    titles = titles if model.multi_class == "ovr" else ["all classes"]
    findings: list[Finding] = []
    with following(output, options.tol) as callback:
        for title, (problem, w, b) in zip(titles, problems, strict=True):
            bounded = not findings or findings[-1].finished
            findings.append(bounds_of(problem, w, b, options, title, callback, search=bounded))
    if not findings[-1].finished:
        output.note("interrupted: these are the bounds found so far")
    if options.exact:
        bounds = coefficient_bounds(options, training.rows.features)
        findings = exactly(model, training, findings, bounds)
    worst = max(finding.certificate.relative_gap for finding in findings)
    _report(output, options, model, titles, findings, worst)
    return 0 if worst <= options.tol else 1


def _bounded(problems: list[Any], options: argparse.Namespace) -> list[Any]:
    """Return the problems, each with its weights, with the bounds that are asked for."""
    return [(bounded_problem(problem, options), w, b) for problem, w, b in problems]


def _certify_other(options: argparse.Namespace, output: Output, model: Any) -> int:
    """Certify a model that is no classifier of rows."""
    from widemargin.model_io import ScoreModel

    if isinstance(model, ScoreModel):
        from widemargin.cli.certify_scores import certify

        return certify(options, output, model)
    return sequences.certify(options, output, model)


def _as_asked(model: LinearModel, options: argparse.Namespace) -> LinearModel:
    """Return the model, with the options in place of what its file says about the training."""
    changes: dict[str, Any] = {
        "loss": options.loss,
        "C": options.C,
        "multi_class": options.multi_class,
        "intercept_kind": options.intercept,
        "intercept_scaling": options.intercept_scaling,
        "class_weight": parse_class_weight(options.class_weight, model.classes),
    }
    model = replace(model, **{name: value for name, value in changes.items() if value is not None})
    if options.epsilon is not None:
        raise ValueError(f"--epsilon is for regressions, and {options.model} is none")
    if options.nu is not None:
        raise ValueError(f"--nu is for outlier detectors, and {options.model} is none")
    if model.C is None:
        raise ValueError(f"{options.model} does not contain the C it was trained with: pass -C")
    if model.intercept_kind == "none" and model.intercept.any():
        raise ValueError("the model has an intercept: --intercept must be exact or penalised")
    return model


def training_set_of(model: LinearModel, X: Any, y: NDArray[Any]) -> TrainingSet:
    """Return the data as the model's problems have them, or raise an error if they do not fit."""
    from widemargin.data.training_set import TrainingSet
    from widemargin.problems.losses import LOSSES as LOSS_OF_NAME
    from widemargin.problems.rules import loss_of_rule, rule_for

    rule = rule_for(model.multi_class, model.classes.size)
    together = rule != "ovr"
    known = model.loss == loss_of_rule(rule) if together else model.loss in LOSS_OF_NAME
    if not known or (model.classes.size == 2) != (model.coef.shape[0] == 1):
        raise ValueError(f"models of the kind {model.solver or model.loss} cannot be certified")
    data = TrainingSet.of(
        fit_width(X, max(X.shape[1], model.n_features)),
        y,
        C=float(model.C or 1.0),
        class_weight=model.class_weight,
        fit_intercept=INTERCEPTS[model.intercept_kind],
        intercept_scaling=model.intercept_scaling,
        classes=model.classes,
    )
    for place, label in enumerate(model.classes.tolist()):
        if not (data.codes == place).any():
            raise ValueError(f"the data have no example of the model's class {label_text(label)}")
    if data.rows.features < model.n_features:
        raise ValueError(
            f"the data have {data.rows.features} features, but the model has {model.n_features}"
        )
    return data


def coefficients_of(model: LinearModel, data: TrainingSet) -> NDArray[Any]:
    """Return the weights, a row each; features that the model was not trained on have zero."""
    import numpy as np

    coef = np.zeros((model.coef.shape[0], data.rows.features))
    coef[:, : model.n_features] = model.coef
    return coef


def problems_of(
    model: LinearModel, data: TrainingSet
) -> list[tuple[BinaryProblem | JointProblem, NDArray[Any], Any]]:
    """Return the problems that a model solves, each with the model's weights (w, b) for it."""
    import numpy as np

    from widemargin.data.training_set import join_intercept
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.losses import LOSSES as LOSS_OF_NAME
    from widemargin.problems.multiclass import both_classes
    from widemargin.problems.rules import joint_problem, rule_for
    from widemargin.problems.sparse_weights import SparseProblem

    coef = coefficients_of(model, data)
    w, b = join_intercept(coef, model.intercept, data.scaling, data.rows.shift)
    rule = rule_for(model.multi_class, model.classes.size)
    if rule != "ovr":
        return [(joint_problem(data, rule, model.l1_ratio), both_classes(w), both_classes(b))]
    loss = LOSS_OF_NAME[model.loss]

    def one(positive: int) -> Any:
        if model.l1_ratio:
            return SparseProblem.of(data, positive, loss, model.l1_ratio)
        return BinaryProblem.of(data, positive, loss)

    return [
        (one(positive), np.ascontiguousarray(w[place]), float(b[place]))
        for place, positive in enumerate(data.positives)
    ]


def exactly(
    model: LinearModel, data: TrainingSet, findings: list[Finding], bounds: Any = None
) -> list[Finding]:
    """Return the findings with P and D computed in exact arithmetic and rounded outwards."""
    from widemargin.exact.integers import ExactRows, float_above, float_below
    from widemargin.exact.verify import both_classes, exact_binary, exact_joint
    from widemargin.problems.certificate import Certificate
    from widemargin.problems.rules import rule_for

    rule = rule_for(model.multi_class, model.classes.size)
    coef, b = coefficients_of(model, data), model.intercept
    rows, found = ExactRows(data.X), []
    for place, finding in enumerate(findings):
        if rule == "ovr":
            binary = exact_binary(data, rows, place, model.loss, model.l1_ratio, bounds)
            primal = binary.primal(coef[place], float(b[place])).upper
            dual = binary.dual(finding.alpha, primal).value.lower
        else:
            joint = exact_joint(data, rule, model.l1_ratio)
            primal = joint.primal(both_classes(coef), both_classes(b)).upper
            dual = joint.dual(finding.alpha, primal).value.lower
        certificate = Certificate(float_above(primal), float_below(dual))
        found.append(replace(finding, certificate=certificate))
    return found


def bounds_of(
    problem: Any,
    w: NDArray[Any],
    b: Any,
    options: argparse.Namespace,
    title: str,
    callback: FitCallback | None,
    *,
    search: bool = True,
) -> Finding:
    """Return P at the model's own weights, and the best D that a limited run finds."""
    from widemargin.auto.registry import choice_of
    from widemargin.interrupt import Interrupt
    from widemargin.problems.certificate import Certificate
    from widemargin.run import run as solve

    primal = problem.primal_at(w, b)
    start: Point = problem.point_at(w, b)
    feasible, first = problem.certify(start)
    certificate = Certificate(primal, first.dual, least=first.least)
    if certificate.relative_gap <= options.tol or not search:
        return Finding(certificate, primal, search, feasible.alpha)
    enough = False

    def watch(record: Record) -> bool:
        nonlocal enough
        if callback is not None:
            callback(title, record)
        enough = Certificate(primal, record.dual, least=first.least).relative_gap <= options.tol
        return enough

    interrupt = Interrupt()
    solution = solve(
        problem,
        choice_of("auto", type(problem)),
        tol=min(options.tol / 10.0, 1e-2),
        max_iter=options.max_iter,
        time_limit=options.time_limit,
        callbacks=[watch],
        warm=start,
        interrupt=interrupt,
    )
    better = solution.certificate.dual >= first.dual
    return Finding(
        Certificate(primal, max(first.dual, solution.certificate.dual), least=first.least),
        min(primal, solution.certificate.primal),
        enough or not interrupt.requested,
        solution.alpha if better else feasible.alpha,
    )


def _report(
    output: Output,
    options: argparse.Namespace,
    model: LinearModel,
    titles: list[str],
    findings: list[Finding],
    worst: float,
) -> None:
    loss, C, intercept = model.loss, model.C, model.intercept_kind
    rule = "" if model.multi_class == "ovr" else f", {model.multi_class}"
    output.table(
        ("class", "primal", "dual", "gap", "relative gap", "best objective found"),
        [
            (
                title,
                finding.certificate.primal,
                finding.certificate.dual,
                f"{finding.certificate.gap:.3e}",
                f"{finding.certificate.relative_gap:.2e}",
                finding.best_primal,
            )
            for title, finding in zip(titles, findings, strict=True)
        ],
        title=f"{options.model}: {loss}{rule}, C = {C:g}, intercept {intercept}",
    )
    verdict = "is" if worst <= options.tol else "is not"
    how = "proven in exact arithmetic" if options.exact else "proven"
    output.text(
        f"The objective {verdict} {how} to be within {100 * options.tol:g} % of the optimum "
        f"(largest relative gap {worst:.2e}, tol {options.tol:g})."
    )
    output.result(
        *("model", "data", "tol", "exact"),
        loss=loss,
        multi_class=model.multi_class,
        C=C,
        intercept=intercept,
        relative_gap=worst,
        certified=worst <= options.tol,
        problems=[
            {
                "class": title,
                "primal": finding.certificate.primal,
                "dual": finding.certificate.dual,
                "gap": finding.certificate.gap,
                "relative_gap": finding.certificate.relative_gap,
                "best_primal": finding.best_primal,
            }
            for title, finding in zip(titles, findings, strict=True)
        ],
    )
