"""What a search has seen, in the shapes of scikit-learn's LogisticRegressionCV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.training_set import join_intercept, split_intercept
from widemargin.selection.folds import Folds
from widemargin.selection.search import Search

Vector = NDArray[np.float64]


def attributes(
    search: Search, folds: Folds, C: float, ratios_given: bool, intercept: bool
) -> dict[str, Any]:
    """Return the attributes as scikit-learn 1.10 has them, arrays with an axis for l1_ratios."""
    found = {
        "C_": C,
        "l1_ratio_": folds.l1_ratio,
        "l1_ratios_": np.full(1, folds.l1_ratio),
        # (folds, 1, Cs)
        "scores_": np.array(search.scores).T[:, None, :],
        "n_iter_": np.array(search.iterations).T[:, None, :],
    }
    if folds.even:
        # (folds, 1, Cs, k, weights)
        found["coefs_paths_"] = np.swapaxes(_weights(search, folds, intercept), 0, 1)[:, None]
    return found


def legacy_attributes(
    search: Search, folds: Folds, C: float, ratios_given: bool, intercept: bool
) -> dict[str, Any]:
    """Return the attributes as scikit-learn 1.9 has them by default: dictionaries over classes.

    Where the folds' weights differ in length there is no ``coefs_paths_``.
    The axis for l1_ratios, of length one, is there only if they were given.
    """
    names, scores = folds.data.names, np.array(search.scores).T
    iterations = np.array(search.iterations).T[None]
    if ratios_given:
        scores, iterations = scores[..., None], iterations[..., None]
    found = {
        "C_": np.full(len(names), C),
        "l1_ratio_": np.full(len(names), folds.l1_ratio if ratios_given else None),
        "l1_ratios_": np.full(1, folds.l1_ratio) if ratios_given else np.array([None]),
        "scores_": {name: scores.copy() for name in names},
        "n_iter_": iterations,
    }
    if folds.even:
        # (k, folds, Cs, weights)
        coefs = np.transpose(_weights(search, folds, intercept), (2, 1, 0, 3))
        coefs = coefs[:, :, :, None] if ratios_given else coefs
        found["coefs_paths_"] = dict(zip(names, coefs, strict=True))
    return found


def joined(fits: Sequence[dict[str, Any]], chosen: int) -> dict[str, Any]:
    """Return the attributes of searches at several l1_ratios as those of one, axes stacked.

    ``C_`` and ``l1_ratio_`` are those of the chosen one.
    """
    found = {name: fits[chosen][name] for name in ("C_", "l1_ratio_")}
    found["l1_ratios_"] = np.concatenate([fit["l1_ratios_"] for fit in fits])
    legacy = isinstance(fits[0]["scores_"], dict)
    axes = {"scores_": 2, "n_iter_": 3, "coefs_paths_": 2} if legacy else {}
    for name in ("scores_", "n_iter_", "coefs_paths_"):
        if name not in fits[0]:
            continue
        axis, values = axes.get(name, 1), [fit[name] for fit in fits]
        found[name] = (
            {key: np.concatenate([each[key] for each in values], axis) for key in values[0]}
            if isinstance(values[0], dict)
            else np.concatenate(values, axis)
        )
    return found


def mean_of_best(search: Search, folds: Folds) -> tuple[Vector, Vector, float]:
    """Return the mean over the folds of their weights, each at its best C, and that of the Cs.

    Weights that a fold does not train count for nothing.
    """
    best = np.argmax(np.array(search.scores), axis=0)
    found = [search.weights[place] for place in best]
    w = np.array([each[0][fold] for fold, each in enumerate(found) if each is not None])
    b = np.array([each[1][fold] for fold, each in enumerate(found) if each is not None])
    trained = np.isnan(folds.fixed)
    count = np.maximum(trained.sum(axis=0), 1)
    w = w.sum(axis=0) / count[:, None]
    return w, np.sum(b, axis=0, where=trained) / count, float(np.mean(np.array(search.Cs)[best]))


def weights_of(paths: Any, folds: Folds, intercept: bool) -> list[tuple[Any, Vector] | None]:
    """Return the folds' weights at each C as problems have them, from ``coefs_paths_``."""
    if isinstance(paths, dict):
        stacked = np.stack(list(paths.values()))
        stacked = stacked[:, :, :, 0] if stacked.ndim == 5 else stacked
        stacked = np.transpose(stacked, (2, 1, 0, 3))
    else:
        stacked = np.swapaxes(paths[:, 0], 0, 1)
    found: list[tuple[Any, Vector] | None] = []
    for at in stacked:
        coef, b = (at[..., :-1], at[..., -1]) if intercept else (at, np.zeros(at.shape[:-1]))
        lines = [
            join_intercept(c, i, folds.data.scaling, folds.rows_of(fold).shift)
            for fold, (c, i) in enumerate(zip(coef, b, strict=True))
        ]
        found.append((np.array([w for w, _ in lines]), np.array([i for _, i in lines])))
    return found


def _weights(search: Search, folds: Folds, intercept: bool) -> Vector:
    """Return weights and intercepts of shape (Cs, folds, k, features + 1)."""
    lines = []
    for kept in search.weights:
        assert kept is not None
        w, b = kept
        # Those of penalised intercepts are the last weights of every line.
        coef, given = split_intercept(w, folds.given_intercepts(w, b), folds.data.scaling)
        lines.append(np.concatenate([coef, given[..., None]], axis=-1) if intercept else coef)
    return np.array(lines)
