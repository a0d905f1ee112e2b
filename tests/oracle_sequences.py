"""Independent judges of sequence problems: all labelings one by one, and cvxpy with Clarabel."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.problems.sequence import SequenceProblem

Array = NDArray[np.float64]


def small_sequences(
    seed: int, sentences: int = 6, longest: int = 4, k: int = 3, d: int = 4
) -> tuple[list[Array], list[NDArray[np.int64]]]:
    """Return sentences of noisy rows, one of a single row among them."""
    random = np.random.default_rng(seed)
    lengths = [1, *random.integers(2, longest + 1, sentences - 1)]
    y = [random.integers(0, k, length) for length in lengths]
    y[-1][:] = np.arange(y[-1].size) % k
    y[-2][:2] = k - 1, 0
    centres = random.normal(size=(k, d))
    X = [centres[labels] + random.normal(size=(labels.size, d)) for labels in y]
    return X, y


def problem_of(
    X: list[Any], y: list[Any], C: float, mistake: Array | None = None, boundaries: bool = True
) -> SequenceProblem:
    """State the problem of sentences with labels 0 ... k − 1."""
    k = int(max(labels.max() for labels in y)) + 1
    first = np.concatenate([[0], np.cumsum([len(x) for x in X])]).astype(np.int64)
    label = np.concatenate(y).astype(np.int32)
    costs = 1.0 - np.eye(k) if mistake is None else mistake
    rows = Rows.of(np.vstack(X))
    return SequenceProblem(rows, first, label, np.full(len(X), C), costs, boundaries)


def features(x: Array, y: Any, k: int, boundaries: bool = True) -> Array:
    """Return f(y) in the layout of the weights, without padding."""
    d = x.shape[1]
    out = np.zeros((d + k + 2, k))
    for t, label in enumerate(y):
        out[:d, label] += x[t]
        if t:
            out[d + y[t - 1], label] += 1.0
    if boundaries:
        out[d + k, y[0]] += 1.0
        out[d + k + 1, y[-1]] += 1.0
    return out


def all_losses(w: Array, x: Array, y: Any, mistake: Array, boundaries: bool = True) -> Array:
    """Return Δ(z) − w·(f(y) − f(z)) for every labeling z."""
    k = len(mistake)
    right = features(x, y, k, boundaries)
    return np.array(
        [
            sum(mistake[a, b] for a, b in zip(y, z, strict=True))
            - float(np.vdot(w, right - features(x, z, k, boundaries)))
            for z in product(range(k), repeat=len(y))
        ]
    )


def objective(w: Array, X: list[Any], y: list[Any], C: float, mistake: Array) -> float:
    """Return the primal objective by enumeration."""
    losses = [all_losses(w, x, labels, mistake).max() for x, labels in zip(X, y, strict=True)]
    return 0.5 * float(np.vdot(w, w)) + C * float(np.sum(losses))


def factorised_dual(X: list[Any], y: list[Any], C: float, mistake: Array) -> float:
    """Return the optimum of the dual over edge marginals, by Clarabel."""
    import cvxpy as cp

    k, d = len(mistake), X[0].shape[1]
    constraints, linear = [], []
    emission = [0 for _ in range(k)]
    edges, start, end = 0, 0, 0
    for x, labels in zip(X, y, strict=True):
        length = len(labels)
        nu = cp.Variable((length, k), nonneg=True)
        constraints.append(cp.sum(nu, axis=1) == 1)
        own = np.eye(k)[labels]
        linear.append(C * cp.sum(cp.multiply(nu, mistake[labels])))
        for a in range(k):
            emission[a] = emission[a] + C * (x.T @ (own[:, a] - nu[:, a]))
        start = start + C * (own[0] - nu[0])
        end = end + C * (own[-1] - nu[-1])
        for t in range(length - 1):
            mu = cp.Variable((k, k), nonneg=True)
            constraints += [cp.sum(mu, axis=1) == nu[t], cp.sum(mu, axis=0) == nu[t + 1]]
            edges = edges + C * (np.outer(own[t], own[t + 1]) - mu)
    assert d
    squares = [cp.sum_squares(part) for part in (*emission, edges, start, end)]
    value = cp.sum(linear) - 0.5 * cp.sum(squares)
    return float(cp.Problem(cp.Maximize(value), constraints).solve(solver=cp.CLARABEL))
