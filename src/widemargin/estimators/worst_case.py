"""worst_case: the loss and error of a linear model under the worst distribution near the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import check_not_negative, check_number
from widemargin.problems.norms import NORMS, norm_of, steepest
from widemargin.problems.robust import RobustProblem

Vector = NDArray[np.float64]

_FAR = 1e-6
"""Share of the shift's gain that is given up where the supremum is only approached."""


@dataclass(frozen=True, eq=False, repr=False)
class WorstCase:
    """The worst distribution within a Wasserstein ball around the data, for one linear model.

    Attributes
    ----------
    loss, clean_loss : float
        Largest expected hinge loss within the ball, and the expected loss of the data.
    error, clean_error : float
        Largest error rate within the ball, and that of the data; a score of zero is an error.
    price : float
        λ, the slope of the loss in the radius.
    index : ndarray of shape (n_atoms,)
        The row of X that each atom of the distribution comes from.
    mass : ndarray of shape (n_atoms,)
        Probability of each atom.
    label : ndarray of shape (n_atoms,)
        Label of each atom; it differs from y where the label was flipped.
    shift : ndarray of shape (n_atoms,)
        How far the features moved, along ``label sign · direction`` against the model.
    direction : ndarray of shape (n_features,)
        Direction of length one, in the norm of the features, along which the score grows fastest.
    attained : bool
        Whether the atoms attain the supremum, or only come close to it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> from widemargin import LinearSVC, worst_case
    >>> case = worst_case(LinearSVC("hinge").fit(X, y), X, y, radius=0.1)
    >>> case
    <WorstCase: hinge loss 0.038... -> 0.34..., errors 1.23 % -> 20.9 % ...; 569 atoms>
    >>> print(f"rows move by {case.mass @ case.shift:.2f} in the mean")
    rows move by 0.10 in the mean
    >>> case.examples(X).shape
    (569, 30)
    """

    loss: float
    clean_loss: float
    error: float
    clean_error: float
    price: float
    index: NDArray[np.int64]
    mass: Vector
    label: NDArray[Any]
    shift: Vector
    direction: Vector
    attained: bool
    _signs: Vector

    def examples(self, X: Any) -> Vector:
        """Return the features of the atoms as a dense array, given the same X."""
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        rows = X[self.index]
        dense = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
        return dense - np.outer(self.shift * self._signs, self.direction)

    def __repr__(self) -> str:
        return f"<WorstCase: {self}; {self.index.size} atoms>"

    def __str__(self) -> str:
        return (
            f"hinge loss {self.clean_loss:.4g} -> {self.loss:.4g}, "
            f"errors {100 * self.clean_error:.3g} % -> {100 * self.error:.3g} % in the worst case"
        )


def worst_case(
    model: Any,
    X: Any,
    y: Any,
    radius: float,
    *,
    label_cost: float = np.inf,
    norm: float = 2,
    sample_weight: Any = None,
) -> WorstCase:
    """Find the worst distribution within a Wasserstein ball around the data for a model.

    The largest expected hinge loss is ``min ε λ + Σ p_i max(1 − m_i, 1 + m_i − κ λ, 0)`` over
    λ ≥ ‖w‖, a minimum in one variable. The worst distribution flips labels where that gains more
    per cost than moving features, and spends the rest of the radius on moving features.

    Parameters
    ----------
    model : fitted linear classifier with two classes
        Anything with ``coef_``, ``intercept_`` and ``classes_``, of this library or not; a
        `LinearModel`; or a pipeline that ends in one. The ball of a pipeline is around the data
        as its last step sees them.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    radius : float
        How far the distribution may move.
    label_cost : float, default=inf
        Cost of flipping a label; infinite if labels are trusted.
    norm : {1, 2, inf}, default=2
        The norm of w; features move at the price of its dual norm.
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    WorstCase

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVC, worst_case
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC("hinge").fit(scale(X), y)
    >>> case = worst_case(model, scale(X), y, radius=0.1)
    >>> print(case)
    hinge loss 0.038... -> 0.34..., errors 1.23 % -> 20.9 % in the worst case
    """
    model, X = _last_step(model, X)
    problem, w, b, labels = _problem(model, X, y, radius, label_cost, norm, sample_weight)
    scores = problem.rows.scores(w)
    margins = problem.y * (scores + b)
    loss, price = problem.worst_loss(w, b, scores)
    clean = np.maximum(1.0 - margins, 0.0)
    flip, moved = _flips(problem, margins, price, norm_of(w, problem.norm))
    index, mass, flipped, shift, attained = _atoms(problem, margins, flip, moved, w)
    signs = np.where(flipped, -problem.y[index], problem.y[index])
    return WorstCase(
        loss=loss,
        clean_loss=float(problem.weight @ clean),
        error=_worst_error(problem, margins, norm_of(w, problem.norm)),
        clean_error=float(problem.weight[margins <= 0.0].sum()),
        price=price,
        index=index,
        mass=mass,
        label=np.where(signs > 0.0, labels[1], labels[0]),
        shift=shift,
        direction=steepest(w, problem.norm),
        attained=attained,
        _signs=signs,
    )


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the linear classifier that a model ends in, and what it sees of X."""
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            X = X if step is None or step == "passthrough" else step.transform(X)
        model = model.steps[-1][1]
    if hasattr(model, "transformer_"):
        X = model.transformer_.transform(X)
    return (model.to_estimator() if hasattr(model, "to_estimator") else model), X


def _problem(
    model: Any, X: Any, y: Any, radius: Any, label_cost: Any, norm: Any, sample_weight: Any
) -> tuple[RobustProblem, Vector, float, NDArray[Any]]:
    """Check the arguments and state the problem that the model is judged by."""
    for name in ("coef_", "intercept_", "classes_"):
        if not hasattr(model, name):
            raise ValueError(f"model must be a fitted linear classifier; it has no {name}")
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    classes = np.asarray(model.classes_)
    if coef.shape[0] != 1 or classes.size != 2:
        raise ValueError(
            f"worst_case judges models of two classes; this one has {classes.size}: "
            "judge each class against the rest"
        )
    check_not_negative("radius", radius)
    check_number("label_cost", label_cost, lambda v: v > 0.0, "a positive number or infinity")
    check_number("norm", norm, lambda v: v in NORMS, "1, 2 or infinity")
    data = TrainingSet.of(X, y, sample_weight, classes=classes)
    if data.rows.features != coef.shape[1]:
        raise ValueError(f"X has {data.rows.features} features, but the model has {coef.shape[1]}")
    problem = RobustProblem.of(data, 1, float(radius), float(label_cost), float(norm))
    b = float(np.ravel(np.asarray(model.intercept_, dtype=np.float64))[0])
    return problem, np.ascontiguousarray(coef[0]), b, classes


def _flips(
    problem: RobustProblem, margins: Vector, price: float, length: float
) -> tuple[Vector, float]:
    """Return the mass of each example whose label is flipped, and what is left for moving.

    A flip gains min(2m, 1 + m) for κ: those that gain more than ‖w‖ for each unit of cost come
    first, best ones before others, until the radius is used up.
    """
    flip = np.zeros_like(margins)
    left = problem.radius
    if not problem.flips:
        return flip, left
    gains = np.minimum(2.0 * margins, 1.0 + margins) / problem.label_cost
    order = np.argsort(-gains, kind="stable")
    order = order[gains[order] > length]
    spent = np.cumsum(problem.weight[order]) * problem.label_cost
    whole = spent <= left
    flip[order[whole]] = problem.weight[order[whole]]
    left -= float(spent[whole][-1]) if whole.any() else 0.0
    if not whole.all():
        first = order[int(np.argmin(whole))]
        flip[first] = min(left / problem.label_cost, problem.weight[first])
        left = 0.0
    return flip, max(left, 0.0)


def _atoms(
    problem: RobustProblem, margins: Vector, flip: Vector, left: float, w: Vector
) -> tuple[NDArray[np.int64], Vector, NDArray[np.bool_], Vector, bool]:
    """Split examples into kept and flipped atoms, and move those that have a loss."""
    kept = problem.weight - flip
    stay, turned = np.flatnonzero(kept > 0.0), np.flatnonzero(flip > 0.0)
    index = np.concatenate([stay, turned]).astype(np.int64)
    mass = np.concatenate([kept[stay], flip[turned]])
    flipped = np.concatenate([np.zeros(stay.size, dtype=bool), np.ones(turned.size, dtype=bool)])
    after = np.where(flipped, -margins[index], margins[index])
    shift = np.zeros(index.size)
    if left <= 0.0 or not w.any():
        return index, mass, flipped, shift, True
    movable = after <= 1.0
    if movable.any():
        shift[movable] = left / float(mass[movable].sum())
        return index, mass, flipped, shift, True
    # Every loss is zero: a little mass moves very far, and the supremum is only approached.
    nearest = int(np.argmin(after))
    part = _FAR * left * norm_of(w, problem.norm) / (float(after[nearest]) - 1.0)
    part = min(part, float(mass[nearest]))
    index = np.append(index, index[nearest])
    mass = np.append(mass, part)
    mass[nearest] -= part
    flipped = np.append(flipped, flipped[nearest])
    return index, mass, flipped, np.append(shift, left / part), False


def _worst_error(problem: RobustProblem, margins: Vector, length: float) -> float:
    """Return the largest mass that can be made wrong: the cheapest examples first.

    An example that is right costs m/‖w‖ to move across, or κ to relabel; the last counts in part.
    """
    with np.errstate(divide="ignore"):
        across = np.maximum(margins, 0.0) / length if length > 0.0 else np.inf * (margins > 0.0)
    costs = np.minimum(np.nan_to_num(across, nan=0.0, posinf=np.inf), problem.label_cost)
    order = np.argsort(costs, kind="stable")
    left, wrong = problem.radius, 0.0
    free = costs[order] == 0.0
    wrong += float(problem.weight[order[free]].sum())
    order = order[~free & np.isfinite(costs[order])]
    spent = np.cumsum(problem.weight[order] * costs[order])
    whole = spent <= left
    wrong += float(problem.weight[order[whole]].sum())
    if not whole.all():
        used = float(spent[whole][-1]) if whole.any() else 0.0
        wrong += (left - used) / float(costs[order[int(np.argmin(whole))]])
    return min(wrong, 1.0)
