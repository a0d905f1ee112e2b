"""What is cross-validated: examples, and for each fold which of them train or are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from widemargin.data.training_set import TrainingSet, plain
from widemargin.problems.losses import Loss

Indices = NDArray[np.int64]


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
        How several classes are told apart.
    """

    data: TrainingSet
    splits: Sequence[tuple[Indices, Indices]]
    loss: Loss
    rule: str = "ovr"

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        cv: Any,
        groups: Any,
        loss: Loss,
        rule: str = "ovr",
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
        for place, (train, test) in enumerate(splits):
            _check(data, train, test, place)
        return cls(data, splits, loss, rule)

    @property
    def shape(self) -> tuple[int, int]:
        """Folds, and weight vectors of each: one for two classes, else one a class."""
        return len(self.splits), len(self.data.positives)


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
    """Refuse a fold that trains on no example of a class, or whose held-out rows count nothing."""
    if train.size == 0 or test.size == 0:
        raise ValueError(f"fold {place} of cv trains on or holds out no rows at all")
    if data.weight is not None and not data.weight[test].any():
        raise ValueError(f"fold {place} of cv holds out nothing but rows of weight zero")
    present = data.codes[train[data.costs_of(train) > 0.0]]
    missing = np.flatnonzero(np.bincount(present, minlength=data.classes.size) == 0)
    if missing.size:
        raise ValueError(
            f"fold {place} of cv trains on no example of class "
            f"{plain(data.classes[missing[0]])!r}; use fewer folds or a stratified splitter"
        )
