"""LIBLINEAR through `liblinear-official`."""

from __future__ import annotations

from functools import partial

import numpy as np
from liblinear.liblinear import problem
from liblinear.liblinearutil import train
from scipy.sparse import csr_matrix

from .base import HINGE, LOGISTIC, SQUARED_HINGE, Peer, half_decades


def prepare(X: csr_matrix, y: np.ndarray) -> problem:
    """Copy the rows into LIBLINEAR's array of (index, value) nodes."""
    return problem(y, X)


def fit(solver: int, data: problem, loss: str, C: float, level: float) -> np.ndarray:
    """Train with ``-s solver -e level``; LIBLINEAR's objective is ours."""
    model = train(data, f"-s {solver} -c {C!r} -e {level!r} -q")
    w = np.ctypeslib.as_array(model.w, shape=(model.nr_feature,)).copy()
    # The weights belong to the label that came first in the data.
    return w if model.label[0] == 1 else -w


def peers() -> list[Peer]:
    """Give the five solvers; LIBLINEAR stops the dual ones after 300 sweeps at the latest."""
    dual, primal = half_decades(1.0, 1e-9), half_decades(1e-1, 1e-10)
    return [
        Peer("liblinear -s 3 (dual)", (HINGE,), dual, partial(fit, 3), prepare),
        Peer("liblinear -s 1 (dual)", (SQUARED_HINGE,), dual, partial(fit, 1), prepare),
        Peer("liblinear -s 2 (Newton)", (SQUARED_HINGE,), primal, partial(fit, 2), prepare),
        Peer("liblinear -s 7 (dual)", (LOGISTIC,), dual, partial(fit, 7), prepare),
        Peer("liblinear -s 0 (Newton)", (LOGISTIC,), primal, partial(fit, 0), prepare),
    ]
