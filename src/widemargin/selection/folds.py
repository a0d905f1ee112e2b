"""What is cross-validated: examples, and for each fold which of them train or are held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from widemargin.data.cached import cached_property
from widemargin.data.centring import given_intercepts, own_intercepts
from widemargin.data.labels import plain
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet
from widemargin.problems.losses import Loss
from widemargin.problems.rules import NEVER

Indices = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Folds:
    """Examples and their splits.

    Attributes
    ----------
    data : TrainingSet
        All examples, at C = 1.
    splits : sequence of pairs of index arrays
        Rows to train on, rows held out. Class weights "balanced" are taken over the former.
    loss : Loss
    rule : {"ovr", "weston_watkins", "crammer_singer", "multinomial"}
        The multiclass rule.
    own : sequence of TrainingSet, optional
        Of each fold the examples as a transformer fitted to those it trains on gives them: these
        come first, then those held out. By default the folds share the rows of `data`.
    l1_ratio : float
        ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖².
    """

    data: TrainingSet
    splits: Sequence[tuple[Indices, Indices]]
    loss: Loss
    rule: str = "ovr"
    own: Sequence[TrainingSet] | None = None
    l1_ratio: float = 0.0

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        cv: Any,
        groups: Any,
        loss: Loss,
        rule: str = "ovr",
        transformed: Callable[[Indices, Indices], TrainingSet] | None = None,
        **metadata: Any,
    ) -> Folds:
        """Split examples as any splitter does, and check the splits before any work.

        Parameters
        ----------
        data : TrainingSet
        cv : int, splitter or iterable of splits
            Parts of a split are indices or masks; an index may come more than once.
        groups : array-like of shape (n,), optional
        loss : Loss
        rule : str
        transformed : callable, optional
            From the rows to train on and those held out to an entry of `own`.
        **metadata
            Whatever else the splitter requests.
        """
        count, y = data.rows.count, data.y
        splits = [
            (_indices(train, count, place), _indices(test, count, place))
            for place, (train, test) in enumerate(
                check_cv(cv, y, classifier=True).split(
                    np.empty((count, 0)), y, groups=groups, **metadata
                )
            )
        ]
        if not splits:
            raise ValueError("cv gave no folds")
        if data.rows.elsewhere:
            # Blocks are read in their order.
            splits = [(np.sort(train), np.sort(test)) for train, test in splits]
        for place, (train, test) in enumerate(splits):
            _check(data, train, test, place)
        own = None if transformed is None else [transformed(*split) for split in splits]
        return cls(data, splits, loss, rule, own)

    @property
    def shape(self) -> tuple[int, int]:
        """Folds, and weight vectors of each: one for two classes, else one per class."""
        return len(self.splits), len(self.data.positives)

    @cached_property
    def fixed(self) -> Vector:
        """Intercepts of weight vectors that a fold does not train, (folds, k); NaN for the others.

        Where intercepts are free and a fold trains on no example of a class, that class has no
        weights and is never predicted; a class that is the only one always is.
        """
        found = np.full(self.shape, np.nan)
        if self.data.free_intercept:
            for fold, (train, _) in enumerate(self.splits):
                present = np.flatnonzero(
                    np.bincount(
                        self.data.codes[train],
                        self.data.costs_of(train) > 0.0,
                        minlength=self.data.classes.size,
                    )
                )
                alone = present.size == 1
                for line, positive in enumerate(self.data.positives):
                    if positive not in present:
                        found[fold, line] = NEVER
                    elif alone:
                        found[fold, line] = -NEVER
        return found

    def trained(self, fold: int) -> NDArray[np.intp]:
        """Return which weight vectors a fold trains."""
        return np.flatnonzero(np.isnan(self.fixed[fold]))

    @property
    def whole(self) -> bool:
        """Whether every fold trains all weight vectors."""
        return bool(np.isnan(self.fixed).all())

    def check_every_class(self) -> None:
        """Raise an error if a fold trains on no example of some class."""
        data = self.data
        for fold, (train, _) in enumerate(self.splits):
            present = data.codes[train[data.costs_of(train) > 0.0]]
            missing = np.flatnonzero(np.bincount(present, minlength=data.classes.size) == 0)
            if missing.size:
                raise ValueError(
                    f"fold {fold} of cv trains on no example of class "
                    f"{plain(data.classes[missing[0]])!r}; use fewer folds or a stratified splitter"
                )

    def training(self, fold: int) -> TrainingSet:
        """Return the examples that a fold trains on."""
        train, _ = self.splits[fold]
        if self.own is None:
            return self.data.take(train)
        return self.own[fold].take(np.arange(train.size))

    def held_out(self, fold: int) -> Rows:
        """Return the rows that a fold holds out."""
        train, test = self.splits[fold]
        if self.own is None:
            return self.data.rows.part(np.ascontiguousarray(test))
        return self.own[fold].rows.take(train.size + np.arange(test.size))

    def held_out_X(self, fold: int) -> Any:
        """Return the same as validated, for a scorer."""
        train, test = self.splits[fold]
        return self.data.X[test] if self.own is None else self.own[fold].X[train.size :]

    def rows_of(self, fold: int) -> Rows:
        """Return all rows as a fold has them."""
        return self.data.rows if self.own is None else self.own[fold].rows

    @property
    def even(self) -> bool:
        """Whether the weights of all folds are as long as those of a fit to all examples."""
        folds = range(len(self.splits))
        return all(self.rows_of(fold).weights == self.data.rows.weights for fold in folds)

    def empty_weights(self) -> Any:
        """Return zeros (folds, k, weights) to be filled in, or a list if they are not even."""
        count, lines = self.shape
        if self.even:
            return np.zeros((count, lines, self.data.rows.weights))
        return [np.zeros((lines, self.rows_of(fold).weights)) for fold in range(count)]

    def given_intercepts(self, w: Any, b: Vector) -> Vector:
        """Return intercepts for the given data, from those that belong to shifted rows."""
        return np.array(
            [given_intercepts(w[f], b[f], self.rows_of(f).shift) for f in range(len(self.splits))]
        )

    def own_intercepts(self, w: Any, b: Vector) -> Vector:
        """Undo `given_intercepts`."""
        return np.array(
            [own_intercepts(w[f], b[f], self.rows_of(f).shift) for f in range(len(self.splits))]
        )


def _indices(part: Any, count: int, place: int) -> Indices:
    given = np.asarray(part)
    if given.dtype == bool and given.shape == (count,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"fold {place} of cv is neither indices nor a mask of the {count} rows")
    if given.size and not (-count <= int(given.min()) and int(given.max()) < count):
        raise ValueError(f"fold {place} of cv has an index outside of the {count} rows")
    found = given.astype(np.int64)
    return np.where(found < 0, found + count, found)


def _check(data: TrainingSet, train: Indices, test: Indices, place: int) -> None:
    """Raise an error if a fold trains on nothing, or if its held-out rows have no weight."""
    if train.size == 0 or test.size == 0:
        raise ValueError(f"fold {place} of cv trains on or holds out no rows at all")
    if data.weight is not None and not data.weight[test].any():
        raise ValueError(f"fold {place} of cv holds out nothing but rows of weight zero")
    if not data.costs_of(train).any():
        raise ValueError(f"fold {place} of cv trains on nothing but rows of weight zero")
