"""A kernel as an operator: rows computed in blocks, kept within a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.rows import Rows, no_checkpoint
from widemargin.data.work import Meter
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """A kernel function by name, or any callable k(A, B) that gives the matrix of all pairs."""

    name: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @property
    def semidefinite(self) -> bool:
        """Whether the formula alone says that every matrix of this kernel is positive semidefinite.

        A polynomial with coefficients ≥ 0 in inner products is a sum of products of kernels.
        """
        if callable(self.name) or self.name == "precomputed":
            return False
        return self.name != "poly" or (self.gamma > 0.0 and self.coef0 >= 0.0)

    def prepared(self, X: Any) -> Any:
        """Return rows whose pairs are those of X, as float64; a callable gets them as they are.

        The rbf kernel sees differences alone: dense rows are moved to their mean, for ‖a‖² + ‖b‖² −
        2 a·b loses all digits where rows are far from zero and near to one another.
        """
        if callable(self.name):
            return X
        X = X.astype(np.float64, copy=False)
        if self.name == "rbf" and not hasattr(X, "multiply") and X.size:
            return X - X.mean(axis=0)
        return X

    def between(self, A: Any, B: Any) -> Matrix:
        """Return k(a_i, b_j) for all rows of A and B."""
        if callable(self.name):
            return self.pairs(A, B)
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
        if self.name == "rbf" and not (hasattr(A, "multiply") or hasattr(B, "multiply")):
            centre = B.mean(axis=0) if B.size else 0.0
            A, B = A - centre, B - centre
        return self.pairs(A, B)

    def pairs(self, A: Any, B: Any) -> Matrix:
        """Return k(a_i, b_j) for all rows of A and B, which are prepared."""
        # What overflows is refused below.
        with np.errstate(over="ignore", invalid="ignore"):
            block = self._pairs(A, B)
            finite = bool(np.isfinite(block.sum()) or np.isfinite(block).all())
        if not finite:
            raise ValueError("the kernel gave numbers that are not finite")
        return block

    def _pairs(self, A: Any, B: Any) -> Matrix:
        if callable(self.name):
            block = np.asarray(self.name(A, B), dtype=np.float64)
            if block.shape != (A.shape[0], B.shape[0]):
                raise ValueError(
                    f"the kernel gave shape {block.shape} for {A.shape[0]} and {B.shape[0]} rows"
                )
            return block
        product = _product(A, B)
        if self.name == "linear":
            return product
        if self.name == "poly":
            product *= self.gamma
            product += self.coef0
            return product**self.degree
        # ‖a − b‖² = ‖a‖² + ‖b‖² − 2 a·b, in place
        product *= -2.0
        product += _squared_norms(A)[:, None]
        product += _squared_norms(B)[None, :]
        np.maximum(product, 0.0, out=product)
        product *= -self.gamma
        return np.exp(product, out=product)


def _product(A: Any, B: Any) -> Matrix:
    product = A @ B.T
    dense = product.toarray() if hasattr(product, "toarray") else product
    return np.ascontiguousarray(dense)


def _squared_norms(A: Any) -> Vector:
    if hasattr(A, "multiply"):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", A, A)


@dataclass(frozen=True, eq=False)
class Gram:
    """The matrix K of a kernel on n examples; symmetric, positive semidefinite.

    Attributes
    ----------
    X : array or CSR matrix, or None if K was given
        Prepared for the kernel.
    kernel : Kernel
    memory : float
        Bytes of K that may be kept. If all of K fits it is computed once; else the rows that were
        asked for last are kept.
    checkpoint : callable
        Called between blocks; it may raise to abandon the work under way.
    meter : Meter
        Counts the work done on the matrix.
    """

    X: Any
    kernel: Kernel
    memory: float
    count: int
    checkpoint: Callable[[], None] = no_checkpoint
    meter: Meter = field(default_factory=Meter)
    _kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, kernel: Kernel, memory: float) -> Gram:
        """Wrap the examples."""
        return cls(kernel.prepared(X), kernel, memory, X.shape[0])

    @classmethod
    def precomputed(cls, K: Matrix) -> Gram:
        """Wrap a matrix that is there already."""
        return cls(None, Kernel("precomputed"), np.inf, K.shape[0], _kept={"all": K})

    def watched(self, checkpoint: Callable[[], None]) -> Gram:
        """Return the same operator, with the same memory, calling `checkpoint` between blocks."""
        return replace(self, checkpoint=checkpoint, meter=Meter())

    @property
    def whole(self) -> Matrix | None:
        """K, if it is given or fits into the memory; else None."""
        if "all" not in self._kept and 8.0 * self.count**2 <= self.memory:
            matrix = np.empty((self.count, self.count))
            for begin, end in self._blocks():
                matrix[begin:end] = self.kernel.pairs(self.X[begin:end], self.X)
                self.checkpoint()
            self._kept["all"] = matrix
        return self._kept.get("all")

    @property
    def source(self) -> core.KernelSource | None:
        """Makes rows of K in compiled code; None for a callable whose matrix does not fit."""
        whole = self.whole if callable(self.kernel.name) else self._kept.get("all")
        kind = "examples" if whole is None else "given"
        if whole is None and callable(self.kernel.name):
            return None
        sources = self._kept.setdefault("sources", {})
        if kind not in sources:
            sources[kind] = self._source() if whole is None else core.KernelSource(whole)
        return sources[kind]

    def _source(self) -> core.KernelSource:
        exact, kernel = Rows.of(self.X).view, self.kernel
        sparse = hasattr(self.X, "multiply")
        with np.errstate(over="ignore"):
            fast = exact if sparse else Rows.of(self.X.astype(np.float32)).view
            source = core.KernelSource(
                exact, fast, str(kernel.name), kernel.gamma, kernel.degree, kernel.coef0
            )
            largest = np.float64(source.largest_square)
            reach = 4.0 * largest if kernel.name != "poly" else self._largest_power(largest)
        if not np.isfinite(reach):
            raise ValueError("the kernel gave numbers that are not finite")
        return source

    def _largest_power(self, largest: np.float64) -> np.float64:
        """Bound the entries of a polynomial kernel."""
        return (self.kernel.gamma * largest + abs(self.kernel.coef0)) ** self.kernel.degree

    @property
    def fits_single_precision(self) -> bool:
        """Whether entries computed in single precision have some four digits.

        A distance is a difference of squared norms, whose rounding the exponential multiplies by γ
        times their size.
        """
        if "single" not in self._kept:
            fits = float(np.abs(self.diagonal).max(initial=0.0)) <= 1e30
            if self.kernel.name == "rbf" and self.source is not None and "all" not in self._kept:
                fits = 4.0 * self.kernel.gamma * self.source.largest_square <= 1000.0
            self._kept["single"] = fits
        return bool(self._kept["single"])

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Columns of the source that belong to these examples: begins and ends of stretches."""
        return np.array([0, self.count], dtype=np.int64)

    @property
    def diagonal(self) -> Vector:
        """k(x_i, x_i) of every example."""
        if "diagonal" not in self._kept:
            if "all" in self._kept:
                diagonal = np.ascontiguousarray(np.diagonal(self._kept["all"]))
            elif not callable(self.kernel.name):
                diagonal = np.empty(self.count)
                source = self.source
                assert source is not None
                source.diagonal(diagonal)
            else:
                step = 64
                diagonal = np.concatenate(
                    [
                        np.diagonal(self.kernel.pairs(self.X[i : i + step], self.X[i : i + step]))
                        for i in range(0, self.count, step)
                    ]
                )
            self._kept["diagonal"] = diagonal
        return self._kept["diagonal"]

    @property
    def sizes(self) -> Vector:
        """Numbers whose products bound the entries of K, up to what a matrix may be rounded to."""
        if "sizes" not in self._kept:
            diagonal = np.maximum(self.diagonal, 0.0)
            lift = 1e-4 * float(diagonal.max(initial=0.0))
            self._kept["sizes"] = np.sqrt(diagonal + lift) * (1.0 + 1e-6) + 1e-150
        return self._kept["sizes"]

    def rows(self, places: NDArray[np.int64]) -> Matrix:
        """Return some rows of K."""
        whole = self.whole
        if whole is not None:
            return whole[places]
        # Rows computed before are taken from memory; the oldest make room.
        cache: dict[int, Vector] = self._kept.setdefault("rows", {})
        block = np.empty((places.size, self.count))
        missing = [k for k, i in enumerate(places) if int(i) not in cache]
        for k, i in enumerate(places):
            if int(i) in cache:
                block[k] = cache[int(i)] = cache.pop(int(i))
        if missing:
            block[missing] = self.kernel.pairs(self.X[places[missing]], self.X)
            self.checkpoint()
            room = int(self.memory / (8.0 * self.count))
            for k in missing[:room]:
                cache[int(places[k])] = block[k].copy()
            while len(cache) > room:
                cache.pop(next(iter(cache)))
        return block

    def multiply(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K times a vector or a matrix of n rows."""
        if right.ndim == 1 and "all" not in self._kept and self.source is not None:
            return self._combine(self.source, right)
        whole = self.whole
        if whole is not None:
            self.checkpoint()
            return whole @ right
        used = np.flatnonzero(right if right.ndim == 1 else right.any(axis=1)).astype(np.int64)
        total = np.zeros_like(right)
        step = max(1, MACHINE.kernel_block // max(1, self.count))
        for begin in range(0, used.size, step):
            places = used[begin : begin + step]
            total += self.rows(places).T @ right[places]
        return total

    def _combine(self, source: core.KernelSource, right: Vector) -> Vector:
        """Return K u from the examples, a few rows at a time, none of them kept."""
        used = np.flatnonzero(right).astype(np.int64)
        total = np.zeros(self.count)
        work = max(1.0, source.entry_work * self.count)
        step = max(1, int(MACHINE.kernel_work / work))
        for begin in range(0, used.size, step):
            places = used[begin : begin + step]
            source.combine(self._in_source(places), right[places], self.bounds, total)
            self.checkpoint()
        return total

    def _in_source(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where examples are in the source."""
        return places

    def _blocks(self) -> Iterator[tuple[int, int]]:
        step = max(1, MACHINE.kernel_block // max(1, self.count))
        for begin in range(0, self.count, step):
            yield begin, min(begin + step, self.count)
