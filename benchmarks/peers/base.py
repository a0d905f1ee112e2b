"""What every rival looks like to the harness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

HINGE = "hinge"
SQUARED_HINGE = "squared_hinge"
LOGISTIC = "logistic"
LOSSES = (HINGE, SQUARED_HINGE, LOGISTIC)


class NotServedError(Exception):
    """The rival cannot take this problem at all; the message is reported in the table."""


def half_decades(first: float, last: float) -> tuple[float, ...]:
    """Give a ladder of tolerances from `first` down to `last` by steps of about sqrt(10).

    Whole decades would let a rival overshoot a target by a factor of two in time only because no
    tolerance in between was tried.
    """
    steps = round(2 * np.log10(first / last))
    return tuple(float(f"{first * 10 ** (-k / 2):.1e}") for k in range(steps + 1))


def counts(first: int, last: int) -> tuple[float, ...]:
    """Give a ladder of iteration counts, each about 1.5 times the one before."""
    ladder = [first]
    while ladder[-1] < last:
        ladder.append(max(ladder[-1] + 1, int(1.5 * ladder[-1])))
    return tuple(float(count) for count in ladder)


def as_given(X: csr_matrix, y: np.ndarray) -> tuple[csr_matrix, np.ndarray]:
    """Prepare nothing: the rival reads CSR itself."""
    return X, y


@dataclass(frozen=True)
class Peer:
    """One way of training a linear classifier without an intercept.

    All of them minimise ``P(w) = 1/2 ||w||^2 + C sum_i loss(y_i w.x_i)``.

    Parameters
    ----------
    name : str
        The name in tables, e.g. ``"liblinear -s 3"``.
    losses : tuple of str
        The losses served.
    levels : tuple of float
        The ladder from loose to tight, in the rival's own unit (tolerance or iteration count).
    fit : callable
        ``fit(prepared, loss, C, level) -> w``; the timed part.
    prepare : callable
        ``prepare(X, y) -> prepared``; conversion and just-in-time compilation, not timed.
    """

    name: str
    losses: tuple[str, ...]
    levels: tuple[float, ...]
    fit: Callable[[Any, str, float, float], np.ndarray]
    prepare: Callable[[csr_matrix, np.ndarray], Any] = as_given
