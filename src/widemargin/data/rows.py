"""Rows: one read-only view of the data, dense or CSR, that every problem and method works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from widemargin.kernels import core

Vector = NDArray[np.float64]

_ENTRIES_PER_CALL = 16_000_000
"""A compiled call over this many stored values takes some 20 ms; longer work is cut into such
calls, with a checkpoint between them, so that interrupts and time limits are seen."""


_BLAS_SIDE, _BLAS_DENSITY, _BLAS_ROWS = 96, 0.22, 256
"""Weights and share of stored values from which a Gram matrix is left to BLAS, in blocks of so many
rows: its kernels then make up for the zeros (0.03 ns a product, 0.6 ns a scattered one)."""


def no_checkpoint() -> None:
    """Never interrupt."""


def as_rows_array(X: Any) -> Any:
    """Bring a validated matrix into the layout that rows need, copying only by the stated rules.

    The rules, in full: a dense array that is not in C order is copied into C order once, because
    rows must be contiguous; a CSR matrix with repeated entries in a row gets them summed in a copy;
    row pointers and column indices of different widths are widened to int64. Everything else is
    used where it lies. (The view reads a CSR matrix without a single missing entry as the dense
    array that its values are.)
    """
    if sp.issparse(X):
        # has_canonical_format is remembered by scipy, so only the first look costs a pass.
        if not X.has_canonical_format and _has_repeats(X):
            X = X.copy()
            X.sum_duplicates()
        if X.indices.dtype != X.indptr.dtype:
            X = type(X)(
                (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
            )
        return X
    return np.ascontiguousarray(X)


def _has_repeats(X: Any) -> bool:
    """Whether a row stores a column twice; indices need not be sorted."""
    if X.has_sorted_indices:
        same = X.indices[1:] == X.indices[:-1]
        ends = X.indptr[1:-1] - 1
        same[ends[(ends >= 0) & (ends < same.size)]] = False
        return bool(same.any())
    X.check_format(full_check=False)
    indices, pointers = X.indices, X.indptr
    if indices.dtype != pointers.dtype or indices.dtype != np.int32:
        indices, pointers = indices.astype(np.int64), pointers.astype(np.int64)
    return core.has_repeats(indices, pointers, X.shape[1])


@dataclass(frozen=True, eq=False)
class Rows:
    """The examples as rows, read in place.

    Attributes
    ----------
    view : compiled row view
    checkpoint : callable
        Called between compiled calls; it may raise to abandon the work under way.
    """

    view: core.Rows
    checkpoint: Callable[[], None] = no_checkpoint
    _kept: dict[str, Vector] = field(default_factory=dict)
    _taken_from: tuple[core.Rows, NDArray[np.int64]] | None = None
    _known: dict[str, tuple[Vector, Vector]] | None = None

    @classmethod
    def of(cls, X: Any) -> Rows:
        """View a C-ordered array or canonical CSR matrix, see `as_rows_array`."""
        if sp.issparse(X):
            view = core.csr_rows(X.data, X.indices, X.indptr, X.shape[1], 0.0)
        else:
            view = core.dense_rows(X, 0.0)
        return cls(view)

    @property
    def norms(self) -> Vector:
        """Squared Euclidean norm of each row, with the constant feature if there is one."""
        norms = self._kept.get("norms")
        if norms is None:
            norms = np.empty(self.count)
            for begin, end in self.pieces():
                self.view.squared_norms(norms, begin, end)
            self._kept["norms"] = norms
        return norms

    def forget_norms(self) -> None:
        """Let the memory of the norms go; who asks for them again has them computed again."""
        self._kept.pop("norms", None)

    def is_finite(self) -> bool:
        """Whether every value is finite and no row's squared norm overflows."""
        if self.weights > self.count:
            # A vector over so few rows is small beside them, and sweeps will want the norms.
            return bool(np.isfinite(self.norms).all())
        return all(
            np.isfinite(self.view.total_squared_norm(begin, end)) for begin, end in self.pieces()
        )

    @property
    def count(self) -> int:
        """Number of examples n."""
        return self.view.count

    @property
    def features(self) -> int:
        """Number of features d, without the constant one."""
        return self.view.width

    @property
    def weights(self) -> int:
        """Length of a weight vector: d, plus one with a constant feature."""
        return self.view.weights

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and weights."""
        return self.count, self.weights

    def with_constant(self, value: float) -> Rows:
        """Append a constant feature to every row (a penalised intercept)."""
        source = self._taken_from
        if source is not None:
            source = (source[0].with_bias(value), source[1])
        return Rows(self.view.with_bias(value), self.checkpoint, _taken_from=source)

    def take(self, subset: NDArray[np.int64]) -> Rows:
        """View some of the rows, or some of those taken already, without copying them."""
        whole = self.view
        if self._taken_from is not None:
            whole, taken = self._taken_from
            subset = taken[subset]
        return Rows(whole.take(subset), self.checkpoint, _taken_from=(whole, subset))

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Yield row ranges short enough for one compiled call, with a checkpoint after each."""
        count = self.count
        entries = max(self.view.nonzeros, count, 1)
        step = max(1, int(count * min(1.0, _ENTRIES_PER_CALL / entries)))
        for begin in range(0, count, step):
            yield begin, min(begin + step, count)
            self.checkpoint()

    def remembering(self) -> Rows:
        """Return the same rows with a memory for the scores of one weight vector."""
        return replace(self, _known={})

    def remember(self, w: Vector, scores: Vector) -> None:
        """Keep the scores of weights, if these rows have a memory: neither is copied."""
        if self._known is not None:
            self._known["scores"] = (w, scores)

    def known_scores(self, w: Vector) -> Vector | None:
        """Return a copy of the scores of weights, if they were kept."""
        known = None if self._known is None else self._known.get("scores")
        return known[1].copy() if known is not None and np.array_equal(known[0], w) else None

    def scores(self, w: Vector) -> Vector:
        """Return x_i · w for every row."""
        known = self.known_scores(w)
        if known is not None:
            return known
        out = np.empty(self.count)
        for begin, end in self.pieces():
            self.view.scores(w, out, begin, end)
        return out

    def combine(self, coefficients: Vector, signs: Vector | None = None) -> Vector:
        """Return Σ coefficients_i x_i, each times its sign if signs are given."""
        total = np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.accumulate(coefficients, signs, total, begin, end)
        return total

    def combine_change(self, fresh: Vector, old: Vector, signs: Vector) -> Vector:
        """Return Σ (fresh_i − old_i) signs_i x_i; rows whose coefficient stayed are not read."""
        total = np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.accumulate_change(fresh, old, signs, total, begin, end)
        return total

    def scores_and_combination(
        self, w: Vector, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the scores and the combination from one pass over the data."""
        out, total = np.empty(self.count), np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.scores_and_accumulate(w, out, coefficients, signs, total, begin, end)
        return out, total

    def curvature_product(
        self, curvature: Vector, direction: Vector, shift: float
    ) -> tuple[Vector, float]:
        """Return Σ h_i s_i x_i and Σ h_i s_i, with s_i = x_i · direction + shift."""
        total, share = np.zeros(self.weights), 0.0
        for begin, end in self.pieces():
            share += self.view.curvature_product(curvature, direction, shift, total, begin, end)
        return total, share

    def curvature_diagonal(self, curvature: Vector) -> Vector:
        """Return Σ h_i x_ij² for every feature j."""
        total = np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.curvature_diagonal(curvature, total, begin, end)
        return total

    def gram(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return Σ h_i x_i x_iᵀ, with a last row and column for the constant 1 if asked for."""
        side = self.weights + int(constant)
        matrix = np.zeros((side, side))
        mean = self.view.nonzeros / max(1, self.count)
        if side >= _BLAS_SIDE and mean >= _BLAS_DENSITY * side:
            self._gram_by_blas(curvature, constant, matrix)
        else:
            for begin, end in self._gram_pieces(side, int(np.count_nonzero(curvature))):
                self.view.gram(curvature, constant, matrix, begin, end)
        core.symmetrise(matrix)
        return matrix

    def _gram_by_blas(self, curvature: Vector, constant: bool, matrix: NDArray[np.float64]) -> None:
        """Add the products of blocks of rows to the lower triangle, half of them on the diagonal.

        The rows are scaled by √h_i and laid side by side, dense; what is left is a product that
        BLAS has a kernel for on every processor.
        """
        block, done = np.empty((_BLAS_ROWS, len(matrix))), 0
        while done < self.count:
            filled, done = self.view.pack_rows(curvature, constant, block, done)
            if filled > 0:
                dsyrk(1.0, block[:filled].T, beta=1.0, c=matrix.T, overwrite_c=1)
            self.checkpoint()
        np.einsum("ii->i", matrix)[:] *= 0.5

    def row_gram(self) -> NDArray[np.float64]:
        """Return the matrix of all x_i · x_j."""
        matrix = np.empty((self.count, self.count))
        step = max(1, int(_ENTRIES_PER_CALL / max(1, self.view.nonzeros)))
        for begin in range(0, self.count, step):
            self.view.row_gram(matrix, begin, min(begin + step, self.count))
            self.checkpoint()
        return matrix

    def _gram_pieces(self, side: int, used: int) -> Iterator[tuple[int, int]]:
        mean = max(1.0, self.view.nonzeros / max(1, self.count))
        multiplications = used * min(mean * mean, side * side / 16)
        pieces = 1 + int(multiplications / (4 * _ENTRIES_PER_CALL))
        step = max(1, -(-self.count // pieces))
        for begin in range(0, self.count, step):
            yield begin, min(begin + step, self.count)
            self.checkpoint()


def largest_curvature(rows: Rows, seed: int, steps: int = 60) -> float:
    """Return σ₁(X)² by power iteration, raised by one percent."""
    v = np.random.default_rng(seed).normal(size=rows.weights)
    value = 0.0
    ones = np.ones(rows.count)
    for _ in range(steps):
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return 0.0
        v /= norm
        v, _ = rows.curvature_product(ones, v, 0.0)
        value, before = float(np.linalg.norm(v)), value
        if abs(value - before) <= 1e-4 * value:
            break
    return 1.01 * value
