"""From scores of the logistic loss to probabilities of the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

Vector = NDArray[np.float64]


def probabilities(scores: Vector, joint: bool) -> Vector:
    """Return the classes' probabilities, of shape (n, classes).

    Scores of shape (n,) are those of the second of two classes. Of shape (n, classes), those of
    classes trained jointly go through the softmax; else each class's own are divided by their sum.
    """
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    shares = np.exp(_relative_logs(scores, joint))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def log_probabilities(scores: Vector, joint: bool) -> Vector:
    """Return the logarithms of `probabilities`."""
    if scores.ndim == 1:
        return np.column_stack([log_expit(-scores), log_expit(scores)])
    logs = _relative_logs(scores, joint)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def _relative_logs(scores: Vector, joint: bool) -> Vector:
    # In logarithms, so that rows far from every class still sum to one.
    logs = scores if joint else log_expit(scores)
    return np.asarray(logs - logs.max(axis=1, keepdims=True))
