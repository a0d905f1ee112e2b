"""Rows: one read-only view of the data, dense or CSR, that every problem and method works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.blas_gram import add_gram_by_blas
from widemargin.data.cached import cached_property
from widemargin.data.known_products import KnownProducts
from widemargin.data.layout import as_rows_array as as_rows_array
from widemargin.data.over_examples import OverExamples
from widemargin.data.quick_init import quick_init
from widemargin.data.work import Meter, Size
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]

COMPENSATED = 8.0
"""Operations of a compensated product in those of an ordinary one."""


_LONG = 16
"""Stored values of a row beside which one more does not matter."""


def no_checkpoint() -> None:
    """Never interrupt."""


@quick_init
@dataclass(frozen=True, eq=False)
class Rows(KnownProducts, OverExamples):
    """The examples as rows, read in place.

    Attributes
    ----------
    view : compiled row view
    checkpoint : callable
        Called between compiled calls; it may raise to abandon the work under way.
    meter : Meter
        Counts the work done on these rows; those taken from them share it.
    shift : ndarray of shape (d,), or None
        What was subtracted from the columns of the given data, see `widemargin.data.centring`.
    """

    blocked: ClassVar[bool] = False
    """Whether products are computed block by block, see `widemargin.data.blocked_rows`."""

    view: Any
    checkpoint: Callable[[], None] = no_checkpoint
    meter: Meter = field(default_factory=Meter)
    shift: Vector | None = None
    _longest: int = -1
    _constant: float = 0.0
    _kept: dict[str, Any] = field(default_factory=dict)
    _means: dict[str, float] = field(default_factory=dict)
    _taken_from: tuple[core.Rows, NDArray[np.int64]] | None = None
    _whole: Rows | None = None
    _known: dict[str, tuple[Vector, Vector, Vector | None]] | None = None
    array: Any = None
    """What `of` was given."""

    @classmethod
    def of(cls, X: Any, shift: Vector | None = None, threads: int = 1) -> Rows:
        """View a C-ordered array or canonical CSR matrix, see `as_rows_array`."""
        if sp.issparse(X):
            view = core.csr_rows(X.data, X.indices, X.indptr, X.shape[1], 0.0, threads)
            # Slices of one matrix may share its arrays and leave some of them out.
            longest = core.longest_row(X.indptr)
        else:
            view, longest = core.dense_rows(X, 0.0), X.shape[1]
        return cls(view, shift=shift, _longest=longest, array=X)

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

    @property
    def mean_squared_norm(self) -> float:
        """Mean of the squared norms of the rows; those of a run, and of a problem, share it."""
        mean = self._means.get("squared norm")
        if mean is None:
            norms = self._kept.get("norms")
            if norms is not None:
                total = float(norms.sum())
            else:
                pieces = self.pieces()
                total = sum(self.view.total_squared_norm(begin, end) for begin, end in pieces)
            mean = self._means["squared norm"] = total / max(1, self.count)
        return mean

    @cached_property
    def frobenius(self) -> float:
        """An upper bound of √(Σ‖x_i‖²), for rows taken from others that of all of them."""
        if self._whole is not None:
            return self._whole.frobenius
        stored = self.count * (self.longest + 1.0)
        # Squares can vanish below the normal numbers.
        squared = self.count * self.mean_squared_norm * (1.0 + 1e-6) + stored * 2.3e-308
        return float(np.sqrt(squared) * (1.0 + 1e-6))

    def kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what was computed under a name before, or compute it; all runs share it."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    def forget_norms(self) -> None:
        """Free the memory of the norms; they are recomputed on demand."""
        self._kept.pop("norms", None)

    def is_finite(self) -> bool:
        """Whether every value is finite and no row's squared norm overflows."""
        if self.weights > self.count or self.size.mean >= _LONG:
            # A vector over the rows is small beside them, and sweeps will want the norms.
            return bool(np.isfinite(self.norms).all())
        return bool(np.isfinite(self.mean_squared_norm))

    @cached_property
    def count(self) -> int:
        """Number of examples n."""
        return self.view.count

    @property
    def longest(self) -> int:
        """Stored values of a row, at most, with the constant feature."""
        return self.weights if self._longest < 0 else self._longest

    @property
    def features(self) -> int:
        """Number of features d, without the constant one."""
        return self.view.width

    @cached_property
    def weights(self) -> int:
        """Length of a weight vector: d, plus one with a constant feature."""
        return self.view.weights

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and weights."""
        return self.count, self.weights

    @cached_property
    def size(self) -> Size:
        """Counts of rows, weights and stored values."""
        return Size(self.count, self.weights, self.view.nonzeros)

    def watched(self, checkpoint: Callable[[], None]) -> Rows:
        """Return the same rows for one run: with its checkpoint, and a meter of its own."""
        rows = object.__new__(type(self))  # `replace` would set a dozen fields one by one
        rows.__dict__.update(self.__dict__, checkpoint=checkpoint, meter=Meter())
        return rows

    def with_constant(self, value: float) -> Rows:
        """Append a constant feature to every row (a penalised intercept)."""
        source = self._taken_from
        if source is not None:
            source = (source[0].with_bias(value), source[1])
        return Rows(
            self.view.with_bias(value),
            self.checkpoint,
            self.meter,
            self.shift,
            self.longest + 1,
            value,
            _taken_from=source,
            array=self.array,
        )

    def take(self, subset: NDArray[np.int64]) -> Rows:
        """View some of the rows, or some of those taken already, without copying them."""
        whole = self.view
        if self._taken_from is not None:
            whole, taken = self._taken_from
            subset = taken[subset]
        return Rows(
            whole.take(subset),
            self.checkpoint,
            self.meter,
            self.shift,
            self.longest,
            self._constant,
            _taken_from=(whole, subset),
            _whole=self._whole or self,
            array=self.array,
        )

    def part(self, subset: NDArray[np.int64]) -> Rows:
        """View rows for a problem of their own: as `take`, but nothing is copied to stay."""
        return self.take(subset)

    def glance(self, subset: NDArray[np.int64]) -> Rows:
        """View some of the rows for one pass: as `take`, but nothing in memory is copied."""
        return self.take(subset)

    @property
    def constant(self) -> float:
        """Value of the constant feature, or 0."""
        return self._constant

    @property
    def plain(self) -> bool:
        """Whether `array` has these rows and no others, and no constant feature is added."""
        return self.array is not None and self._taken_from is None and not self._constant

    def copied(self, subset: NDArray[np.int64]) -> Rows:
        """Copy some of the rows that `of` was given."""
        places = subset if self._taken_from is None else self._taken_from[1][subset]
        rows = Rows.of(self.array[places])
        return rows.with_constant(self._constant) if self._constant else rows

    @property
    def elsewhere(self) -> bool:
        """Whether the rows are not in memory, so that only products with all of them are cheap."""
        return self.view is None

    @property
    def largest_sample(self) -> int:
        """Rows of the largest sample that is cheaper to work on than all rows."""
        return self.count

    def pieces(
        self, work: float | None = None, count: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Yield ranges short enough for one compiled call each, with a checkpoint after each.

        Parameters
        ----------
        work : float, optional
            What all of it costs, as `widemargin.data.work` counts; by default a product.
        count : int, optional
            The end of the last range; by default the number of rows.
        """
        count = self.count if count is None else count
        work = self.size.product() if work is None else work
        step = count if work <= MACHINE.call else max(1, int(count * MACHINE.call / work))
        for begin in range(0, count, max(1, step)):
            yield begin, min(begin + step, count)
            self.checkpoint()

    def scores(self, w: Vector) -> Vector:
        """Return x_i · w for every row."""
        known = self.known_scores(w)
        if known is not None:
            return known
        out = np.empty(self.count)
        for begin, end in self.pieces():
            self.view.scores(w, out, begin, end)
        self.meter.add(self.size.product())
        return out

    def combine(self, coefficients: Vector, signs: Vector | None = None) -> Vector:
        """Return Σ coefficients_i x_i, each times its sign if signs are given."""
        total = np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.accumulate(coefficients, signs, total, begin, end)
        self.meter.add(self.size.product())
        return total

    def combine_change(self, fresh: Vector, old: Vector, signs: Vector) -> Vector:
        """Return Σ (fresh_i − old_i) signs_i x_i; rows whose coefficient stayed are not read."""
        total = np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.accumulate_change(fresh, old, signs, total, begin, end)
        self.meter.add(self.size.product(0.5))
        return total

    def scores_and_combination(
        self, w: Vector, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the scores and the combination from one pass over the data."""
        out, total = np.empty(self.count), np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.scores_and_accumulate(w, out, coefficients, signs, total, begin, end)
        self.meter.add(self.size.product(2.0))
        return out, total

    def exact_intercept_here(self, w: Vector, b: float) -> tuple[float, float, float]:
        """Return the intercept that the given data's own one comes to on these rows.

        As the sum of two numbers, and a bound on what is left out. Where columns were shifted, the
        given data have the intercept `given_intercept(w, b)`, and that is a rounded number.
        """
        if self.shift is None:
            # A penalised intercept is a product, and rounded when it is handed out.
            return b, 0.0, 2.0**-52 * abs(self._constant * float(w[-1])) if self._constant else 0.0
        given = self.given_intercept(w, b)
        high, low = core.compensated_dot(w, self.shift, given)
        sizes = float(np.abs(w) @ np.abs(self.shift)) + abs(given)
        error = 4.0 * ((w.size + 8.0) * 2.0**-53) ** 2 * sizes + w.size * 2.3e-308
        # An intercept of the given data that was carried here and back may have lost a digit.
        return high, low, error + 2.0**-51 * (abs(high) + abs(b))

    def intercept_here(self, w: Vector, b: float) -> tuple[float, float]:
        """Return the same as one number, and how far it can be off."""
        high, low, error = self.exact_intercept_here(w, b)
        return high, abs(low) + error

    def given_intercept(self, w: Vector, b: float) -> float:
        """Return the intercept for the given data, of weights and an intercept for these rows."""
        if self.shift is None:
            return b
        high, low = core.compensated_dot(-w, self.shift, b)
        return high + low

    def compensated_scores(self, w: Vector, b: tuple[float, float]) -> Vector:
        """Return x_i · w + b for every row, each rounded once; b is the sum of two numbers."""
        out = np.empty(self.count)
        for begin, end in self.pieces(self.size.product(COMPENSATED)):
            self.view.compensated_scores(w, *b, out, begin, end)
        self.meter.add(self.size.product(COMPENSATED))
        return out

    def compensated_combination(self, coefficients: Vector, signs: Vector | None = None) -> Vector:
        """Return Σ coefficients_i x_i as `combine` does, each entry rounded once."""
        high, low = self.compensated_pair(coefficients, signs)
        return high + low

    def compensated_pair(
        self, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return Σ coefficients_i x_i as the sum of two vectors."""
        high, low = np.zeros(self.weights), np.zeros(self.weights)
        for begin, end in self.pieces(self.size.product(COMPENSATED)):
            self.view.compensated_accumulate(coefficients, signs, high, low, begin, end)
        self.meter.add(self.size.product(COMPENSATED))
        return high, low

    def curvature_product(
        self, curvature: Vector, direction: Vector, shift: float
    ) -> tuple[Vector, float]:
        """Return Σ h_i s_i x_i and Σ h_i s_i, with s_i = x_i · direction + shift."""
        total, share = np.zeros(self.weights), 0.0
        for begin, end in self.pieces():
            share += self.view.curvature_product(curvature, direction, shift, total, begin, end)
        self.meter.add(self.size.curved_product(self.nonzeros(curvature)))
        return total, share

    def curvature_diagonal(self, curvature: Vector) -> Vector:
        """Return Σ h_i x_ij² for every feature j."""
        total = np.zeros(self.weights)
        for begin, end in self.pieces():
            self.view.curvature_diagonal(curvature, total, begin, end)
        self.meter.add(self.size.product())
        return total

    def gram(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return Σ h_i x_i x_iᵀ, with a last row and column for the constant 1 if asked for."""
        matrix = self.gram_triangle(curvature, constant)
        core.symmetrise(matrix)
        return matrix

    def gram_triangle(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return one triangle of the same, half of it on the diagonal."""
        side = self.weights + int(constant)
        matrix = np.zeros((side, side))
        used = self.nonzeros(curvature)
        if self.size.gram_by_blas(side):
            add_gram_by_blas(self.view, curvature, constant, matrix, self.checkpoint)
        else:
            for begin, end in self.pieces(self.size.gram(used)):
                self.view.gram(curvature, constant, matrix, begin, end)
        self.meter.add(self.size.gram(used))
        return matrix

    def row_gram(self) -> NDArray[np.float64]:
        """Return the matrix of all x_i · x_j."""
        matrix = np.empty((self.count, self.count))
        for begin, end in self.pieces(self.size.row_gram()):
            self.view.row_gram(matrix, begin, end)
        self.meter.add(self.size.row_gram())
        return matrix
