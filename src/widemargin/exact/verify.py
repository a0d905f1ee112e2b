"""From a fitted model and its data to a verdict on its certificates."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.data.coefficient_bounds import bounds_of
from widemargin.data.sequences import joined_labels
from widemargin.data.target_set import TargetSet
from widemargin.data.training_set import TrainingSet, check_sample_weight
from widemargin.data.validation import validate_unlabelled
from widemargin.exact.binary import DualBound, ExactBinary
from widemargin.exact.bounded import BoundsOfWeights
from widemargin.exact.bounds import Bounds
from widemargin.exact.chains import ChainWeights, ExactChains
from widemargin.exact.integers import ExactRows, Scaled
from widemargin.exact.joint import ExactJoint
from widemargin.exact.losses import EXACT_LOSSES
from widemargin.exact.multinomial import ExactMultinomial, ExactSparseMultinomial
from widemargin.exact.one_class import ExactOneClass
from widemargin.exact.present import of_present
from widemargin.exact.regression import ExactRegression
from widemargin.exact.robust import ExactRobust
from widemargin.exact.sparse_weights import ExactSparse
from widemargin.exact.verdict import ExactCertificate, ExactReport

_INTERCEPTS: dict[str, bool | str] = {"exact": True, "penalised": "penalised", "none": False}
_JOINT: dict[str, tuple[type[ExactJoint], bool]] = {
    "weston_watkins": (ExactJoint, True),
    "crammer_singer": (ExactJoint, False),
    "multinomial": (ExactMultinomial, False),
}
"""The joint rules, and whether each dual variable, rather than their sum, is at most c_i."""
Checked: TypeAlias = tuple[Bounds, DualBound]
"""P at the weights, and what the dual variables prove."""


def verify_exactly(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> ExactReport:
    """Check a model's certificates in exact arithmetic, apart from all code that made them.

    Every number of the data, the costs, the coefficients and the dual variables is taken as the
    rational that it is. Objective and dual value are then computed without rounding for the two
    hinge losses. For the logistic loss, and for lengths in the Euclidean norm, they are enclosed
    to some 60 digits; the logistic loss needs python-flint (``pip install 'widemargin[exact]'``).
    A million stored values take some ten seconds per class.

    Parameters
    ----------
    model : fitted estimator
        `LinearSVC`, `LogisticRegression`, `LinearSVR`, `RobustSVC`, or one of their searches, whose
        final fit is checked; `LinearOneClassSVM`; or `SequenceSVC`, on lists of sequences.
    X, y, sample_weight
        What it was fitted on; a `LinearOneClassSVM` needs no y.

    Returns
    -------
    ExactReport
        True as a condition if every claim holds: each ``primal`` is at least the objective at the
        coefficients, and each ``dual`` at most a lower bound on the optimum that the dual
        variables prove.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from widemargin import LinearSVC, verify_exactly
    >>> model = LinearSVC("hinge", C=0.5).fit(X[:100], y[:100])
    >>> report = verify_exactly(model, X[:100], y[:100])
    >>> print(report)
    1: true; primal 0.696... claimed, exceeds the exact value by ...; dual 0.69... claimed, ...
    >>> print(f"relative gap {report.problems[0].relative_gap:.0e}")
    relative gap ...e-05
    """
    check_is_fitted(model)
    if hasattr(model, "transition_"):
        return _chains_report(model, X, y, sample_weight)
    if hasattr(model, "offset_"):
        return _one_class_report(model, X, sample_weight)
    about = _description(model)
    judge = _regression if "epsilon" in about else _classification
    return judge(model, about, X, y, sample_weight)


def _classification(
    model: Any, about: dict[str, Any], X: Any, y: Any, sample_weight: Any
) -> ExactReport:
    """Check the certificates of a classifier."""
    if hasattr(model, "transformer_"):
        X = model.transformer_.transform(X)
    data = TrainingSet.of(
        X,
        y,
        sample_weight,
        C=float(about["C"] or 1.0),
        class_weight=model.class_weight,
        fit_intercept=_INTERCEPTS[about["intercept_kind"]],
        intercept_scaling=about["intercept_scaling"],
        every_class=False,
        dense_copy=False,
    )
    _check_data(model, data)
    if data.lacks_classes:
        model, data = of_present(model, data, about["multi_class"] in _JOINT)
    if about["multi_class"] in _JOINT:
        values = [_joint(model, data, about["multi_class"])]
        names = ["all classes"]
    elif about["multi_class"] != "ovr":
        raise ValueError(f"multi_class={about['multi_class']!r} cannot be checked exactly")
    else:
        one = _robust if hasattr(model, "flip_coef_") else _binary
        rows = ExactRows(data.X)
        values = [one(model, data, rows, place) for place in range(len(data.positives))]
        names = [str(name) for name in data.names]
    return ExactReport(
        tuple(
            ExactCertificate(name, float(p), float(d), primal, *dual)
            for name, p, d, (primal, dual) in zip(
                names, model.primal_, model.dual_, values, strict=True
            )
        )
    )


def _description(model: Any) -> dict[str, Any]:
    """Return what a linear model says of itself; raise an error if it cannot be checked."""
    if not hasattr(model, "_description"):
        raise ValueError(
            f"{type(model).__name__} cannot be checked exactly: only linear models keep all that "
            "their certificates are about"
        )
    about: dict[str, Any] = model._description()
    if about["C"] is None and not hasattr(model, "flip_coef_"):
        raise ValueError("a model without a penalty cannot be checked exactly")
    return about


def exact_chains(model: Any, X: Any, y: Any, sample_weight: Any) -> ExactChains:
    """State the problem of a model of sequences."""
    sequences = model._sequences(X, None)
    labels = joined_labels(y, sequences.lengths)
    codes = np.searchsorted(model.classes_, labels)
    classes = int(model.classes_.size)
    mistake = model._mistakes(classes) if hasattr(model, "cost") else np.zeros((classes, classes))
    return ExactChains(
        ExactRows(sequences.X),
        sequences.first,
        codes.astype(np.int64),
        Scaled.of(model._costs(sequences, sample_weight)),
        Scaled.of(mistake),
        bool(model.boundaries),
    )


def chain_weights(model: Any) -> ChainWeights:
    """Return the weights of a model of sequences."""
    return ChainWeights(model.coef_, model.transition_, model.start_, model.end_)


def _chains_report(model: Any, X: Any, y: Any, sample_weight: Any) -> ExactReport:
    if not hasattr(model, "dual_labels_"):
        raise ValueError(
            f"{type(model).__name__} cannot be checked exactly: it keeps no dual variables"
        )
    exact = exact_chains(model, X, y, sample_weight)
    if model.dual_pointers_.size != exact.first.size:
        raise ValueError(f"the model was fitted on {model.dual_pointers_.size - 1} sequences")
    primal = exact.primal(chain_weights(model))
    dual = exact.dual(model.dual_pointers_, model.dual_coef_, model.dual_labels_)
    certificate = model.certificate_
    return ExactReport(
        (ExactCertificate("all", certificate.primal, certificate.dual, primal, *dual),)
    )


def exact_regression(
    data: TargetSet, loss: str, epsilon: float, bounds: BoundsOfWeights = None
) -> ExactRegression:
    """State the problem of a regression."""
    return ExactRegression(
        ExactRows(data.X),
        Scaled.of(data.target),
        Scaled.of(data.cost),
        epsilon,
        loss.startswith("squared"),
        data.free_intercept,
        data.scaling,
        bounds,
    )


def _regression(
    model: Any, about: dict[str, Any], X: Any, y: Any, sample_weight: Any
) -> ExactReport:
    """Check the one certificate of a regression."""
    data = TargetSet.of(
        X,
        y,
        sample_weight,
        C=float(about["C"]),
        fit_intercept=_INTERCEPTS[about["intercept_kind"]],
        intercept_scaling=about["intercept_scaling"],
    )
    _check_shape(model, data)
    bounds = _bounds_of(model, data.rows.features)
    exact = exact_regression(data, about["loss"], about["epsilon"], bounds)
    primal = exact.primal(model.coef_, float(model.intercept_[0]))
    dual = exact.dual(model.dual_coef_, primal.upper)
    claimed, bound = float(model.primal_[0]), float(model.dual_[0])
    return ExactReport((ExactCertificate("regression", claimed, bound, primal, *dual),))


def _one_class_report(model: Any, X: Any, sample_weight: Any) -> ExactReport:
    """Check the one certificate of an outlier detector."""
    X, rows = validate_unlabelled(None, X)
    weight = check_sample_weight(sample_weight, rows.count)
    if model.dual_coef_.shape[1] != rows.count:
        raise ValueError(
            f"the model was fitted on {model.dual_coef_.shape[1]} rows, not on {rows.count}"
        )
    cost = Scaled.of(np.ones(rows.count) if weight is None else weight)
    exact = ExactOneClass(ExactRows(X), cost, float(model.nu))
    primal = exact.primal(model.coef_[0], float(model.offset_[0]))
    dual = exact.dual(model.dual_coef_[0])
    claimed, bound = float(model.primal_[0]), float(model.dual_[0])
    return ExactReport((ExactCertificate("one class", claimed, bound, primal, *dual),))


def _check_data(model: Any, data: TrainingSet) -> None:
    """Raise an error for data that the model was not fitted on."""
    _check_shape(model, data)
    if not np.array_equal(model.classes_, data.classes):
        raise ValueError("the data have other classes than the model")


def _check_shape(model: Any, data: TrainingSet | TargetSet) -> None:
    expected = (model.coef_.shape[-1], model.dual_coef_.shape[-1])
    if expected != (data.rows.features, data.rows.count):
        raise ValueError(
            f"the model was fitted on {expected[1]} rows of {expected[0]} features, these data "
            f"have {data.rows.count} of {data.rows.features}"
        )


def exact_binary(
    data: TrainingSet,
    rows: ExactRows,
    place: int,
    loss: str,
    l1_ratio: float = 0.0,
    bounds: BoundsOfWeights = None,
) -> ExactBinary:
    """State one of the one-vs-rest problems."""
    if loss not in EXACT_LOSSES:
        raise ValueError(f"the loss {loss!r} cannot be checked exactly")
    signs = data.signs(data.positives[place])
    known = EXACT_LOSSES[loss]
    free, scaling = data.free_intercept, data.scaling
    plain = ExactBinary.of(rows, signs, data.cost, known, free, scaling, bounds)
    return ExactSparse(**vars(plain), l1_ratio=l1_ratio) if l1_ratio else plain


def exact_joint(data: TrainingSet, rule: str, l1_ratio: float = 0.0) -> ExactJoint:
    """State the problem of all classes at once."""
    if rule not in _JOINT:
        raise ValueError(f"there is no exact arithmetic for multi_class={rule!r}")
    kind, sums = _JOINT[rule]
    plain = kind(
        ExactRows(data.X),
        data.codes.astype(np.int64),
        Scaled.of(data.cost),
        int(data.classes.size),
        sums,
        data.free_intercept,
        data.scaling,
        data.rows.shift,
    )
    return ExactSparseMultinomial(**vars(plain), l1_ratio=l1_ratio) if l1_ratio else plain


def _binary(model: Any, data: TrainingSet, rows: ExactRows, place: int) -> Checked:
    about = model._description()
    bounds = _bounds_of(model, data.rows.features)
    exact = exact_binary(data, rows, place, about["loss"], about.get("l1_ratio", 0.0), bounds)
    primal = exact.primal(model.coef_[place], float(model.intercept_[place]))
    alpha = model.dual_coef_[place] * exact.y.astype(np.float64)
    return primal, exact.dual(alpha, primal.upper)


def _bounds_of(model: Any, features: int) -> BoundsOfWeights:
    return bounds_of(model, features) if hasattr(model, "coef_bounds") else None


def _robust(model: Any, data: TrainingSet, rows: ExactRows, place: int) -> Checked:
    signs = data.signs(data.positives[place])
    exact = ExactRobust(
        rows,
        signs.astype(np.int64).astype(object),
        Scaled.of(data.cost / data.cost.sum()),
        # A search keeps the radius that it chose apart from those that it tried.
        float(model.radius_ if hasattr(model, "radius_") else model.radius),
        float(model.label_cost),
        float(model.norm),
        float(model.l2),
        data.free_intercept,
    )
    primal = exact.primal(model.coef_[place], float(model.intercept_[place]))
    flip = model.flip_coef_[place]
    return primal, exact.dual(model.dual_coef_[place] * signs + flip, flip)


def _joint(model: Any, data: TrainingSet, rule: str) -> Checked:
    ratio = model._description().get("l1_ratio", 0.0)
    exact, label = exact_joint(data, rule, ratio), data.codes.astype(np.int64)
    primal = exact.primal(both_classes(model.coef_), both_classes(model.intercept_))
    beta = -both_classes(sp.csr_array(model.dual_coef_).toarray()).T
    beta[np.arange(label.size), label] = 0.0
    return primal, exact.dual(np.maximum(beta, 0.0), primal.upper)


def both_classes(values: Any) -> NDArray[np.float64]:
    """Return one row per class; two classes share their difference, whose halves are exact."""
    values = np.asarray(values, dtype=np.float64)
    return np.concatenate([-0.5 * values, 0.5 * values]) if values.shape[0] == 1 else values
