"""What ``train``, ``tune`` and ``certify`` share: options, checks, and the fit itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from widemargin.cli.fitting import timed
from widemargin.cli.inputs import model_path, read_data, write_model
from widemargin.cli.options import INTERCEPTS, parse_class_weight
from widemargin.cli.output import Output

if TYPE_CHECKING:
    from widemargin.cli.inputs import Data
    from widemargin.estimators.linear import LinearClassifier
    from widemargin.model_io import LinearModel


def check_problem(options: argparse.Namespace) -> None:
    """Raise an error, before any data are read, for options that do not go together."""
    import numpy as np

    from widemargin.auto.registry import choice_of
    from widemargin.data.training_set import TrainingSet
    from widemargin.estimators.scikit_learn_arguments import l1_ratio_of
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.losses import LOSSES
    from widemargin.problems.rules import default_rule, joint_problem, loss_of_rule
    from widemargin.problems.sparse_weights import SparseProblem, check_joint_penalty

    ratio = l1_ratio_of(options.penalty, options.l1_ratio)
    if options.multi_class is None:
        options.multi_class = default_rule(options.loss)
    needed = loss_of_rule(options.multi_class)
    if needed is not None and options.loss != needed:
        raise ValueError(f"--multi-class {options.multi_class} needs --loss {needed}")
    if options.intercept_scaling != 1.0 and options.intercept != "penalised":
        raise ValueError("--intercept-scaling needs --intercept penalised")
    # Three examples are enough to ask a solver whether it supports loss, rule and intercept.
    small = TrainingSet.of(np.eye(3), np.arange(3), fit_intercept=INTERCEPTS[options.intercept])
    check_joint_penalty(options.multi_class, ratio)
    if options.multi_class != "ovr":
        problem: Any = joint_problem(small, options.multi_class, ratio)
    elif ratio:
        problem = SparseProblem.of(small, 0, LOSSES[options.loss], ratio)
    else:
        problem = BinaryProblem.of(small, 0, LOSSES[options.loss])
    if getattr(options, "positive", False) or getattr(options, "coef_bounds", None) is not None:
        problem = bounded_problem(problem, options)
    choice_of(options.solver, type(problem)).first(problem, None, options.tol)


def bounded_problem(problem: Any, options: argparse.Namespace) -> Any:
    """Return a problem with the bounds that options ask for, or raise an error."""
    from widemargin.data.coefficient_bounds import bounds_of
    from widemargin.problems.binary import BinaryProblem
    from widemargin.problems.bounded import bounded
    from widemargin.problems.regression import RegressionProblem

    bounds = bounds_of(options, problem.rows.features)
    if bounds is None:
        return problem
    if not isinstance(problem, BinaryProblem | RegressionProblem):
        raise ValueError("--coef-bounds and --positive need --penalty l2 and --multi-class ovr")
    return bounded(problem, bounds)


def read_training_data(options: argparse.Namespace) -> tuple[Data, str]:
    """Return the data and the path of the model; raise an error if it could not be written."""
    path = model_path(options)
    data = read_data(options.data, options)
    if data.y is None:
        raise ValueError(f"{options.data} has no labels to train on")
    if options.format == "liblinear":
        from widemargin.model_io.liblinear import integer_labels

        labels = integer_labels(data.labels, path)
        if options.multi_class == "weston_watkins" and len(labels) > 2:
            raise ValueError("LIBLINEAR has no Weston-Watkins model")
        if options.multi_class == "multinomial" and len(labels) > 2:
            raise ValueError("LIBLINEAR has no multinomial model; --multi-class ovr has one")
    return data, path


_MANY_NUMBERS, _ROWS_OF_A_CLASS = 50, 10
"""More different numbers than this, with fewer rows each on average, are targets to predict rather
than classes: digits, characters and species have more rows each, or names."""


def note_targets(output: Output, data: Data, path: str) -> None:
    """Say that there is another task, if the labels look like numbers to predict."""
    import numpy as np

    y = np.asarray(data.y)
    if y.dtype.kind not in "iuf":
        return
    if y.dtype.kind == "f" and not bool((y == np.floor(y)).all()):
        raise ValueError(
            f"{path}: the labels are not whole numbers, and so no classes; --task regression "
            "predicts numbers"
        )
    different = data.labels.size
    if max(_MANY_NUMBERS, y.size / _ROWS_OF_A_CLASS) < different:
        output.note(
            f"the labels are {different:,} different numbers in {y.size:,} rows, each of which is "
            "taken for a class; --task regression predicts numbers"
        )


def settings_of(options: argparse.Namespace, data: Data) -> dict[str, Any]:
    """Return the arguments that the estimators with and without a search share."""
    return {
        "tol": options.tol,
        "fit_intercept": INTERCEPTS[options.intercept],
        "intercept_scaling": options.intercept_scaling,
        "class_weight": parse_class_weight(options.class_weight, data.labels),
        "penalty": options.penalty,
        "l1_ratio": options.l1_ratio,
        "solver": options.solver,
        "max_iter": options.max_iter,
        "time_limit": options.time_limit,
        "random_state": options.seed,
    }


def penalty_rows(options: argparse.Namespace, coef: Any) -> list[tuple[str, str]]:
    """Return the lines of the report about weights that are zero."""
    if options.penalty == "l2":
        return []
    used = int((coef != 0.0).any(axis=0).sum())
    ratio = "" if options.l1_ratio is None else f", l1_ratio {options.l1_ratio:g}"
    return [("penalty", f"{options.penalty}{ratio}: {used} of {coef.shape[1]} features")]


def fit_and_write(
    output: Output,
    options: argparse.Namespace,
    estimator: LinearClassifier,
    data: Data,
    path: str,
    fit: Callable[[Any, Any], object] | None = None,
    titled: Callable[[str], str] = str,
) -> tuple[LinearModel, float]:
    """Train and write the model; return it and the seconds spent training.

    `fit` is another method than the estimator's own; `titled` changes the titles of runs.
    """
    import numpy as np

    from widemargin.model_io import model_of

    train = partial(fit or estimator.fit, data.X, data.y)
    seconds = timed(output, options, estimator, train, titled)
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    model = model_of(estimator)
    if not getattr(options, "no_model", False):
        write_model(model, path, options.format)
    return model, seconds
