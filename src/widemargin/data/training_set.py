"""The one way from (X, y, weights, C, intercept) to a problem.

A `TrainingSet` holds what every kind of problem is made of, checked once: rows, classes, costs and
the kind of intercept. It makes no problem itself, because problems are a layer above data; each
kind has a constructor ``of(data, ...)`` that takes what it needs from here.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.block_work import Threads
from widemargin.data.centring import given_intercepts, own_intercepts, with_intercept
from widemargin.data.dense_copy import dense_if_cheaper
from widemargin.data.elsewhere import Elsewhere, Kept
from widemargin.data.labels import encode_labels, places, plain
from widemargin.data.memory_rows import rows_in_blocks
from widemargin.data.quick_init import quick_init
from widemargin.data.rows import Rows
from widemargin.data.validation import validate_rows

Vector = NDArray[np.float64]

_SMALLEST_COST, _LARGEST_COST = 1e-50, 1e50
"""Beyond these, squares of weights and dual variables leave the range of floating point."""


@quick_init
@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Examples with their classes and costs.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
        The examples as validated.
    rows : Rows
        The same, with a constant feature if the intercept is penalised; if it is not, columns far
        from zero are shifted, see `widemargin.data.centring`.
    classes : ndarray of shape (k,)
        In sorted order.
    codes : ndarray of shape (n,)
        Each example's place among the classes.
    cost : ndarray of shape (n,)
        c_i = C · sample weight · class weight.
    C : float
    weight : ndarray of shape (n,), or None
        Sample weights.
    class_weight : dict, "balanced" or None
    free_intercept : bool
        Whether there is an intercept that is not penalised.
    scaling : float
        Value of the constant feature behind a penalised intercept; 0 if there is none.
    left_out : int
        How many classes the data had that are not among `classes`, see `of_present`.
    """

    X: Any
    rows: Rows
    classes: NDArray[Any]
    codes: NDArray[Any]
    cost: Vector
    C: float
    weight: Vector | None
    class_weight: Any
    free_intercept: bool
    scaling: float
    left_out: int = 0

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        C: float = 1.0,
        class_weight: Any = None,
        fit_intercept: bool | str = False,
        intercept_scaling: float = 1.0,
        classes: NDArray[Any] | None = None,
        estimator: Any = None,
        threads: int = 1,
        joint: bool = False,
        rounded: bool = False,
        folds: int = 0,
        every_class: bool = True,
        dense_copy: bool = True,
    ) -> TrainingSet:
        """Check examples and labels, and work out the costs.

        Parameters
        ----------
        X, y, sample_weight, C, class_weight, fit_intercept, intercept_scaling
            As in `LinearSVC`; what `fit_intercept` and the numbers may be is checked by the caller.
        classes : ndarray, optional
            The classes of a given model: y may name no others, and need not name all.
        estimator : estimator, optional
            Remembers the number and the names of the features, and is named in messages.
        threads : int
            That check the examples, and that read and work on those that are not in memory.
        joint : bool
            Whether three or more classes are trained at once, with numbers for each of them.
        rounded : bool
            Whether that is so for two classes too, and rounds the corners of the loss.
        folds : int
            Of a cross-validation, whose problems have numbers for the examples at the same time.
        every_class : bool
            Whether every class, and not only two of them, must have an example with a weight.
        dense_copy : bool
            Whether sparse rows with few zeros may be copied, see `widemargin.data.dense_copy`.
        """
        if isinstance(X, Elsewhere):
            free = bool(fit_intercept) and not isinstance(fit_intercept, str)
            X.describe_to(estimator)
            y, sample_weight = _labels(X, y, sample_weight)
            rows: Rows = X.rows(threads, free, _kept(y, joint, rounded, folds))
        else:
            X, rows, y = validate_rows(estimator, X, y, threads)
        weight = check_sample_weight(sample_weight, rows.count)
        given = classes
        classes, codes = encode_labels(y) if given is None else (given, places(y, given))
        cost = _costs(C, classes, codes, class_weight, weight)
        if given is None and not (weight is None and class_weight is None):
            _check_every_class(classes, codes, cost, every_class)
        scaling = float(intercept_scaling) if isinstance(fit_intercept, str) else 0.0
        free = not scaling and bool(fit_intercept)
        if rows.elsewhere:
            rows = rows.with_constant(scaling) if scaling else rows
        else:
            rows = with_intercept(X, rows, free, scaling)
            rows = dense_if_cheaper(rows) if dense_copy else rows
        return cls(X, rows, classes, codes, cost, C, weight, class_weight, free, scaling)

    def in_blocks(self, threads: int) -> TrainingSet:
        """Return the same examples, their rows in blocks that so many threads work on.

        In the layout that was given: it is the same wherever blocks are, and so are the results.
        """
        rows = self.rows
        copied = sp.issparse(self.X) and not sp.issparse(rows.array)
        if copied and not rows.elsewhere and rows._taken_from is None:
            rows = with_intercept(self.X, Rows.of(self.X), self.free_intercept, self.scaling)
        return replace(self, rows=rows_in_blocks(rows, Threads(threads)))

    @property
    def present(self) -> NDArray[np.intp]:
        """Places of the classes that have an example with a cost above zero."""
        return np.flatnonzero(np.bincount(self.codes, self.cost > 0.0, minlength=self.classes.size))

    @property
    def lacks_classes(self) -> bool:
        """Whether intercepts are free and some class has no example with a weight."""
        weighted = self.weight is not None or self.class_weight is not None
        return weighted and self.free_intercept and self.present.size < self.classes.size

    def of_present(self) -> TrainingSet:
        """Return the examples as if there were only the classes that are `present`.

        Those of the others stay, at a cost of zero.
        """
        present = self.present
        codes = np.zeros(self.classes.size, dtype=np.intp)
        codes[present] = np.arange(present.size)
        left_out = self.classes.size - present.size
        return replace(
            self, classes=self.classes[present], codes=codes[self.codes], left_out=left_out
        )

    @property
    def positives(self) -> list[int]:
        """The class of each one-vs-rest problem: the second of two classes, else every class."""
        return [1] if self.classes.size == 2 else list(range(self.classes.size))

    @property
    def names(self) -> list[Any]:
        """The labels of the positive classes, as Python's own types."""
        return [plain(self.classes[place]) for place in self.positives]

    @property
    def y(self) -> NDArray[Any]:
        """The labels."""
        return self.classes[self.codes]

    def at(self, C: float) -> TrainingSet:
        """Return the same examples at another C."""
        cost = _costs(C, self.classes, self.codes, self.class_weight, self.weight)
        return replace(self, C=C, cost=cost)

    def signs(self, positive: int) -> Vector:
        """Return the one-vs-rest labels of a class, +1 and −1."""
        signs = np.empty(self.codes.size)

        def fill(at: slice) -> None:
            # Several times as fast as choosing between two numbers.
            np.multiply(self.codes[at] == positive, 2.0, out=signs[at])
            signs[at] -= 1.0

        if self.rows.threads is None:
            fill(slice(None))
        else:
            self.rows.threads.pieces(signs.size, fill)
        return signs

    def costs_of(self, subset: NDArray[np.int64]) -> Vector:
        """Return the costs of some examples alone; "balanced" is then taken over these."""
        weight = None if self.weight is None else self.weight[subset]
        return _costs(self.C, self.classes, self.codes[subset], self.class_weight, weight)

    def take(self, subset: NDArray[np.int64]) -> TrainingSet:
        """Return some of the examples, without copying their rows; X stays whole."""
        subset = np.ascontiguousarray(subset)
        return replace(
            self,
            rows=self.rows.part(subset),
            codes=self.codes[subset],
            cost=self.costs_of(subset),
            weight=None if self.weight is None else self.weight[subset],
        )


def join_intercept(
    coef: Vector, intercept: Vector, scaling: float, shift: Vector | None = None
) -> tuple[Vector, Vector]:
    """Return weights and intercepts as a problem has them, from ``coef_`` and ``intercept_``.

    In double precision, whatever that of the data is. A penalised intercept is the last weight of
    every row; `scaling` is that of `TrainingSet`, `shift` that of its rows.
    """
    coef = np.asarray(coef, dtype=np.float64)
    if not scaling:
        return coef, own_intercepts(coef, intercept, shift)
    return np.column_stack([coef, intercept / scaling]), np.zeros_like(intercept)


def split_intercept(
    w: Vector, b: Vector, scaling: float, shift: Vector | None = None
) -> tuple[Vector, Vector]:
    """Undo `join_intercept`, for weights whose last axis is that of the features."""
    if scaling:
        return w[..., :-1], w[..., -1] * scaling
    return w, given_intercepts(w, b, shift)


def _labels(data: Elsewhere, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return labels and weights of examples that are not in memory."""
    if y is None:
        y = data.y
    if y is None:
        raise ValueError("the data have no labels; name their column by label, or give y")
    y = np.asarray(y)
    if y.shape != (data.shape[0],):
        raise ValueError(f"y has shape {y.shape}, but the data have {data.shape[0]} rows")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity")
    return y, data.sample_weight if sample_weight is None else sample_weight


def _kept(y: NDArray[Any], joint: bool, rounded: bool, folds: int) -> Kept:
    """Return how much the problems of all classes and folds keep."""
    k = np.unique(y).size if joint or folds else 1
    lines = k if joint and (k > 2 or rounded) else 1
    return Kept(lines, folds * (1 if joint or k == 2 else k), rounded)


def check_sample_weight(sample_weight: Any, count: int) -> Vector | None:
    """Return the weights as float64, or None for all ones."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    try:
        if given.dtype.kind not in "biufO":
            raise TypeError
        weight: Vector = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numbers") from None
    if weight.ndim == 0:
        weight = np.full(count, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be one-dimensional, got shape {weight.shape}")
    if weight.size != count:
        raise ValueError(f"sample_weight has length {weight.size}, but X has {count} rows")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if (weight < 0.0).any():
        raise ValueError(
            f"sample_weight must not be negative; entry {int(np.argmax(weight < 0.0))} is "
            f"{weight[np.argmax(weight < 0.0)]:g}"
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row")
    return weight


def _costs(
    C: float,
    classes: NDArray[Any],
    codes: NDArray[Any],
    class_weight: Any,
    sample_weight: Vector | None,
) -> Vector:
    """Return c_i = C · sample weight · class weight."""
    if class_weight is None and sample_weight is None:
        return check_costs(equal(codes.size, C), C)
    factor = np.ones(codes.size) if sample_weight is None else sample_weight
    if class_weight is not None:
        factor = factor * _class_weights(class_weight, classes, codes, factor)[codes]
    return check_costs(C * factor)


def equal(count: int, value: float) -> Vector:
    """Return a vector of equal numbers, in half the time that `numpy.full` takes for short ones."""
    vector = np.empty(count)
    vector.fill(value)
    return vector


def check_costs(cost: Vector, same: float | None = None) -> Vector:
    """Return costs, or raise an error if they are beyond range; `same` if they are all alike."""
    if same is not None:
        smallest = largest = same
    else:
        smallest = float(np.min(cost, where=cost > 0.0, initial=np.inf))
        largest = float(cost.max())
    if not (largest <= _LARGEST_COST and smallest >= _SMALLEST_COST):
        raise ValueError(
            f"C times the weights must lie between {_SMALLEST_COST:g} and {_LARGEST_COST:g} where "
            f"it is not zero; it goes from {smallest:g} to {largest:g}"
        )
    return cost


def _class_weights(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[Any], sample_weight: Vector
) -> Vector:
    if isinstance(class_weight, str) and class_weight == "balanced":
        # By weight, so that a weight of 2 means a row given twice here too.
        share = np.bincount(codes, sample_weight, minlength=classes.size) * classes.size
        return np.divide(sample_weight.sum(), share, out=np.zeros_like(share), where=share > 0.0)
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}")
    known = {plain(label): place for place, label in enumerate(classes)}
    weights = np.ones(classes.size)
    # As in scikit-learn: a dict for more classes is taken where it names all that are there.
    complete = known.keys() <= {plain(label) for label in class_weight}
    for label, value in class_weight.items():
        if plain(label) in known:
            weights[known[plain(label)]] = _class_weight(label, value)
        elif not complete:
            raise ValueError(f"class_weight names a class that is not in y: {plain(label)!r}")
    return weights


def _class_weight(label: Any, value: Any) -> float:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not np.isfinite(value):
        raise ValueError(
            f"class_weight must be a finite number; for {plain(label)!r} it is {value!r}"
        )
    if value < 0.0:
        raise ValueError(f"class_weight must not be negative; it is for {plain(label)!r}")
    return float(value)


def _check_every_class(
    classes: NDArray[Any], codes: NDArray[Any], cost: Vector, every: bool
) -> None:
    """Raise an error if the costs leave a class, or all but one, without any example."""
    weights = np.bincount(codes, cost, minlength=classes.size)
    missing = np.flatnonzero(weights == 0.0)
    if missing.size and (every or classes.size - missing.size < 2):
        raise ValueError(f"every example of class {plain(classes[missing[0]])!r} has weight zero")
