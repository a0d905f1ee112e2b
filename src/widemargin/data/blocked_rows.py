"""Rows in blocks: what `Rows` does, block by block, with sums in a fixed order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.blas_gram import add_gram_by_blas
from widemargin.data.block_work import Threads, added
from widemargin.data.blocks import Blocks
from widemargin.data.cached import cached_property
from widemargin.data.rows import COMPENSATED, Rows, no_checkpoint
from widemargin.data.work import Size
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]
Arguments = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class BlockedRows(Rows):
    """Rows whose products are computed block by block.

    Everything that problems and methods ask of `Rows`, with the same bits for any number of threads
    and wherever the blocks are kept.

    Attributes
    ----------
    view : compiled row view, or None
        All rows, if they are in memory: coordinate descent needs them.
    blocks : Blocks
    dimensions : Size
        Counts of rows, weights and stored values.
    """

    blocked: ClassVar[bool] = True

    blocks: Any = None
    dimensions: Size = Size(0, 0, 0)  # noqa: RUF009 - frozen

    @classmethod
    def kept_elsewhere(
        cls, blocks: Blocks, size: Size, longest: int, shift: Any = None
    ) -> BlockedRows:
        """Describe rows that are not in memory."""
        return cls(None, shift=shift, _longest=longest, blocks=blocks, dimensions=size)

    @property
    def threads(self) -> Threads:
        """Threads for vectors over the examples."""
        threads: Threads = self.blocks.threads
        return threads

    def _nonzeros(self, numbers: Vector) -> int:
        return self.threads.count_nonzero(numbers)

    def dot(self, left: Vector, right: Vector) -> float:
        """Return the inner product of vectors over the examples."""
        return self.threads.dot(left, right)

    def sum(self, numbers: Vector) -> float:
        """Return the sum of a vector."""
        return self.threads.sum(numbers)

    @property
    def largest_sample(self) -> int:
        """Rows of the largest sample that can be worked on without reading all blocks."""
        return int(self.blocks.largest_sample)

    @property
    def count(self) -> int:
        """Number of examples n."""
        return self.dimensions.rows

    @property
    def features(self) -> int:
        """Number of features d, without the constant one."""
        return self.dimensions.weights - int(self._constant != 0.0)

    @property
    def weights(self) -> int:
        """Length of a weight vector: d, plus one with a constant feature."""
        return self.dimensions.weights

    @cached_property
    def size(self) -> Size:
        """Counts of rows, weights and stored values."""
        return self.dimensions

    @property
    def norms(self) -> Vector:
        """Squared Euclidean norm of each row, with the constant feature if there is one."""
        norms = self._kept.get("norms")
        if norms is None:
            norms = self._kept["norms"] = self._vector(_norms)
        return norms

    @cached_property
    def mean_squared_norm(self) -> float:
        """Mean of the squared norms of the rows."""
        total = self._kept.get("total")
        if total is None:
            total = self._kept["total"] = self._squares()
        return float(total) / max(1, self.count)

    def _squares(self) -> float:
        return float(self._sum(_squared_norms))

    def is_finite(self) -> bool:
        """Whether every value is finite and no row's squared norm overflows."""
        return bool(np.isfinite(self.mean_squared_norm))

    def with_constant(self, value: float) -> BlockedRows:
        """Append a constant feature to every row (a penalised intercept)."""
        size = self.dimensions
        return replace(
            self,
            view=None if self.view is None else self.view.with_bias(value),
            blocks=self.blocks.with_constant(value),
            dimensions=Size(size.rows, size.weights + 1, size.values),
            _longest=self.longest + 1,
            _constant=value,
            _kept={},
        )

    def take(self, subset: NDArray[np.int64]) -> BlockedRows:
        """View some of the rows, in ascending order; few that are on disk are copied."""
        return self._taken(subset, self.blocks.take(subset, True, self.checkpoint))

    def part(self, subset: NDArray[np.int64]) -> BlockedRows:
        """View rows for a problem of their own, in ascending order: those on disk stay there."""
        return self._taken(subset, self.blocks.take(subset, copied=False))

    def _taken(self, subset: NDArray[np.int64], blocks: Blocks) -> BlockedRows:
        view, source = None, None
        if self.view is not None:
            whole, places = self.view, subset
            if self._taken_from is not None:
                whole, taken = self._taken_from
                places = taken[subset]
            view, source = blocks.view, (whole, places)
        changed: dict[str, Any] = {
            "view": view,
            "blocks": blocks,
            "dimensions": Size(
                subset.size, self.weights, round(self.dimensions.mean * subset.size)
            ),
            "_kept": {},
            "_taken_from": source,
            "_whole": self._whole or self,
            "_known": None,
        }
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return _kind_of(blocks)(**{**kept, **changed})

    def scores(self, w: Vector) -> Vector:
        """Return x_i · w for every row."""
        known = self.known_scores(w)
        if known is not None:
            return known
        self.meter.add(self.size.product())
        return self._vector(_scores, (), (w,))

    def combine(self, coefficients: Vector, signs: Vector | None = None) -> Vector:
        """Return Σ coefficients_i x_i, each times its sign if signs are given."""
        self.meter.add(self.size.product())
        return self._sums(_combine, (coefficients, signs))

    def combine_change(self, fresh: Vector, old: Vector, signs: Vector) -> Vector:
        """Return Σ (fresh_i − old_i) signs_i x_i; rows whose coefficient stayed are not read."""
        self.meter.add(self.size.product(0.5))
        return self._sums(_combine_change, (fresh, old, signs))

    def scores_and_combination(
        self, w: Vector, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the scores and the combination from one pass over the data."""
        self.meter.add(self.size.product(2.0))
        out, total = self.run(_scores_and_combination, (coefficients, signs), (w,))
        return out, total

    def compensated_scores(self, w: Vector, b: tuple[float, float]) -> Vector:
        """Return x_i · w + b for every row, each rounded once; b is the sum of two numbers."""
        self.meter.add(self.size.product(COMPENSATED))
        return self._vector(_compensated_scores, (), (w, b))

    def compensated_pair(
        self, coefficients: Vector, signs: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return Σ coefficients_i x_i as the sum of two vectors."""
        self.meter.add(self.size.product(COMPENSATED))
        pair = self.run(_compensated_pair, (coefficients, signs), (), added_pairs)[1]
        return pair[0], pair[1]

    def curvature_product(
        self, curvature: Vector, direction: Vector, shift: float
    ) -> tuple[Vector, float]:
        """Return Σ h_i s_i x_i and Σ h_i s_i, with s_i = x_i · direction + shift."""
        self.meter.add(self.size.curved_product(self.nonzeros(curvature)))
        found = self._sum(_curvature_product, (curvature,), (direction, shift))
        if found is None:  # no rows
            return np.zeros(self.weights), 0.0
        return found[0], float(found[1])

    def curvature_diagonal(self, curvature: Vector) -> Vector:
        """Return Σ h_i x_ij² for every feature j."""
        self.meter.add(self.size.product())
        return self._sums(_curvature_diagonal, (curvature,))

    def combine_with_diagonal(
        self, combine: tuple[str, Arguments], curvature: Vector, constant: bool
    ) -> tuple[Vector, Vector, Vector | None]:
        """Return three sums from one pass over the data.

        They are a combination, named with its arguments, the diagonal Σ h_i x_ij², and, if
        `constant`, Σ h_i x_i.
        """
        name, over = combine
        self.meter.add(self.size.product(3.0 if constant else 2.0))
        shared = name, constant
        found = self._sum(_combine_with_diagonal, (curvature, *over), shared)
        total, diagonal, mean = found
        return total, diagonal, mean if constant else None

    def curvature_product_and_scores(
        self, curvature: Vector, direction: Vector, shift: float
    ) -> tuple[Vector, float, Vector]:
        """Return what `curvature_product` does, and the scores x_i · direction of all rows."""
        self.meter.add(self.size.curved_product(self.nonzeros(curvature)))
        scores, (total, share) = self.run(_product_and_scores, (curvature,), (direction, shift))
        return total, float(share), scores

    def gram(self, curvature: Vector, constant: bool) -> NDArray[np.float64]:
        """Return Σ h_i x_i x_iᵀ, with a last row and column for the constant 1 if asked for."""
        self.meter.add(self.size.gram(self.nonzeros(curvature)))
        side = self.weights + int(constant)
        matrix = self._sum(_gram, (curvature,), (constant,))
        matrix = np.zeros((side, side)) if matrix is None else matrix
        core.symmetrise(matrix)
        return matrix

    def run(
        self,
        task: Any,
        over: Arguments = (),
        shared: Arguments = (),
        merge: Callable[[Any, Any], Any] = added,
        work: float | None = None,
    ) -> tuple[Any, Any]:
        """Run a task on every block; return the numbers for all examples, and the sum.

        `work` is what all of it costs, by default a product.
        """
        work = self.size.product() if work is None else work
        shared_out = work > MACHINE.hand_out
        found = self.blocks.run(task, over, shared, self.checkpoint, merge, shared_out)
        numbers, total = found
        return numbers, total

    def _vector(self, task: Any, over: Arguments = (), shared: Arguments = ()) -> Vector:
        numbers = self.run(task, over, shared)[0]
        return np.empty(0) if numbers is None else numbers

    def _sum(self, task: Any, over: Arguments = (), shared: Arguments = ()) -> Any:
        return self.run(task, over, shared)[1]

    def _sums(self, task: Any, over: Arguments = (), shared: Arguments = ()) -> Vector:
        total = self._sum(task, over, shared)
        return np.zeros(self.weights) if total is None else total


def _kind_of(blocks: Blocks) -> type[BlockedRows]:
    """Return how rows in these blocks are worked on."""
    from widemargin.data.memory_rows import MemoryRows

    return BlockedRows if blocks.compiled is None else MemoryRows


def numbers_for_examples(task: Any) -> Any:
    """Mark a task that returns numbers for the examples; the others return sums alone."""
    task.numbers_for_examples = True
    return task


def fills_numbers(task: Any) -> Any:
    """Mark a task that writes one number per example where it is told to."""
    task.fills_numbers = True
    return numbers_for_examples(task)


@fills_numbers
def _scores(rows: Rows, over: Arguments, shared: Arguments, out: Vector) -> tuple[Any, Any]:
    for begin, end in rows.pieces():
        rows.view.scores(*shared, out, begin, end)
    return None, None


@numbers_for_examples
def _norms(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    norms = rows.norms
    rows.forget_norms()
    return norms, None


def _squared_norms(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    return None, rows.view.total_squared_norm(0, rows.count)


def _combine(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    return None, rows.combine(*over)


def _combine_change(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    fresh, old, _ = over
    # Near the solution nothing changes in most blocks.
    return None, None if np.array_equal(fresh, old) else rows.combine_change(*over)


@fills_numbers
def _scores_and_combination(
    rows: Rows, over: Arguments, shared: Arguments, out: Vector
) -> tuple[Any, Any]:
    total = np.zeros(rows.weights)
    for begin, end in rows.pieces():
        rows.view.scores_and_accumulate(*shared, out, *over, total, begin, end)
    return None, total


@numbers_for_examples
def _compensated_scores(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    return rows.compensated_scores(*shared), None


def _compensated_pair(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    return None, rows.compensated_pair(*over)


def _curvature_product(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    return None, rows.curvature_product(*over, *shared)


def _combine_with_diagonal(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    (curvature, *own), (name, constant) = over, shared
    mean = rows.combine(curvature) if constant else 0.0
    return None, (getattr(rows, name)(*own), rows.curvature_diagonal(curvature), mean)


@fills_numbers
def _product_and_scores(
    rows: Rows, over: Arguments, shared: Arguments, out: Vector
) -> tuple[Any, Any]:
    total, share = np.zeros(rows.weights), 0.0
    for begin, end in rows.pieces():
        share += rows.view.curvature_product(*over, *shared, total, begin, end, out)
    return None, (total, share)


def _curvature_diagonal(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    return None, rows.curvature_diagonal(*over)


def _gram(rows: Rows, over: Arguments, shared: Arguments) -> tuple[Any, Any]:
    (curvature,), (constant,) = over, shared
    if not curvature.any():
        return None, None
    side = rows.weights + int(constant)
    matrix = np.zeros((side, side))
    if rows.size.gram_by_blas(side):
        add_gram_by_blas(rows.view, curvature, constant, matrix, no_checkpoint)
    else:
        rows.view.gram(curvature, constant, matrix, 0, rows.count)
    return None, matrix


def added_pairs(left: Any, right: Any) -> Any:
    """Return the sum of two numbers that are sums of two each, nothing of it lost but the tail."""
    total = left[0] + right[0]
    moved = total - left[0]
    lost = (left[0] - (total - moved)) + (right[0] - moved)
    return total, left[1] + right[1] + lost
