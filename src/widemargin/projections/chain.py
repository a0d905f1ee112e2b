"""Projection onto the marginals of a chain (BMRM, section E.3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MOST_STEPS = 200
"""Newton steps: the dual is piecewise quadratic, and some ten are the rule."""

_MOST_HALVINGS = 60
"""Of the interval that a step's length is searched in: beyond, double precision has no numbers."""

_RIDGE = 1e-12
"""Added to the diagonal, relative to its size: far above rounding, far below what is computed."""

_ACCURACY = 1e-14
"""Largest violation of a constraint at which the projection ends, relative to the tables' size."""


def project_chain(tables: Any, weights: Any = None) -> Array:
    """Project one table for each edge of a chain onto consistent edge marginals.

    Minimises ``½ Σ_t d_t² ‖α_t − m_t‖²`` over tables α_t ≥ 0 that add up to one each and agree
    where they meet: ``Σ_i α_t(i, j) = Σ_k α_{t+1}(j, k)``. On chains these are exactly the
    marginals of distributions over labelings. Newton's method on the dual, whose system is
    block-tridiagonal: O(L k³) a step.

    Parameters
    ----------
    tables : array-like of shape (edges, k, k)
        The tables m_t; one for each pair of neighbours.
    weights : array-like of shape (edges,), optional
        The d_t, positive; by default 1.

    Returns
    -------
    ndarray of shape (edges, k, k)

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.projections import project_chain
    >>> alpha = project_chain([[[0.9, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.9]]])
    >>> alpha.round(3).tolist()
    [[[0.5, 0.25], [0.0, 0.25]], [[0.25, 0.25], [0.0, 0.5]]]
    """
    m = np.asarray(tables, dtype=np.float64)
    if m.ndim != 3 or m.shape[1] != m.shape[2] or min(m.shape) < 1:
        raise ValueError("tables must have the shape (edges, k, k) with at least one edge")
    if not np.isfinite(m).all():
        raise ValueError("tables must be finite")
    d = np.ones(len(m)) if weights is None else np.asarray(weights, dtype=np.float64)
    if d.shape != (len(m),) or not (np.isfinite(d).all() and (d > 0.0).all()):
        raise ValueError(f"weights must be {len(m)} positive numbers")
    return _Projection(m, d * d).solve()


class _Projection:
    """The dual: maximise Σ λ_t − ½ Σ_t ‖[θ_t]₊‖² / d_t².

    θ_t(i, j) = d_t² m_t(i, j) + λ_t + μ_t(j) − μ_{t−1}(i), and α_t = [θ_t]₊ / d_t². A point z has
    λ_t first and μ_t after it in line t; μ of the last line is zero and stays so.
    """

    def __init__(self, m: Array, square: Array) -> None:
        self.base = m * square[:, None, None]
        self.square = square[:, None, None]
        self.edges, self.k = len(m), m.shape[1]

    def solve(self) -> Array:
        """Take Newton steps, each with a search along its line."""
        z = max(self._starts(), key=lambda start: self._at(start)[0])
        _, alpha, gradient = self._at(z)
        scale = 1.0 + float(np.abs(self.base / self.square).max())
        for _ in range(_MOST_STEPS):
            if float(np.abs(gradient).max()) <= _ACCURACY * scale:
                break
            step = self._newton(alpha > 0.0, gradient)
            found = self._searched(z, step, float(np.vdot(step, gradient)))
            if found is None:
                break
            z, alpha, gradient = found
        return self._repaired(alpha)

    def _repaired(self, alpha: Array) -> Array:
        """Return α with its constraints met to rounding.

        θ adds up numbers as large as the tables, and α is what is left of them: a last Newton step
        is taken by α itself.
        """
        active = alpha > 0.0
        step = self._newton(active, self._violation(alpha))
        moved = np.maximum(alpha + active * self._along(step) / self.square, 0.0)
        better = np.abs(self._violation(moved)).max() < np.abs(self._violation(alpha)).max()
        return moved if better else alpha

    def _starts(self) -> list[Array]:
        """Return two points: no agreement between tables, and the best labeling's potentials."""
        alone, best = (np.zeros((self.edges, self.k + 1)) for _ in range(2))
        levels = zip(self.base, self.square, strict=True)
        alone[:, 0] = [_level(table.ravel(), s) for table, s in levels]
        before, tables = np.zeros(self.k), self.base.copy()
        for t in range(self.edges):
            tables[t] += before[:, None]
            if t < self.edges - 1:
                before = tables[t].max(axis=0)
                tables[t] -= before
                best[t, 1:] = -before
        levels = zip(tables, self.square, strict=True)
        best[:, 0] = [_level(table.ravel(), s) for table, s in levels]
        return [alone, best]

    def _searched(self, z: Array, step: Array, slope: float) -> tuple[Array, Array, Array] | None:
        """Return a point along a step where the slope has fallen to half at most, or None.

        The dual is concave, so slopes fall along the line; unlike values they do not cancel.
        """
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(_MOST_HALVINGS):
            trial = z + length * step
            _, alpha, gradient = self._at(trial)
            there = float(np.vdot(step, gradient))
            if abs(there) <= 0.5 * slope:
                return trial, alpha, gradient
            low, high = (length, high) if there > 0.0 else (low, length)
            length = 2.0 * length if high == np.inf else 0.5 * (low + high)
        return None

    def _at(self, z: Array) -> tuple[float, Array, Array]:
        """Return the dual value, α and the gradient."""
        theta = self.base + self._along(z)
        positive = np.maximum(theta, 0.0)
        alpha = positive / self.square
        value = float(z[:, 0].sum()) - 0.5 * float(np.vdot(positive, alpha))
        return value, alpha, self._violation(alpha)

    def _along(self, z: Array) -> Array:
        """Return what z adds to θ."""
        change = np.repeat(z[:, :1, None] + z[:, None, 1:], self.k, axis=1)
        change[1:] -= z[:-1, 1:, None]
        return change

    def _violation(self, alpha: Array) -> Array:
        """Return the gradient: what sums lack to one, and by how much neighbours disagree."""
        gradient = np.zeros((self.edges, self.k + 1))
        gradient[:, 0] = 1.0 - alpha.sum(axis=(1, 2))
        gradient[:-1, 1:] = alpha[1:].sum(axis=2) - alpha[:-1].sum(axis=1)
        return gradient

    def _newton(self, active: NDArray[np.bool_], gradient: Array) -> Array:
        """Solve the block-tridiagonal system of the generalised Hessian, with a small ridge."""
        k, edges = self.k, self.edges
        share = active / self.square
        columns, rows = share.sum(axis=1), share.sum(axis=2)
        blocks = np.zeros((edges, k + 1, k + 1))
        blocks[:, 0, 0] = columns.sum(axis=1)
        diagonal = np.arange(1, k + 1)
        blocks[:-1, 0, 1:] = blocks[:-1, 1:, 0] = columns[:-1]
        blocks[:-1, diagonal, diagonal] = columns[:-1] + rows[1:]
        blocks[-1, diagonal, diagonal] = 1.0
        scale = max(float(blocks[:, 0, 0].max()), float((1.0 / self.square).max()))
        blocks[:, np.arange(k + 1), np.arange(k + 1)] += _RIDGE * scale
        off = np.zeros((edges - 1, k + 1, k + 1))  # between lines t and t + 1
        off[:, 1:, 0] = -rows[1:]
        off[:-1, 1:, 1:] = -share[1:-1]
        # 1) forward elimination  2) back substitution
        right = gradient.copy()
        kept: list[Array] = []
        for t in range(edges):
            if t:
                before = kept[-1]
                blocks[t] -= off[t - 1].T @ before
                right[t] -= before.T @ right[t - 1]
            kept.append(np.linalg.solve(blocks[t], off[t]) if t < edges - 1 else off[:0])
        step = np.zeros_like(right)
        for t in reversed(range(edges)):
            step[t] = np.linalg.solve(blocks[t], right[t])
            if t < edges - 1:
                step[t] -= kept[t] @ step[t + 1]
        step[-1, 1:] = 0.0
        return step


def _level(values: Array, square: Array) -> float:
    """Return λ with Σ [values + λ]₊ = square: the projection onto one simplex."""
    ordered = np.sort(values)[::-1]
    levels = (float(square.squeeze()) - np.cumsum(ordered)) / np.arange(1, ordered.size + 1)
    return float(levels[np.flatnonzero(ordered + levels > 0.0)[-1]])
