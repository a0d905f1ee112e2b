"""The rivals of a cell: scikit-learn, LIBLINEAR and Snap ML, where they solve the same problem.

LIBLINEAR, scikit-learn's `LinearSVC` and Snap ML penalise the intercept. With a free intercept
only the smooth solvers of scikit-learn's `LogisticRegression` minimise the same objective. Nobody
else has the rule of Weston and Watkins; LIBLINEAR has that of Crammer and Singer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..objective import primal
from ..peers.base import LOGISTIC, half_decades
from .design import BINARY, CRAMMER_SINGER, JOINT, Cell

MODULES = ("liblinear", "scikit_learn", "snap_ml")
FREE_INTERCEPT = ("lbfgs", "newton-cholesky", "newton-cg", "sag", "saga")
LARGEST_HESSIAN = 10_000
MAX_ITER = 1_000_000
# Rows of the small fit that loads what a rival needs.
WARM_ROWS = 40

Weights = tuple[np.ndarray, np.ndarray]
"""One row of weights and one intercept for each binary problem or class."""


@dataclass(frozen=True)
class Rival:
    """One way of training on a cell: `prepare` is not timed, `fit` gives the weights."""

    name: str
    levels: tuple[float, ...]
    prepare: Callable[[Any, np.ndarray], Any]
    fit: Callable[[Any, float], Weights]


def rivals(cell: Cell) -> list[Rival]:
    """List the rivals that minimise the objective of a cell."""
    if cell.kind in JOINT:
        same = cell.kind == CRAMMER_SINGER and not cell.intercept
        return [crammer_singer(cell)] if same else []
    if cell.intercept:
        return logistic_with_intercept(cell) if cell.loss == LOGISTIC else []
    return without_intercept(cell)


def signs(cell: Cell, y: np.ndarray) -> list[np.ndarray]:
    """Give labels of ±1: one array for two classes, else one for each class against the rest."""
    positives = [1] if cell.kind == BINARY else range(cell.classes)
    return [np.where(y == positive, 1.0, -1.0) for positive in positives]


def without_intercept(cell: Cell) -> list[Rival]:
    """Take the peers of the speed comparison, class after class."""
    from importlib import import_module

    found = []
    for module in MODULES:
        source = import_module(f"..peers.{module}", __package__)
        for peer in source.peers():
            if cell.loss not in peer.losses:
                continue
            if "cholesky" in peer.name and cell.features > LARGEST_HESSIAN:
                continue

            def prepare(X: Any, y: np.ndarray, peer: Any = peer, module: str = module) -> Any:
                # LIBLINEAR reads dense rows one value at a time.
                rows = sp.csr_matrix(X) if module == "liblinear" else X
                return [peer.prepare(rows, labels) for labels in signs(cell, y)]

            def fit(prepared: Any, level: float, peer: Any = peer) -> Weights:
                W = [peer.fit(data, cell.loss, cell.C, level) for data in prepared]
                return np.array(W), np.zeros(len(W))

            found.append(Rival(peer.name, peer.levels, prepare, fit))
    return found


def logistic_with_intercept(cell: Cell) -> list[Rival]:
    """Take the solvers of scikit-learn that do not penalise the intercept."""
    found = []
    for solver in FREE_INTERCEPT:
        if solver == "newton-cholesky" and cell.features > LARGEST_HESSIAN:
            continue

        def prepare(X: Any, y: np.ndarray) -> Any:
            return X, signs(cell, y)

        def fit(prepared: Any, level: float, solver: str = solver) -> Weights:
            from sklearn.linear_model import LogisticRegression

            X, labels = prepared
            options = {"C": cell.C, "tol": level, "max_iter": MAX_ITER, "random_state": 0}
            models = [LogisticRegression(solver=solver, **options).fit(X, s) for s in labels]
            W = np.array([model.coef_.ravel() for model in models])
            return W, np.array([model.intercept_[0] for model in models])

        ladder = half_decades(1e-1, 1e-9)
        found.append(Rival(f"sklearn {solver}", ladder, prepare, fit))
    return found


def crammer_singer(cell: Cell) -> Rival:
    """Take LIBLINEAR's -s 4."""

    def prepare(X: Any, y: np.ndarray) -> Any:
        from liblinear.liblinear import problem

        return problem(y.astype(float), sp.csr_matrix(X))

    def fit(data: Any, level: float) -> Weights:
        from liblinear.liblinearutil import train

        model = train(data, f"-s 4 -c {cell.C!r} -e {level!r} -q")
        W = np.ctypeslib.as_array(model.w, shape=(model.nr_feature, model.nr_class)).T
        return W[np.argsort(model.get_labels())].copy(), np.zeros(model.nr_class)

    return Rival("liblinear -s 4", half_decades(1.0, 1e-9), prepare, fit)


def objective(cell: Cell, X: Any, y: np.ndarray, weights: Weights) -> float:
    """Evaluate the objective of a cell, summed over the classes, in float64."""
    W, b = weights
    if cell.kind == CRAMMER_SINGER:
        scores = X @ W.T + b
        places = np.arange(y.size)
        right = scores[places, y]
        scores += 1.0
        scores[places, y] = -np.inf
        losses = np.maximum(scores.max(axis=1) - right, 0.0)
        return float(0.5 * np.sum(W * W) + cell.C * losses.sum())
    return sum(
        binary_objective(cell, X, labels, w, b)
        for labels, w, b in zip(signs(cell, y), W, b, strict=True)
    )


def binary_objective(cell: Cell, X: Any, y: np.ndarray, w: np.ndarray, b: float) -> float:
    """Evaluate one binary problem; only the logistic loss has rivals with an intercept."""
    if not cell.intercept:
        return primal(X, y, cell.loss, cell.C, w)
    margins = y * (X @ w + b)
    return float(0.5 * (w @ w) + cell.C * np.logaddexp(0.0, -margins).sum())


def small_part(y: np.ndarray) -> np.ndarray:
    """Choose a few rows of every class."""
    per_class = max(2, WARM_ROWS // (int(y.max()) + 1))
    return np.concatenate([np.flatnonzero(y == label)[:per_class] for label in np.unique(y)])
