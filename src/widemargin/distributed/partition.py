"""What runs on a worker: a partition of the rows, cut into blocks, and tasks on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.data.block_work import Task, Tree, Work
from widemargin.data.blocks import cuts_of, joined, sliced
from widemargin.data.centring import moved_dense
from widemargin.data.rows import Rows, as_rows_array
from widemargin.linalg.blas import single_thread_for_good

Branches = list[tuple[int, int, Any]]


class Partition:
    """Rows that live on one worker, in blocks.

    Parameters
    ----------
    matrices : list of matrices
    constant : float
        Value of a constant feature, or 0.
    shift : ndarray or None
        What is subtracted from the columns.
    subsets : list of arrays, or None
        The rows of each block that are meant.
    """

    def __init__(
        self, matrices: list[Any], constant: float = 0.0, shift: Any = None, subsets: Any = None
    ) -> None:
        self.matrices, self.constant = matrices, constant
        self.shift, self.subsets = shift, subsets
        self._rows: dict[int, Rows] = {}

    def __getstate__(self) -> tuple[Any, ...]:
        return self.matrices, self.constant, self.shift, self.subsets

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def __sizeof__(self) -> int:
        return 64 + sum(
            X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes for X in self.matrices
        )

    def rows(self, place: int) -> Rows:
        """Return the rows of a block; they are kept, and never sent."""
        if place not in self._rows:
            X = self.matrices[place]
            rows = Rows.of(X if self.shift is None else moved_dense(X, self.shift))
            rows = rows.with_constant(self.constant) if self.constant else rows
            self._rows[place] = rows if self.subsets is None else rows.take(self.subsets[place])
        return self._rows[place]


def matrix_of(part: Any) -> Any:
    """Return a piece of a dask collection as a matrix of floats."""
    if hasattr(part, "to_numpy"):
        part = part.to_numpy()
    X = sp.csr_array(part) if sp.issparse(part) else np.asarray(part)
    if X.ndim != 2:
        raise ValueError(f"a partition of X must have two dimensions, not {X.ndim}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return as_rows_array(X)


def column_of(part: Any) -> Any:
    """Return a piece of labels or weights as an array."""
    return np.asarray(part.to_numpy() if hasattr(part, "to_numpy") else part).reshape(-1)


def head_of(X: Any, count: int) -> Any:
    """Return the first rows."""
    return sliced(X, 0, min(count, X.shape[0]))


def cut(X: Any, rows: int) -> Partition:
    """Cut a matrix into blocks of so many rows."""
    cuts = cuts_of(X.shape[0], rows)
    pairs = zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    return Partition([sliced(X, begin, end) for begin, end in pairs])


def description(partition: Partition) -> dict[str, Any]:
    """Return the counts of a partition."""
    blocks = [Rows.of(X) for X in partition.matrices]
    X = partition.matrices[0]
    return {
        "lengths": [rows.count for rows in blocks],
        "values": sum(rows.view.nonzeros for rows in blocks),
        "longest": max(rows.longest for rows in blocks),
        "squares": [rows.view.total_squared_norm(0, rows.count) for rows in blocks],
        "width": X.shape[1],
        "dtype": str(X.dtype),
        "sparse": bool(sp.issparse(X)),
    }


def rows_at(partition: Partition, places: list[tuple[int, Any]]) -> Any:
    """Return some rows of some dense blocks."""
    return np.concatenate([partition.matrices[block][own] for block, own in places])


def given(numbers: Any) -> Any:
    """Return what was sent: the scheduler keeps it, and sends it again if a worker dies."""
    return numbers


def shifted(partition: Partition, shift: Any) -> Partition:
    """Subtract from the columns."""
    return Partition(partition.matrices, partition.constant, shift)


def with_constant(partition: Partition, value: float) -> Partition:
    """Append a constant feature."""
    return Partition(partition.matrices, value, partition.shift)


def taken(partition: Partition, blocks: list[int], subsets: list[Any]) -> Partition:
    """Take some rows of some blocks."""
    if partition.subsets is not None:
        old = [partition.subsets[block] for block in blocks]
        subsets = [before[own] for before, own in zip(old, subsets, strict=True)]
    matrices = [partition.matrices[block] for block in blocks]
    return Partition(matrices, partition.constant, partition.shift, subsets)


def copied_rows(partition: Partition, blocks: list[int], subsets: list[Any]) -> Any:
    """Return some rows of some blocks as one matrix, without the constant feature."""
    pairs = zip(blocks, subsets, strict=True)
    return joined([partition.rows(block).copied(own).array for block, own in pairs])


def work(
    partition: Partition,
    first: int,
    task: Task,
    over: tuple[Any, ...],
    shared: tuple[Any, ...],
    merge: Callable[[Any, Any], Any],
) -> tuple[Any, Branches]:
    """Run a task on the blocks of a partition; `first` is the number of the first among all."""
    single_thread_for_good()
    lengths = [partition.rows(place).count for place in range(len(partition.matrices))]
    cuts = np.cumsum([0, *lengths])
    done = Work(partition.rows, cuts, (task, over, shared), merge, first)
    for place in range(len(lengths)):
        done(place)
    return done.numbers, done.tree.branches()


def merged(merge: Callable[[Any, Any], Any], *parts: tuple[Any, Branches]) -> tuple[Any, Branches]:
    """Add up the branches of some partitions; what other tasks have returned stays as it is."""
    tree = Tree(merge)
    for _, branches in parts:
        tree.join(branches)
    return None, tree.branches()
