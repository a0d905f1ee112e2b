"""Examples that are not in memory: on disk, or on other machines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.blocked_rows import BlockedRows


@dataclass(frozen=True)
class Kept:
    """What stays in memory beside the examples.

    Attributes
    ----------
    lines : int
        Weight vectors of a problem: as many numbers each example has.
    waiting : int
        Problems that keep their numbers while others are solved.
    rounded : bool
        Whether the corners of a joint loss are rounded, which takes matrices over the weights of
        all classes.
    """

    lines: int = 1
    waiting: int = 0
    rounded: bool = False

    def matrices(self, width: int, at_once: int) -> int:
        """Return the numbers in matrices over the weights of all classes, `at_once` being added up.

        They are that matrix, or one for each class, or as many rows as there are weights and the
        matrix of their products; see `widemargin.methods.newton._multiclass_system`.
        """
        if not self.rounded:
            return 0
        side = self.lines * (width + 1)
        tied = min((self.lines - 1) * side, MACHINE.largest_factorised)
        summed = at_once * side**2 if side <= MACHINE.largest_multiclass else 0
        return summed + 3 * side * (width + 1) + 3 * tied**2


class Elsewhere(ABC):
    """What a training set needs to know of examples that are kept elsewhere.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    dtype : dtype
        float32 or float64.
    y : ndarray of shape (n_samples,), or None
        The labels, in memory.
    sample_weight : ndarray of shape (n_samples,), or None
    feature_names : tuple of str, or None
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    y: NDArray[Any] | None
    sample_weight: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    ndim = 2

    @abstractmethod
    def rows(self, threads: int, centred: bool, kept: Kept = Kept()) -> BlockedRows:  # noqa: B008 - frozen
        """Return the rows in blocks; `centred`: columns far from zero may be shifted."""

    @abstractmethod
    def matrices(self) -> Iterator[Any]:
        """Yield the rows as matrices, one after the other."""

    def __len__(self) -> int:
        return self.shape[0]

    def describe_to(self, estimator: Any) -> None:
        """Tell an estimator the number and the names of the features."""
        if estimator is None:
            return
        estimator.n_features_in_ = self.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        if self.feature_names is not None:
            estimator.feature_names_in_ = np.array(self.feature_names, dtype=object)
