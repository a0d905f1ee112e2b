"""``widemargin certify``: how far from optimal is a model that somebody else trained?"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import (
    add_data_arguments,
    fit_width,
    parse_class_weight,
    positive_integer,
    positive_number,
    read_data,
    read_model,
)
from widemargin.cli.output import Output, add_output_arguments, label_text
from widemargin.cli.progress import following
from widemargin.cli.training import LOSSES, MULTI_CLASS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.cli.progress import FitCallback
    from widemargin.model_io import LinearModel
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.certificate import Certificate, Point
    from widemargin.problems.multiclass import MulticlassProblem
    from widemargin.run import Record


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "certify",
        help="prove how good a model is, whoever trained it",
        description="Compute the objective at a model's weights, search for the best lower bound "
        "on it, and print both. Exit code 1 if the gap is above --tol. What the model file does "
        "not say (LIBLINEAR's do not name C) has to be given.",
    )
    parser.add_argument("model", help="a model of widemargin or of LIBLINEAR")
    parser.add_argument("data", help="the data it was trained on")
    group = parser.add_argument_group("the problem (default: as the model file says)")
    group.add_argument("--loss", choices=LOSSES)
    group.add_argument("-C", type=positive_number)
    group.add_argument("--multi-class", choices=MULTI_CLASS)
    group.add_argument(
        "--intercept",
        choices=("exact", "penalised", "none"),
        help="LIBLINEAR's models with a bias count as penalised",
    )
    group.add_argument("--intercept-scaling", type=positive_number)
    group.add_argument("--class-weight", nargs="+", metavar="LABEL=WEIGHT")
    group = parser.add_argument_group("the search for the bound")
    group.add_argument(
        "--tol", type=positive_number, default=1e-3, help="relative gap asked for (%(default)s)"
    )
    group.add_argument(
        "--time-limit",
        type=positive_number,
        default=60.0,
        metavar="SECONDS",
        help="for each problem (%(default)s)",
    )
    group.add_argument(
        "--max-iter",
        type=positive_integer,
        default=1000,
        metavar="COUNT",
        help="sweeps or steps at most (%(default)s)",
    )
    add_data_arguments(parser)
    add_output_arguments(parser, checks=True)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Finding:
    """What is known about one problem: the best objective found lies between the two."""

    certificate: Certificate
    best_primal: float
    finished: bool


def run(options: argparse.Namespace) -> int:
    """Read both files, certify every problem, report."""
    output = Output(options)
    model = read_model(options.model, ("widemargin certify MODEL DATA", options.data))
    data = read_data(options.data, options, model)
    model = _as_asked(model, options)
    if data.y is None:
        raise ValueError(f"{options.data} has no labels")
    problems = problems_of(model, data.X, data.y)
    titles = [label_text(label) for label in model.classes.tolist()]
    titles = titles[1:] if len(problems) == 1 else titles
    titles = titles if model.multi_class == "ovr" else ["all classes"]
    findings: list[Finding] = []
    with following(output, options.tol) as callback:
        for title, (problem, w, b) in zip(titles, problems, strict=True):
            bounded = not findings or findings[-1].finished
            findings.append(_certify(problem, w, b, options, title, callback, search=bounded))
    if not findings[-1].finished:
        output.note("interrupted: the bounds are those found so far")
    worst = max(finding.certificate.relative_gap for finding in findings)
    _report(output, options, model, titles, findings, worst)
    return 0 if worst <= options.tol else 1


def _as_asked(model: LinearModel, options: argparse.Namespace) -> LinearModel:
    """Return the model with what the options say about its training in place of its own word."""
    changes: dict[str, Any] = {
        "loss": options.loss,
        "C": options.C,
        "multi_class": options.multi_class,
        "intercept_kind": options.intercept,
        "intercept_scaling": options.intercept_scaling,
        "class_weight": parse_class_weight(options.class_weight, model.classes),
    }
    model = replace(model, **{name: value for name, value in changes.items() if value is not None})
    if model.C is None:
        raise ValueError(f"{options.model} does not say with which C it was trained: give -C")
    if model.intercept_kind == "none" and model.intercept.any():
        raise ValueError("the model has an intercept: --intercept must be exact or penalised")
    return model


def problems_of(
    model: LinearModel, X: Any, y: NDArray[Any]
) -> list[tuple[BinaryProblem | MulticlassProblem, NDArray[Any], Any]]:
    """Return each problem that a model should solve, with the model's weights for it.

    Parameters
    ----------
    model : LinearModel
        With loss, C and the kind of intercept that the problem has.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Returns
    -------
    list of (problem, w, b)
    """
    import numpy as np

    from widemargin.data.rows import Rows, as_rows_array
    from widemargin.data.validation import class_costs
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.losses import LOSSES as LOSS_OF_NAME
    from widemargin.problems.multiclass import MulticlassProblem, both_classes

    together = model.multi_class != "ovr"
    known = model.loss == "hinge" if together else model.loss in LOSS_OF_NAME
    if not known or (model.classes.size == 2) != (model.coef.shape[0] == 1):
        raise ValueError(f"models of the kind {model.solver or model.loss} cannot be certified")
    codes = _codes(y, model)
    rows = Rows.of(as_rows_array(fit_width(X, max(X.shape[1], model.n_features))))
    if rows.features < model.n_features:
        raise ValueError(
            f"the data have {rows.features} features, but the model has {model.n_features}"
        )
    if not rows.is_finite():
        raise ValueError("the data hold a number that is not finite, or too large")
    cost = class_costs(float(model.C or 1.0), model.classes, codes, model.class_weight, None)
    coef = np.zeros((model.coef.shape[0], rows.features))
    coef[:, : model.n_features] = model.coef  # features it has never seen have no weight
    intercept = model.intercept
    if model.intercept_kind == "penalised":
        rows = rows.with_constant(model.intercept_scaling)
        coef = np.column_stack([coef, intercept / model.intercept_scaling])
        intercept = np.zeros_like(intercept)
    if together:
        return [
            (
                MulticlassProblem(
                    rows,
                    codes.astype(np.int32),
                    cost,
                    int(model.classes.size),
                    model.multi_class,
                    model.intercept_kind == "exact",
                ),
                both_classes(coef),
                both_classes(intercept),
            )
        ]
    positives = [1] if coef.shape[0] == 1 else range(coef.shape[0])
    return [
        (
            BinaryProblem(
                rows,
                np.where(codes == positive, 1.0, -1.0),
                cost,
                LOSS_OF_NAME[model.loss],
                model.intercept_kind == "exact",
            ),
            np.ascontiguousarray(coef[place]),
            float(intercept[place]),
        )
        for place, positive in enumerate(positives)
    ]


def _codes(y: NDArray[Any], model: LinearModel) -> NDArray[Any]:
    import numpy as np

    codes = np.full(y.size, -1, dtype=np.intp)
    for place, label in enumerate(model.classes.tolist()):
        here = y == label
        if not np.any(here):
            raise ValueError(f"the data have no example of the model's class {label_text(label)}")
        codes[here] = place
    if (codes < 0).any():
        stranger = y[int(np.argmax(codes < 0))].item()
        raise ValueError(
            f"the data have the label {label_text(stranger)}, which the model does not know"
        )
    return codes


def _certify(
    problem: BinaryProblem | MulticlassProblem,
    w: NDArray[Any],
    b: Any,
    options: argparse.Namespace,
    title: str,
    callback: FitCallback | None,
    *,
    search: bool,
) -> Finding:
    """Take P at the model's own weights, and the best D that a bounded run finds."""
    from widemargin.interrupt import Interrupt
    from widemargin.methods.choose import choice_of
    from widemargin.problems.certificate import Certificate
    from widemargin.run import run as solve

    primal = problem.primal_at(w, b)
    start: Point = problem.point_at(w, b)
    dual = problem.certify(start)[1].dual
    certificate = Certificate(primal, dual)
    if certificate.relative_gap <= options.tol or not search:
        return Finding(certificate, primal, search)
    enough = False

    def watch(record: Record) -> bool:
        nonlocal enough
        if callback is not None:
            callback(title, record)
        enough = primal - record.dual <= options.tol * primal
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
    return Finding(
        Certificate(primal, max(dual, solution.certificate.dual)),
        min(primal, solution.certificate.primal),
        enough or not interrupt.requested,
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
    output.text(
        f"The objective {verdict} proven to be within {100 * options.tol:g} % of the optimum "
        f"(largest relative gap {worst:.2e}, tol {options.tol:g})."
    )
    output.result(
        {
            "command": "certify",
            "model": options.model,
            "data": options.data,
            "loss": loss,
            "multi_class": model.multi_class,
            "C": C,
            "intercept": intercept,
            "tol": options.tol,
            "relative_gap": worst,
            "certified": worst <= options.tol,
            "problems": [
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
        }
    )
