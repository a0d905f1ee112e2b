"""Who trains and who is held out: splits as any splitter gives them, checked before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from widemargin.data.validation import plain
from widemargin.selection.folds import Folds, Indices


def splits_of(cv: Any, y: NDArray[Any], groups: Any) -> list[tuple[Indices, Indices]]:
    """Return the rows to train on and the rows held out, of each fold.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        Parts of a split are indices or masks; an index may come more than once.
    y : ndarray of shape (n,)
    groups : array-like of shape (n,), optional
    """
    splitter = check_cv(cv, y, classifier=True)
    splits = [
        (_indices(train, y.size, place), _indices(test, y.size, place))
        for place, (train, test) in enumerate(splitter.split(np.empty((y.size, 0)), y, groups))
    ]
    if not splits:
        raise ValueError("cv gave no folds")
    return splits


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


def check_splits(folds: Folds) -> None:
    """Refuse folds that train on no example of a class, or whose held-out rows count nothing."""
    for place, (train, test) in enumerate(folds.splits):
        if train.size == 0 or test.size == 0:
            raise ValueError(f"fold {place} of cv trains on or holds out no rows at all")
        if folds.weight is not None and not folds.weight[test].any():
            raise ValueError(f"fold {place} of cv holds out nothing but rows of weight zero")
        present = folds.codes[train[folds.cost(train) > 0.0]]
        missing = np.flatnonzero(np.bincount(present, minlength=folds.classes.size) == 0)
        if missing.size:
            raise ValueError(
                f"fold {place} of cv trains on no example of class "
                f"{plain(folds.classes[missing[0]])!r}; use fewer folds or a stratified splitter"
            )
