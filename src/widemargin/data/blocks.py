"""Rows cut into blocks, work on each of them in threads, and sums in a fixed order.

How rows are cut depends on the rows alone, and the sums of blocks are added up in one tree, whoever
computed them: a result has the same bits for any number of threads, and wherever the blocks are
kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.block_work import Places, Task, Threads, Work
from widemargin.data.rows import Rows, no_checkpoint
from widemargin.instruction_sets import core

Vector = NDArray[np.float64]

DENSE_VALUES, SPARSE_VALUES = 2**20, 2**18
"""Stored values of a block, about: a product with it takes some hundred microseconds."""

FEWEST_ROWS, MOST_ROWS = 2**10, 2**16
"""Of a block."""

WIDEST_MATRIX, MATRIX_ROWS = 2000, 2**8
"""Weights up to which matrices of them are formed, and rows that cost as much as adding one up."""

SUMS, MOST_VALUES = 4, 2**20
"""Values of a sparse block per weight, so that products are most of the work and not the sums of
all weights that are added up once per block, and values beyond which that does not matter."""

FEW_ROWS = 2**9
"""Of a block of rows that were taken and are no more than a block: that threads share them."""

HEAD = 2**12
"""Rows at the beginning that tell how many values a row has."""


def rows_of_block(X: Any) -> int:
    """Return how many rows a block of a matrix has: a power of two, whatever the number of rows."""
    if sp.issparse(X):
        head = min(HEAD, X.shape[0])
        mean = float(X.indptr[head] - X.indptr[0]) / max(1, head)
        values = SPARSE_VALUES
        # Matrices of all weights are added up once per block; products of its rows should be most.
        share = X.shape[1] / max(1.0, mean)
        if X.shape[1] <= WIDEST_MATRIX:
            values = max(values, int(mean * MATRIX_ROWS * share**2))
        values = max(values, min(SUMS * X.shape[1], MOST_VALUES))
    else:
        mean, values = float(X.shape[1]), DENSE_VALUES
    rows = max(1, int(values / max(1.0, mean)))
    return min(max(FEWEST_ROWS, 1 << (rows.bit_length() - 1)), MOST_ROWS)


class Blocks(Protocol):
    """A sequence of blocks of rows, kept somewhere, that tasks run on."""

    @property
    def cuts(self) -> Places:
        """Where the blocks begin, and the number of rows."""

    @property
    def threads(self) -> Threads:
        """Threads for what is done here."""

    @property
    def view(self) -> Any:
        """A compiled view of all rows, where there is one, or None."""

    @property
    def compiled(self) -> Any:
        """The same rows for compiled calls on many blocks, or None."""

    def run(
        self,
        task: Task,
        over: tuple[Any, ...],
        shared: tuple[Any, ...],
        checkpoint: Callable[[], None],
        merge: Callable[[Any, Any], Any],
        shared_out: bool = True,
    ) -> tuple[Any, Any]:
        """Run a task on every block; return the numbers for all examples, and the sum.

        `over` are arrays over the examples, or None. What is not `shared_out` is not worth waking a
        thread for.
        """

    def spread(self, numbers: Any) -> Any:
        """Bring an array over the examples to the blocks, as `run` takes it, for several runs.

        It must not change in between.
        """

    def take(
        self,
        subset: Places,
        copied: bool = True,
        checkpoint: Callable[[], None] = no_checkpoint,
    ) -> Blocks:
        """Return some of the rows, in ascending order, cut where these blocks are.

        `copied`: what is not in memory may be copied there, if there is room.
        """

    @property
    def largest_sample(self) -> int:
        """Rows of the largest sample that can be worked on without reading all blocks."""

    def with_constant(self, value: float) -> Blocks:
        """Append a constant feature to every row."""


@dataclass(frozen=True, eq=False)
class LocalBlocks:
    """Blocks in memory or on disk, worked on by threads.

    Attributes
    ----------
    cuts : ndarray
        Where the blocks begin, and the number of rows.
    load : callable
        Returns the rows of a block.
    threads : Threads
    in_memory : bool
        Whether to load a block again costs nothing.
    room : int
        Rows of a sample that may be copied into memory, if the blocks are not there.
    source : tuple of matrix, float and ndarray or None, optional
        In memory, what the blocks were cut from: the matrix, the constant feature, the rows taken.
    pick : callable, optional
        Copies some rows of a block, where that can be done without loading all of it.
    view : compiled row view, or None
        All rows, where one view has them.
    compiled : core.BlockRows, or None
        The same rows in blocks, for calls that work on many of them.
    """

    cuts: Places
    load: Callable[[int], Rows]
    threads: Threads
    in_memory: bool = True
    room: int = 0
    source: tuple[Any, float, Places | None] | None = None
    pick: Callable[[int, Places], Rows] | None = None
    view: Any = None
    compiled: Any = None
    whole: Any = None

    @property
    def _whole(self) -> Any:
        """The view that rows were taken from; a view of taken ones has no `take`."""
        return self.view if self.whole is None else self.whole

    @classmethod
    def of(cls, X: Any, threads: Threads, view: Any, constant: float = 0.0) -> LocalBlocks:
        """Cut a matrix in memory, without copying it; `view` has its rows, and the constant."""
        cuts = cuts_of(X.shape[0], rows_of_block(X))
        return cls._viewed(view, cuts, threads, (X, constant, None))

    @classmethod
    def _viewed(cls, view: Any, cuts: Places, threads: Threads, source: Any) -> LocalBlocks:
        """Cut a view of rows in memory."""

        def load(place: int) -> Rows:
            return Rows(view.part(int(cuts[place]), int(cuts[place + 1])), _constant=source[1])

        compiled = core.BlockRows(view, cuts, threads.pool)
        return cls(cuts, load, threads, source=source, view=view, compiled=compiled)

    @classmethod
    def of_few(cls, arrays: list[Any], constant: float, threads: Threads) -> LocalBlocks:
        """Copy matrices that have no more rows than a block, and cut them into smaller ones."""
        if not arrays:
            return cls(np.zeros(1, dtype=np.int64), lambda _: Rows.of(np.empty((0, 0))), threads)
        X = joined(arrays)
        rows = Rows.of(X)
        rows = rows.with_constant(constant) if constant else rows
        return cls._viewed(rows.view, few_cuts(rows.view), threads, (X, constant, None))

    def run(
        self,
        task: Task,
        over: tuple[Any, ...],
        shared: tuple[Any, ...],
        checkpoint: Callable[[], None],
        merge: Callable[[Any, Any], Any],
        shared_out: bool = True,
    ) -> tuple[Any, Any]:
        """Run a task on every block; return the numbers for all examples, and the sum."""
        work = Work(self.load, self.cuts, (task, over, shared), merge)
        self.threads.each(self.cuts.size - 1, work, checkpoint, shared_out)
        return work.numbers, work.tree.total()

    def spread(self, numbers: Any) -> Any:
        """Return an array over the examples: it is where the blocks are worked on."""
        return numbers

    def take(
        self,
        subset: Places,
        copied: bool = True,
        checkpoint: Callable[[], None] = no_checkpoint,
    ) -> LocalBlocks:
        """Return some of the rows, cut where these blocks are."""
        if self.source is not None:
            return self._of_source(subset)
        parts, cuts, own = split_subset(self.cuts, subset)
        load = self.load
        if subset.size <= self.cuts[:2][-1]:
            return self._few(parts, own, checkpoint)
        if self.in_memory:
            views = [load(part).take(held) for part, held in zip(parts, own, strict=True)]
            return replace(self, cuts=cuts, load=views.__getitem__, view=None, compiled=None)
        if subset.size > self.room or not copied:
            taken = replace(self, pick=None)
            return replace(taken, cuts=cuts, load=lambda k: load(int(parts[k])).take(own[k]))
        copies: list[Any] = [None] * len(own)

        def copy(k: int) -> None:
            copies[k] = self._copied(int(parts[k]), own[k])

        self.threads.each(len(own), copy, checkpoint)
        return replace(self, cuts=cuts, load=copies.__getitem__, in_memory=True, pick=None)

    def _of_source(self, subset: Places) -> LocalBlocks:
        """View rows that are in memory."""
        assert self.source is not None
        X, constant, places = self.source
        places = subset if places is None else places[subset]
        view = self._whole.take(places)
        if subset.size <= self.cuts[:2][-1]:
            cuts = few_cuts(view)  # sums of many small ones would cost more
        else:
            edges = np.searchsorted(subset, self.cuts)
            cuts = np.append(0, edges[1:][np.diff(edges) > 0])
        taken = self._viewed(view, cuts, self.threads, (X, constant, places))
        return replace(taken, whole=self._whole)

    def _few(
        self,
        parts: Places,
        own: list[Places],
        checkpoint: Callable[[], None],
    ) -> LocalBlocks:
        """Copy no more rows than a block has: sums of many small ones would cost more."""
        copies = []
        for part, held in zip(parts, own, strict=True):
            copies.append(self._copied(int(part), held))
            checkpoint()
        constant = copies[0].constant if copies else 0.0
        return self.of_few([rows.array for rows in copies], constant, self.threads)

    def _copied(self, place: int, subset: Places) -> Rows:
        return self.load(place).copied(subset) if self.pick is None else self.pick(place, subset)

    @property
    def largest_sample(self) -> int:
        """Rows of the largest sample that can be worked on without reading all blocks."""
        return int(self.cuts[-1]) if self.in_memory else self.room

    def with_constant(self, value: float) -> LocalBlocks:
        """Append a constant feature to every row."""
        load = self.load
        if self.source is not None:
            X, _, places = self.source
            changed = self._viewed(
                self.view.with_bias(value), self.cuts, self.threads, (X, value, places)
            )
            return replace(changed, whole=self._whole.with_bias(value))
        if self.in_memory:
            blocks = [load(place).with_constant(value) for place in range(self.cuts.size - 1)]
            return replace(self, load=blocks.__getitem__, view=None, compiled=None)
        pick = self.pick
        return replace(
            self,
            load=lambda place: load(place).with_constant(value),
            pick=pick and (lambda place, subset: pick(place, subset).with_constant(value)),
        )


def cuts_of(count: int, rows: int) -> Places:
    """Return where blocks of so many rows begin, and the number of rows."""
    return np.append(np.arange(0, max(1, count), rows), count).astype(np.int64)


def few_cuts(view: Any) -> Places:
    """Cut rows that are no more than a block: of a sparse one, values that are as many as weights.

    That is fewer than other blocks have: so few rows would be left to one thread.
    """
    length = max(FEW_ROWS, view.width * max(1, view.count) // max(1, view.nonzeros))
    return cuts_of(view.count, 1 << (length - 1).bit_length())


def sliced(X: Any, begin: int, end: int) -> Any:
    """Return consecutive rows of a matrix; their values are not copied."""
    if not sp.issparse(X):
        return X[begin:end]
    first, last = int(X.indptr[begin]), int(X.indptr[end])
    # Not by the constructor, which copies slices.
    part = sp.csr_array((end - begin, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[first:last], X.indices[first:last]
    part.indptr = X.indptr[begin : end + 1] - X.indptr[begin]
    return part


def joined(arrays: list[Any]) -> Any:
    """Return matrices below each other."""
    if len(arrays) == 1:
        return arrays[0]
    sparse = sp.issparse(arrays[0])
    return sp.csr_array(sp.vstack(arrays, format="csr")) if sparse else np.concatenate(arrays)


def split_subset(cuts: Places, subset: Places) -> tuple[Places, Places, list[Places]]:
    """Return the blocks that hold some of the rows, the cuts between those, and which they hold."""
    edges = np.searchsorted(subset, cuts)
    parts = np.flatnonzero(np.diff(edges))
    own = [subset[edges[p] : edges[p + 1]] - cuts[p] for p in parts]
    lengths = [part.size for part in own]
    return parts.astype(np.int64), np.cumsum([0, *lengths]).astype(np.int64), own
