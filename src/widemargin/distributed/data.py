"""Dask collections as examples that are elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin.data.block_work import Threads, Tree
from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.blocks import HEAD, rows_of_block, split_subset
from widemargin.data.centring import sampled_step, shift_of_sample
from widemargin.data.elsewhere import Elsewhere, Kept
from widemargin.data.work import Size
from widemargin.distributed import partition as on_worker
from widemargin.distributed.blocks import DaskBlocks, Waiting, reaching_the_cluster


class DaskData(Elsewhere):
    """Rows on the workers of a cluster; their labels come to the client.

    Parameters
    ----------
    client : Client
    X : dask array, dask dataframe, or list of delayed matrices
    y, sample_weight : dask array, dask series, list of delayed arrays, array, or None
    worker_timeout : float, optional
        Seconds without a single worker after which to give up.
    """

    def __init__(
        self,
        client: Any,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        worker_timeout: float | None = None,
    ) -> None:
        self._waiting = Waiting(client, worker_timeout)
        columns = getattr(X, "columns", None)
        self.feature_names = None if columns is None else tuple(str(name) for name in columns)
        with reaching_the_cluster():
            matrices = [
                client.submit(on_worker.matrix_of, part, pure=False)
                for part in client.compute(pieces_of(X))
            ]
            labels = _column(self._waiting, y)
            weights = _column(self._waiting, sample_weight)
            first = client.submit(on_worker.head_of, matrices[0], HEAD, pure=False)
            head = self._waiting.gather([first])[0]
            rows = rows_of_block(head)
            parts = [client.submit(on_worker.cut, X, rows, pure=False) for X in matrices]
            found = self._waiting.gather(
                [client.submit(on_worker.description, part, pure=False) for part in parts]
            )
        self._parts = [part for part, about in zip(parts, found, strict=True) if _rows_in(about)]
        self._about = [about for about in found if _rows_in(about)]
        self._check()
        self.y = labels
        self.sample_weight = weights
        lengths = [length for about in self._about for length in about["lengths"]]
        self.cuts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.shape = int(self.cuts[-1]), int(self._about[0]["width"])
        self.dtype = np.dtype(self._about[0]["dtype"])

    def rows(self, threads: int, centred: bool, kept: Kept = Kept()) -> BlockedRows:  # noqa: B008 - frozen
        """Return the rows in blocks, on their workers."""
        counts = np.cumsum([0, *(len(about["lengths"]) for about in self._about)]).tolist()
        ranges = list(itertools.pairwise(counts))
        blocks = DaskBlocks(self._waiting, self._parts, ranges, self.cuts, Threads(threads))
        shift = None
        if centred and not self._about[0]["sparse"]:
            shift = self._shift(ranges)
        if shift is not None:
            blocks = blocks.mapped(on_worker.shifted, shift)
        values = sum(about["values"] for about in self._about)
        longest = max(about["longest"] for about in self._about)
        rows = BlockedRows.kept_elsewhere(blocks, Size(*self.shape, values), longest, shift)
        if shift is None:
            tree = Tree()
            for place, total in enumerate(t for about in self._about for t in about["squares"]):
                tree.add(place, total)
            rows._kept["total"] = np.array(tree.total())
        return rows

    def matrices(self) -> Iterator[Any]:
        """Fetch the rows from the workers, partition by partition."""
        for part in self._parts:
            yield from self._waiting.gather([part])[0].matrices

    def _check(self) -> None:
        if not self._about:
            raise ValueError("there are no examples in the data")
        kinds = {(about["width"], about["dtype"], about["sparse"]) for about in self._about}
        if len(kinds) > 1:
            raise ValueError(
                "all partitions must have the same number of features, type and layout; they have "
                + " and ".join(f"{w} x {t}{' sparse' * s}" for w, t, s in sorted(kinds))
            )
        if not all(np.isfinite(about["squares"]).all() for about in self._about):
            raise ValueError("X contains NaN, infinity, or values whose squares overflow")

    def _shift(self, ranges: list[tuple[int, int]]) -> Any:
        """Return what the columns are to be shifted by, judged by the rows that memory would be."""
        places = np.arange(0, self.shape[0], sampled_step(self.shape[0]))
        blocks, _, own = split_subset(self.cuts, places)
        wanted = []
        for part, (first, last) in zip(self._parts, ranges, strict=True):
            begin, end = np.searchsorted(blocks, [first, last]).tolist()
            if begin < end:
                pairs = list(zip((blocks[begin:end] - first).tolist(), own[begin:end], strict=True))
                wanted.append(
                    self._waiting.client.submit(on_worker.rows_at, part, pairs, pure=False)
                )
        with reaching_the_cluster():
            return shift_of_sample(np.concatenate(self._waiting.gather(wanted)))


def pieces_of(X: Any) -> list[Any]:
    """Return the partitions of a dask collection, or a list of delayed ones, as delayed objects."""
    if isinstance(X, list | tuple):
        return list(X)
    chunks = getattr(X, "chunks", None)
    if chunks is not None and len(chunks) == 2 and len(chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if not hasattr(X, "to_delayed"):
        raise TypeError(
            "X must be a dask array, a dask dataframe or a list of delayed matrices, not "
            f"{type(X).__name__}; for data in memory use to_local's class"
        )
    delayed = X.to_delayed()
    return list(np.asarray(delayed, dtype=object).ravel())


def _column(waiting: Waiting, given: Any) -> Any:
    """Return labels or weights as one array."""
    if given is None or isinstance(given, np.ndarray):
        return given
    if isinstance(given, list | tuple) and not hasattr(given[0], "dask"):
        return np.asarray(given)
    if not isinstance(given, list | tuple) and not hasattr(given, "to_delayed"):
        return on_worker.column_of(given)
    pieces = waiting.gather(waiting.client.compute(pieces_of(given)))
    return np.concatenate([on_worker.column_of(piece) for piece in pieces])


def _rows_in(about: dict[str, Any]) -> int:
    return sum(about["lengths"])
