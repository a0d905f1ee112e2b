"""The data of a cell, generated from its seed and its number."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .design import BINARY, Cell

FACTORS = 3
# From this density on, positions are drawn for every place instead of one by one.
DENSE_DRAW = 0.2


def generate(cell: Cell) -> tuple[Any, np.ndarray]:
    """Give X, float64 in C order or CSR with int32 indices, and labels 0 to k − 1."""
    random = np.random.default_rng([cell.seed, cell.index])
    X = dense_rows(cell, random) if cell.dense else sparse_rows(cell, random)
    if cell.duplicates:
        source = np.arange(cell.features)
        copies = random.random(cell.features) < cell.duplicates
        source[copies] = random.integers(0, cell.features, copies.sum())
        X = X[:, source]
    if cell.unit_rows:
        X = scaled_rows(X, 1.0 / np.maximum(row_norms(X), 1e-300))
    if cell.dense:
        X = np.ascontiguousarray(X)
    else:
        X.sort_indices()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, labels(cell, X, random)


def dense_rows(cell: Cell, random: np.random.Generator) -> np.ndarray:
    """Draw every value, then scale the rows."""
    normal = random.standard_normal((cell.rows, cell.features))
    if cell.correlation:
        left, right = factors(cell, random)
        normal = mixed(cell, normal, left @ right.T)
    X = valued(cell, normal, np.arange(cell.features), random)
    return scaled_rows(X, lengths(cell, random)) if cell.tail else X


def sparse_rows(cell: Cell, random: np.random.Generator) -> sp.csr_matrix:
    """Draw how many values a row stores, where they are, and what they are."""
    share = np.minimum(cell.density * lengths(cell, random), 1.0)
    if cell.density > DENSE_DRAW:
        rows, columns = np.nonzero(random.random((cell.rows, cell.features)) < share[:, None])
    else:
        counts = np.maximum(random.poisson(share * cell.features), 1)
        rows = np.repeat(np.arange(cell.rows), np.minimum(counts, cell.features))
        columns = popular_columns(cell, rows.size, random)
        places = np.unique(rows * cell.features + columns)
        rows, columns = np.divmod(places, cell.features)
    normal = random.standard_normal(rows.size)
    if cell.correlation:
        left, right = factors(cell, random)
        normal = mixed(cell, normal, np.einsum("ij,ij->i", left[rows], right[columns]))
    values = valued(cell, normal, columns, random)
    if cell.values == "binary":
        values = np.abs(values) + (values == 0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=cell.rows))])
    return sp.csr_matrix((values, columns, starts), shape=(cell.rows, cell.features))


def popular_columns(cell: Cell, count: int, random: np.random.Generator) -> np.ndarray:
    """Draw columns by Zipf's law, in an order that says nothing."""
    if not cell.popularity:
        return random.integers(0, cell.features, count)
    cumulative = np.cumsum(1.0 / np.arange(1, cell.features + 1) ** cell.popularity)
    drawn = np.searchsorted(cumulative / cumulative[-1], random.random(count))
    return random.permutation(cell.features)[np.minimum(drawn, cell.features - 1)]


def lengths(cell: Cell, random: np.random.Generator) -> np.ndarray:
    """Give the rows' lengths relative to the mean: log-normal, heavy-tailed."""
    return np.exp(cell.tail * random.standard_normal(cell.rows) - 0.5 * cell.tail**2)


def factors(cell: Cell, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Give the common factors of the rows and their weights in the columns."""
    right = random.standard_normal((cell.features, FACTORS)) / np.sqrt(FACTORS)
    return random.standard_normal((cell.rows, FACTORS)), right


def mixed(cell: Cell, own: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Add the common factors so that their share of the variance is the cell's correlation."""
    return np.sqrt(1.0 - cell.correlation) * own + np.sqrt(cell.correlation) * common


def valued(
    cell: Cell, normal: np.ndarray, columns: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Turn normal variables into the cell's kind of values; shift and scale the columns."""
    if cell.values == "uniform":
        values = 0.5 + 0.5 * np.tanh(normal)
    elif cell.values == "binary":
        values = (normal > 0.0).astype(float)
    elif cell.values == "counts":
        values = np.exp(0.5 * normal)
    else:
        values = normal
    if cell.shift:
        values = values + (cell.shift * random.uniform(-1.0, 1.0, cell.features))[columns]
    if cell.scaling:
        values = values * (10.0 ** (cell.scaling * random.standard_normal(cell.features)))[columns]
    return values


def row_norms(X: Any) -> np.ndarray:
    """Give the Euclidean lengths of the rows."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
    return np.sqrt(np.asarray(squares).ravel())


def scaled_rows(X: Any, factor: np.ndarray) -> Any:
    """Multiply every row by its factor."""
    return sp.csr_matrix(sp.diags(factor) @ X) if sp.issparse(X) else X * factor[:, None]


def labels(cell: Cell, X: Any, random: np.random.Generator) -> np.ndarray:
    """Label by linear scores, balance the classes, and draw the noisy labels at random."""
    k = cell.classes
    shares = np.geomspace(cell.balance, 1.0, k)
    shares /= shares.sum()
    spread = np.sqrt(np.asarray(X.multiply(X).mean(axis=0) if sp.issparse(X) else (X * X).mean(0)))
    weights = random.standard_normal((cell.features, 1 if cell.kind == BINARY else k))
    scores = X @ (weights / np.maximum(spread.ravel(), 1e-300)[:, None])
    if cell.kind == BINARY:
        codes = (scores[:, 0] > np.quantile(scores[:, 0], shares[0])).astype(np.int64)
    else:
        scores -= scores.mean(axis=0)
        scores /= np.maximum(scores.std(axis=0), 1e-300)
        codes = np.argmax(scores + np.log(shares), axis=1)
    random_rows = random.random(cell.rows) < cell.noise
    codes[random_rows] = random.choice(k, random_rows.sum(), p=shares)
    # No class is empty: two rows each keep their place whatever was drawn.
    codes[random.permutation(cell.rows)[: 2 * k]] = np.tile(np.arange(k), 2)
    return codes
